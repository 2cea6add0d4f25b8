"""The names of the package that tests use and the front door does not have.

This is the one file of the tests that names modules of the package: when code moves to another
module, only the imports here change. A claim about behaviour enters by the front door,
``promptdsl``, ``promptdsl.tokens``, ``promptdsl.bridges`` or ``promptdsl.cli``, and not here.
"""

from promptdsl import cli as cli_module
from promptdsl import errors as errors_module
from promptdsl import files as files_module
from promptdsl import models as models_module
from promptdsl import nodes as nodes_module
from promptdsl import recordings as recordings_module
from promptdsl import targets as targets_module
from promptdsl import tree as tree_module
from promptdsl.adapters.anthropic import read as read_anthropic
from promptdsl.adapters.anthropic import write as write_anthropic
from promptdsl.adapters.bedrock import read as read_bedrock
from promptdsl.adapters.bedrock import read_response as read_response_bedrock
from promptdsl.adapters.bedrock import write as write_bedrock
from promptdsl.adapters.chat_template import read as read_chat_template
from promptdsl.adapters.chat_template import read_response as read_response_chat_template
from promptdsl.adapters.chat_template import write as write_chat_template
from promptdsl.adapters.chat_template.abilities import CAREFUL, Abilities
from promptdsl.adapters.chat_template.clock import told
from promptdsl.adapters.chat_template.control_tokens import control_tokens, neutralised
from promptdsl.adapters.chat_template.engine import render as render_template
from promptdsl.adapters.chat_template.engine import render_open as render_open_template
from promptdsl.adapters.chat_template.probing import probed
from promptdsl.adapters.gemini import Payload
from promptdsl.adapters.gemini import read as read_gemini
from promptdsl.adapters.gemini import read_response as read_response_gemini
from promptdsl.adapters.gemini import write as write_gemini
from promptdsl.adapters.gemini.schemas import json_schema
from promptdsl.adapters.openai_chat import read as read_openai_chat
from promptdsl.adapters.openai_chat import read_response as read_response_openai_chat
from promptdsl.adapters.openai_chat import write as write_openai_chat
from promptdsl.adapters.openai_responses import read as read_openai_responses
from promptdsl.adapters.openai_responses import read_response as read_response_openai_responses
from promptdsl.adapters.openai_responses import write as write_openai_responses
from promptdsl.blocks import CACHES, EMPTY, ERROR_TYPES, Cache, contents
from promptdsl.blocks.drafts import text_block, tool_result_block, tool_use_block
from promptdsl.blocks.kinds import CLASSES, AnyBlock, is_ambiguous
from promptdsl.bridges.crossing import Crossing
from promptdsl.calls import answers_in, answers_of, calls_in, calls_of
from promptdsl.cli.faults import UsageError
from promptdsl.cli.parameters import call as call_function
from promptdsl.cli.parameters import given as given_arguments
from promptdsl.cli.readable import as_explanation, as_json, as_messages, as_text, visible
from promptdsl.config import (
    EPHEMERAL_DELIMITER,
    EVENT_DELIMITER,
    LIBRARY,
    NO_DELIMITER,
    Delimiter,
    Delimiters,
    Resolved,
    fences,
    literal_fences,
    resolve,
)
from promptdsl.deep_json import read_deep, write_deep
from promptdsl.dissolving import dissolved, dissolved_in_turn
from promptdsl.encoding import (
    attribute,
    authored_cell,
    body,
    cell,
    check_delimiter,
    code_fences,
    controls,
    data_text,
    field,
    guard,
    guard_end,
    guard_prefixes,
    inline,
    inline_line,
    invisible,
    json_text,
    one_line,
    text_of,
    title,
    whole,
)
from promptdsl.errors import nearest
from promptdsl.files import read_file
from promptdsl.formats.markdown import MARKDOWN
from promptdsl.formats.xml import XML
from promptdsl.indentation import dedent_parts
from promptdsl.json_text import ABSENT, canonical, read_any_depth, read_json, write_json
from promptdsl.json_text import plain as json_plain
from promptdsl.library import (
    Inserted,
    Piece,
    TemplateSource,
    check_variables,
    event_text,
    template_pieces,
)
from promptdsl.library.environments import event_environment, piece_environment
from promptdsl.library.filters import FILTERS, TESTS
from promptdsl.library.folders import TemplateFile, read_template, registered, templates_root
from promptdsl.library.pieces import Rope
from promptdsl.library.source import check_name
from promptdsl.media.pixels import HEADER, described, image_size
from promptdsl.media.reading import (
    MAX_BYTES,
    check_url,
    of_base64,
    of_bytes,
    of_file_id,
    of_path,
    of_url,
    read_path,
)
from promptdsl.media.sniffing import check_kind, media_type_of, sniff, spelled
from promptdsl.messages import KINDS, ROLES, Kind, Role, recalled
from promptdsl.models import Facts, ImageFormula, TokenFactors, facts_for
from promptdsl.nodes import Conversation, Happening, Recorded, Root
from promptdsl.nodes import FirstFit as FirstFitNode
from promptdsl.nodes import Limit as LimitNode
from promptdsl.nodes import Section as SectionNode
from promptdsl.page import PLAIN, WIDEST, Listed, Margin, Page, Trace, deeper, margin, marked
from promptdsl.passes import read as read_module
from promptdsl.passes.equip import equip, equipment_of, lost_marks
from promptdsl.passes.fill import Waiting, fill
from promptdsl.passes.narrate import narrate
from promptdsl.passes.pair import INTERRUPTED, pair
from promptdsl.passes.read import mask_of
from promptdsl.passes.read import read as read_pass
from promptdsl.plain_data import FrozenDict, FrozenList, frozen, thawed
from promptdsl.plain_data import plain as plain_data
from promptdsl.recordings import Recording, recorded_before
from promptdsl.reports.requests import certain, common, request, shared_by, shared_tokens
from promptdsl.rewriting import covering, replace
from promptdsl.schemas import check_shape, closed, is_closed, type_schema
from promptdsl.scope import OPENED
from promptdsl.signatures import Signature, signature_of
from promptdsl.sources import SOURCE_KEYS
from promptdsl.tables import FORMATS, table_text
from promptdsl.targets import TARGETS, Written
from promptdsl.tokens import Tokens, fitting_prefix, tokens_for
from promptdsl.tokens import downloads as downloads_module
from promptdsl.tokens import packed as packed_module
from promptdsl.tokens.attachments import Attachment, attachment, attachment_tokens, pixels
from promptdsl.tokens.boundaries import best_boundary, whole_character
from promptdsl.tokens.cuts import FORCED, WHOLE, adds_up, first_cut, last_cut, pieces
from promptdsl.tokens.encoders import encoder
from promptdsl.tokens.encodings import COMING_ALONG
from promptdsl.tokens.encodings import encoding as encoding_named
from promptdsl.tokens.frames import label_of
from promptdsl.tokens.images import ASSUMED, image_tokens
from promptdsl.tokens.messages import block_tokens, has_media, message_tokens
from promptdsl.tokens.packed import PUBLISHED, pack, packed_file, publish, unpack, vocabulary
from promptdsl.tokens.packed import main as packed_main
from promptdsl.tokens.payloads import Tally, entry_tokens, payload_tokens
from promptdsl.tokens.remembering import OVERHEAD, Remembered
from promptdsl.tokens.tools import CLAUDE_TOOLS, output_tokens, tool_tokens, tools_frame
from promptdsl.tree import (
    CACHE,
    DEFAULTS,
    HOLLOW,
    NAMED,
    SHIFT,
    SPOKEN,
    TOOL,
    bits,
    label,
    make,
    walk,
)
from promptdsl.trust import Trusted
from promptdsl.views.outline import outline
from promptdsl.wire.entries import entry, located, mapping
from promptdsl.wire.memory import Memory, Recall, Span
from promptdsl.wire.request import Request
from promptdsl.wire.text import json_copy
from promptdsl.wire.turns import OPENING

__all__ = [
    "ABSENT",
    "ASSUMED",
    "CACHE",
    "CACHES",
    "CAREFUL",
    "CLASSES",
    "CLAUDE_TOOLS",
    "COMING_ALONG",
    "DEFAULTS",
    "EMPTY",
    "EPHEMERAL_DELIMITER",
    "ERROR_TYPES",
    "EVENT_DELIMITER",
    "FILTERS",
    "FORCED",
    "FORMATS",
    "HEADER",
    "HOLLOW",
    "INTERRUPTED",
    "KINDS",
    "LIBRARY",
    "MARKDOWN",
    "MAX_BYTES",
    "NAMED",
    "NO_DELIMITER",
    "OPENED",
    "OPENING",
    "OVERHEAD",
    "PLAIN",
    "PUBLISHED",
    "ROLES",
    "SHIFT",
    "SOURCE_KEYS",
    "SPOKEN",
    "TARGETS",
    "TESTS",
    "TOOL",
    "WHOLE",
    "WIDEST",
    "XML",
    "Abilities",
    "AnyBlock",
    "Attachment",
    "Cache",
    "Conversation",
    "Crossing",
    "Delimiter",
    "Delimiters",
    "Facts",
    "FirstFitNode",
    "FrozenDict",
    "FrozenList",
    "Happening",
    "ImageFormula",
    "Inserted",
    "Kind",
    "LimitNode",
    "Listed",
    "Margin",
    "Memory",
    "Page",
    "Payload",
    "Piece",
    "Recall",
    "Recorded",
    "Recording",
    "Remembered",
    "Request",
    "Resolved",
    "Role",
    "Root",
    "Rope",
    "SectionNode",
    "Signature",
    "Span",
    "Tally",
    "TemplateFile",
    "TemplateSource",
    "TokenFactors",
    "Tokens",
    "Trace",
    "Trusted",
    "UsageError",
    "Waiting",
    "Written",
    "adds_up",
    "answers_in",
    "answers_of",
    "as_explanation",
    "as_json",
    "as_messages",
    "as_text",
    "attachment",
    "attachment_tokens",
    "attribute",
    "authored_cell",
    "best_boundary",
    "bits",
    "block_tokens",
    "body",
    "call_function",
    "calls_in",
    "calls_of",
    "canonical",
    "cell",
    "certain",
    "check_delimiter",
    "check_kind",
    "check_name",
    "check_shape",
    "check_url",
    "check_variables",
    "cli_module",
    "closed",
    "code_fences",
    "common",
    "contents",
    "control_tokens",
    "controls",
    "covering",
    "data_text",
    "dedent_parts",
    "deeper",
    "described",
    "dissolved",
    "dissolved_in_turn",
    "downloads_module",
    "encoder",
    "encoding_named",
    "entry",
    "entry_tokens",
    "equip",
    "equipment_of",
    "errors_module",
    "event_environment",
    "event_text",
    "facts_for",
    "fences",
    "field",
    "files_module",
    "fill",
    "first_cut",
    "fitting_prefix",
    "frozen",
    "given_arguments",
    "guard",
    "guard_end",
    "guard_prefixes",
    "has_media",
    "image_size",
    "image_tokens",
    "inline",
    "inline_line",
    "invisible",
    "is_ambiguous",
    "is_closed",
    "json_copy",
    "json_plain",
    "json_schema",
    "json_text",
    "label",
    "label_of",
    "last_cut",
    "literal_fences",
    "located",
    "lost_marks",
    "make",
    "mapping",
    "margin",
    "marked",
    "mask_of",
    "media_type_of",
    "message_tokens",
    "models_module",
    "narrate",
    "nearest",
    "neutralised",
    "nodes_module",
    "of_base64",
    "of_bytes",
    "of_file_id",
    "of_path",
    "of_url",
    "one_line",
    "outline",
    "output_tokens",
    "pack",
    "packed_file",
    "packed_main",
    "packed_module",
    "pair",
    "payload_tokens",
    "piece_environment",
    "pieces",
    "pixels",
    "plain_data",
    "probed",
    "publish",
    "read_anthropic",
    "read_any_depth",
    "read_bedrock",
    "read_chat_template",
    "read_deep",
    "read_file",
    "read_gemini",
    "read_json",
    "read_module",
    "read_openai_chat",
    "read_openai_responses",
    "read_pass",
    "read_path",
    "read_response_bedrock",
    "read_response_chat_template",
    "read_response_gemini",
    "read_response_openai_chat",
    "read_response_openai_responses",
    "read_template",
    "recalled",
    "recorded_before",
    "recordings_module",
    "registered",
    "render_open_template",
    "render_template",
    "replace",
    "request",
    "resolve",
    "shared_by",
    "shared_tokens",
    "signature_of",
    "sniff",
    "spelled",
    "table_text",
    "targets_module",
    "template_pieces",
    "templates_root",
    "text_block",
    "text_of",
    "thawed",
    "title",
    "tokens_for",
    "told",
    "tool_result_block",
    "tool_tokens",
    "tool_use_block",
    "tools_frame",
    "tree_module",
    "type_schema",
    "unpack",
    "visible",
    "vocabulary",
    "walk",
    "whole",
    "whole_character",
    "write_anthropic",
    "write_bedrock",
    "write_chat_template",
    "write_deep",
    "write_gemini",
    "write_json",
    "write_openai_chat",
    "write_openai_responses",
]
