"""The names of the package that tests use and the front door does not have.

This is the one file of the tests that names modules of the package: when code moves to another
module, only the imports here change. A claim about behaviour enters by the front door,
``promptdsl``, ``promptdsl.tokens``, ``promptdsl.integrations`` or ``promptdsl.cli``, and not here.
"""

from promptdsl import cli as cli_module
from promptdsl.batch import RowRenderer, services
from promptdsl.batch import engine as batch_engine_module
from promptdsl.batch import engine as ray_pool_module
from promptdsl.batch import job as batch_job_module
from promptdsl.batch import writer as batch_writer_module
from promptdsl.batch.inputs import json_cell
from promptdsl.budget.histories import default_step
from promptdsl.checking.python_file import parsed
from promptdsl.cli import records as record_rows_module
from promptdsl.cli import records as records_list_module
from promptdsl.cli.commands import COMMANDS, call_function, read_arguments
from promptdsl.cli.options import PROVIDERS as CLI_PROVIDERS
from promptdsl.cli.output import UsageError, as_explanation, as_json, as_messages
from promptdsl.cli.records import call_rows, row_lines
from promptdsl.cli.sides import checked_out_inputs
from promptdsl.cli.stubs import stub_text
from promptdsl.comparing.alignment import (
    aligned,
    by_occurrence,
    hunks,
    in_order,
    increasing,
    most_alike,
)
from promptdsl.comparing.block_marks import schema_text
from promptdsl.comparing.canonical import prompt_file
from promptdsl.comparing.changes import NamedEntry, changes, named_entries
from promptdsl.comparing.compared_prompts import BASE_LINE, applied, difference
from promptdsl.comparing.snapshot_file import (
    CHARACTER_NAMES,
    FileEntry,
    FilePart,
    PromptFile,
    ShownTexts,
    SnapshotFormatError,
    is_same_snapshot,
    parse,
    serialise,
    value_bracket,
    with_brackets,
    with_end_brackets,
)
from promptdsl.comparing.text import changed_words, failure_text, rows_of
from promptdsl.components import custom as custom_module
from promptdsl.components import schemas as type_schemas_module
from promptdsl.components.block import finish
from promptdsl.components.schemas import Signature, signature_of, type_schema
from promptdsl.components.scope import OPENED, Component
from promptdsl.config import models as models_module
from promptdsl.config import wires as servers_module
from promptdsl.config.model_facts import Facts, TokenFactors
from promptdsl.config.models import facts_for
from promptdsl.config.transformation import (
    EPHEMERAL_DELIMITER,
    EVENT_DELIMITER,
    LIBRARY,
    NO_DELIMITER,
    Delimiter,
    Delimiters,
    Resolved,
    resolve,
)
from promptdsl.config.wire import ImageFormula, SchemaRules, WordRow, all_rules
from promptdsl.config.wires import Server, servers, wire_of, wires
from promptdsl.foundation import errors as errors_module
from promptdsl.foundation import files as files_module
from promptdsl.foundation import json as answers_module
from promptdsl.foundation.author_text import INTERRUPTED, Trusted, dedent_parts
from promptdsl.foundation.errors import misspelt, nearest
from promptdsl.foundation.errors import shown as shown_value
from promptdsl.foundation.errors import with_article as with_its_article
from promptdsl.foundation.escaping import (
    attribute,
    authored_cell,
    body,
    cell,
    code_fences,
    data_text,
    field,
    inline,
    inline_line,
    is_number,
    is_rare,
    json_pieces,
    json_text,
    labelled,
    one_line,
    text_of,
    title,
)
from promptdsl.foundation.escaping import label_of as first_label
from promptdsl.foundation.files import read_file
from promptdsl.foundation.frozen import EMPTY, FrozenDict, FrozenList, frozen, thawed
from promptdsl.foundation.frozen import plain as plain_data
from promptdsl.foundation.guards import (
    check_delimiter,
    fold,
    guard,
    guard_between,
    guard_end,
    guard_start,
    holds,
    json_body,
    left_open,
    minimal_body,
    paired_tags,
    readable_tags,
    written_tags,
)
from promptdsl.foundation.json import (
    ABSENT,
    LEVELS,
    canonical,
    is_json,
    json_problem,
    read_json,
    write_json,
)
from promptdsl.foundation.json import object_of_pairs as unique_pairs
from promptdsl.foundation.old_names import OLD_NAMES
from promptdsl.foundation.readable import Neighbours, readable, within_line
from promptdsl.foundation.remedies import (
    content_remedy,
    json_remedy,
    message_remedy,
    text_remedy,
)
from promptdsl.foundation.source import listed_signature, note_caller, source_of
from promptdsl.foundation.tables import FORMATS, cell_locations, table_text
from promptdsl.foundation.unicode import (
    columns,
    controls,
    equal_start,
    fitted_source,
    invisible,
    is_valid_unicode,
    on_one_line,
    valid_unicode,
    visible_json,
)
from promptdsl.foundation.unicode import visible as all_visible
from promptdsl.integrations import shared as integration_values_module
from promptdsl.integrations.shared import Conversion
from promptdsl.messages import conversation_cache as recordings_module
from promptdsl.messages.attachment import (
    LONGEST_HEADER,
    MAX_BYTES,
    check_url,
    image_size,
    of_base64,
    of_bytes,
    of_file_id,
    of_path,
    of_url,
    read_path,
)
from promptdsl.messages.blocks import CLASSES, AnyBlock, described, is_ambiguous
from promptdsl.messages.conversation_cache import ReadCache, recorded_before
from promptdsl.messages.details import KINDS, NO_DETAILS, ROLES, Kind, Role
from promptdsl.messages.field_checks import CACHES, ERROR_TYPES, Cache
from promptdsl.messages.media_type import SOURCE_KEYS, check_kind, media_type_of, sniff, spelled
from promptdsl.messages.message import answers_in, last_calls, recalled
from promptdsl.messages.names import HINTS, ServerName
from promptdsl.messages.pairing import OpenCalls, calls_in, closes_calls
from promptdsl.messages.read_blocks import contents, text_block, tool_result_block, tool_use_block
from promptdsl.messages.schemas import (
    MAXIMUM_REFERENCES,
    check_shape,
    closed,
    inlined,
    is_closed,
    is_recursive,
    parts_of,
)
from promptdsl.preview.access import Guard
from promptdsl.preview.files import is_watched, project_folder, signature
from promptdsl.preview.frames import (
    BORN,
    BROKEN,
    FrameBuffer,
    PrintedText,
    frame,
    next_frame,
    read_frame,
    write_frame,
)
from promptdsl.preview.keepers import NURSERY_DIED, NurseryKeeper
from promptdsl.preview.nursery import warm_up
from promptdsl.preview.session import Choices, ended_problem, slow_problem
from promptdsl.providers import written as targets_module
from promptdsl.providers.anthropic.read import read as read_anthropic
from promptdsl.providers.anthropic.write import write as write_anthropic
from promptdsl.providers.bedrock.read import read as read_bedrock
from promptdsl.providers.bedrock.read import read_response as read_response_bedrock
from promptdsl.providers.bedrock.write import write as write_bedrock
from promptdsl.providers.chat_template.parts import Abilities
from promptdsl.providers.chat_template.probe import probed
from promptdsl.providers.chat_template.read import read as read_chat_template
from promptdsl.providers.chat_template.read import read_response as read_response_chat_template
from promptdsl.providers.chat_template.run import control_tokens, formatted_time, neutralised
from promptdsl.providers.chat_template.run import render as render_template
from promptdsl.providers.chat_template.run import render_open as render_open_template
from promptdsl.providers.chat_template.write import write as write_chat_template
from promptdsl.providers.gemini.parts import json_schema
from promptdsl.providers.gemini.read import read as read_gemini
from promptdsl.providers.gemini.read import read_response as read_response_gemini
from promptdsl.providers.gemini.write import GeminiPayload
from promptdsl.providers.gemini.write import write as write_gemini
from promptdsl.providers.openai_chat.read import read as read_openai_chat
from promptdsl.providers.openai_chat.read import read_response as read_response_openai_chat
from promptdsl.providers.openai_chat.write import write as write_openai_chat
from promptdsl.providers.openai_responses.read import read as read_openai_responses
from promptdsl.providers.openai_responses.read import (
    read_response as read_response_openai_responses,
)
from promptdsl.providers.openai_responses.write import write as write_openai_responses
from promptdsl.providers.registry import TARGETS, unread_keys
from promptdsl.providers.shared.blocks import json_copy
from promptdsl.providers.shared.memory import CachedWrite, Memory, fresh
from promptdsl.providers.shared.reading import FINISH_REASONS, located, mapping, required
from promptdsl.providers.shared.request import OPENING, Request
from promptdsl.providers.shared.schemas import fitted
from promptdsl.providers.written import WrittenPayload as Written
from promptdsl.providers.written import tally
from promptdsl.rendering import render as render_module
from promptdsl.rendering.passes import read as read_module
from promptdsl.rendering.passes.expand import dissolved, dissolved_in_turn
from promptdsl.rendering.passes.extract_tools import equipment_of, extract_tools, lost_marks
from promptdsl.rendering.passes.fill import PendingLazy, fill
from promptdsl.rendering.passes.pair import pair
from promptdsl.rendering.passes.read import mask_of
from promptdsl.rendering.passes.read import read as read_pass
from promptdsl.rendering.passes.render_events import render_events
from promptdsl.rendering.reports import log as log_module
from promptdsl.rendering.reports.cache_order import (
    beginning_of,
    beginning_tokens,
    cache_blocks,
    certain,
    shared_by,
)
from promptdsl.rendering.reports.cache_order import cache_order as request
from promptdsl.rendering.reports.cards import BudgetUse, eighths
from promptdsl.rendering.reports.token_parts import TokenPart
from promptdsl.rendering.reports.token_view import TokenView
from promptdsl.rendering.request import RENDER_DEFAULTS
from promptdsl.rendering.spans import SpanReader
from promptdsl.rendering.text import lower as lower_module
from promptdsl.rendering.text.format import MARKDOWN, XML
from promptdsl.rendering.text.layout import Layout, LayoutReader, WrittenPage
from promptdsl.rendering.text.lower import Lowering, lower
from promptdsl.rendering.text.page import (
    MAX_INDENTATION,
    NO_INDENT,
    Margin,
    Page,
    deeper,
    margin,
    with_cache_mark,
)
from promptdsl.rendering.text.walk import walk as walk_parts
from promptdsl.rendering.text.walk import way_of
from promptdsl.templates.compiler import FILTERS, TESTS, Inserted, Piece, Rope
from promptdsl.templates.environment import sandbox as template_sandbox
from promptdsl.templates.front_matter import FrontMatter, split
from promptdsl.templates.installed import _LOADED as LOADED_LIBRARIES
from promptdsl.templates.limits import TemplateFile, TemplateFolder, check_name
from promptdsl.templates.render import event_pieces, rendered_template
from promptdsl.templates.sources import Registration, TemplateSource, read_template, templates_root
from promptdsl.templates.variables import check_variables
from promptdsl.testing.hostile import (
    WORD,
    DataDifference,
    InjectionLocation,
    around_word,
    between,
    differences,
    is_enclosed,
    readings,
    skeleton,
)
from promptdsl.testing.hostile import code_fences as tolerant_fences
from promptdsl.testing.injection import HarmlessPrompt
from promptdsl.testing.run import name_of, payload_text, stem_of, stems_in, suffix_of
from promptdsl.testing.store_contract import StoreClaims
from promptdsl.testing.store_contract import _check_complete as complete_entries
from promptdsl.testing.store_contract import _check_equal as same_entries
from promptdsl.tokens import Tokens, fitting_prefix, tokens_for
from promptdsl.tokens import encodings as encodings_module
from promptdsl.tokens.attachments import (
    ASSUMED_SIZE,
    AttachedMedia,
    attachment_tokens,
    image_tokens,
    media_at,
    pixels,
)
from promptdsl.tokens.counters import OVERHEAD, TextCache, encoder
from promptdsl.tokens.cut import best_boundary, character_boundary
from promptdsl.tokens.encodings import (
    FORCED_CUT,
    MAXIMUM_AT_ONCE,
    SHIPPED,
    adds_up,
    first_cut,
    last_cut,
    packed_file,
    pieces,
    unpack,
    vocabulary,
)
from promptdsl.tokens.encodings import encoding as encoding_named
from promptdsl.tokens.payloads import (
    CLAUDE_TOOLS,
    Tally,
    block_tokens,
    entries_key,
    entry_tokens,
    has_media,
    label_of,
    message_tokens,
    output_tokens,
    tool_tokens,
    tools_frame,
)
from promptdsl.transcript import stores as stores_module
from promptdsl.tree import masks as tree_module
from promptdsl.tree.masks import CACHE, NAMED, OPAQUE, SPOKEN, TOOL, bits
from promptdsl.tree.node import DEFAULTS, label, make, walk
from promptdsl.tree.outline import outline
from promptdsl.tree.part_nodes import EventBlockNode, JsonNode, SectionNode, VolatileNode
from promptdsl.tree.recorded import MAX_FINDINGS as MOST_FINDINGS
from promptdsl.tree.recorded import answers_of, calls_of, first_of, remember
from promptdsl.tree.recorded import cut as cut_run
from promptdsl.tree.rewrite import (
    deep_bits,
    has_content,
    opaque_nodes,
    replace,
    rewrite,
    with_content,
)
from promptdsl.tree.turn_nodes import (
    ComponentNode,
    ConversationNode,
    FirstFitNode,
    LimitNode,
    RecordedNode,
    RootNode,
)

__all__ = [
    "ABSENT",
    "ASSUMED_SIZE",
    "BASE_LINE",
    "BORN",
    "BROKEN",
    "CACHE",
    "CACHES",
    "CHARACTER_NAMES",
    "CLASSES",
    "CLAUDE_TOOLS",
    "CLI_PROVIDERS",
    "COMMANDS",
    "DEFAULTS",
    "EMPTY",
    "ENCODERS",
    "EPHEMERAL_DELIMITER",
    "ERROR_TYPES",
    "EVENT_DELIMITER",
    "FILTERS",
    "FINISH_REASONS",
    "FORCED_CUT",
    "FORMATS",
    "HINTS",
    "INTERRUPTED",
    "KINDS",
    "LEVELS",
    "LIBRARY",
    "LOADED_LIBRARIES",
    "LONGEST_HEADER",
    "MARKDOWN",
    "MAXIMUM_AT_ONCE",
    "MAXIMUM_REFERENCES",
    "MAX_BYTES",
    "MAX_INDENTATION",
    "MOST_FINDINGS",
    "NAMED",
    "NO_DELIMITER",
    "NO_DETAILS",
    "NO_INDENT",
    "NURSERY_DIED",
    "OLD_NAMES",
    "OPAQUE",
    "OPENED",
    "OPENING",
    "OVERHEAD",
    "RENDER_DEFAULTS",
    "ROLES",
    "SHIPPED",
    "SOURCE_KEYS",
    "SPOKEN",
    "TARGETS",
    "TESTS",
    "TOOL",
    "WORD",
    "XML",
    "Abilities",
    "AnyBlock",
    "AttachedMedia",
    "BudgetUse",
    "Cache",
    "CachedWrite",
    "Choices",
    "Component",
    "ComponentNode",
    "ConversationNode",
    "Conversion",
    "DataDifference",
    "Delimiter",
    "Delimiters",
    "EventBlockNode",
    "Facts",
    "FileEntry",
    "FilePart",
    "FirstFitNode",
    "FrameBuffer",
    "FrontMatter",
    "FrozenDict",
    "FrozenList",
    "GeminiPayload",
    "Guard",
    "HarmlessPrompt",
    "ImageFormula",
    "InjectionLocation",
    "Inserted",
    "JsonNode",
    "Kind",
    "Layout",
    "LayoutReader",
    "LimitNode",
    "Lowering",
    "Margin",
    "Memory",
    "NamedEntry",
    "Neighbours",
    "NurseryKeeper",
    "OpenCalls",
    "Page",
    "PendingLazy",
    "Piece",
    "PrintedText",
    "PromptFile",
    "ReadCache",
    "RecordedNode",
    "Registration",
    "Request",
    "Resolved",
    "Role",
    "RootNode",
    "Rope",
    "RowRenderer",
    "SchemaRules",
    "SectionNode",
    "Server",
    "ServerName",
    "ShownTexts",
    "Signature",
    "SnapshotFormatError",
    "SpanReader",
    "StoreClaims",
    "Tally",
    "TemplateFile",
    "TemplateFolder",
    "TemplateSource",
    "TextCache",
    "TokenFactors",
    "TokenPart",
    "TokenView",
    "Tokens",
    "Trusted",
    "UsageError",
    "VolatileNode",
    "WordRow",
    "Written",
    "WrittenPage",
    "adds_up",
    "aligned",
    "all_rules",
    "all_visible",
    "answers_in",
    "answers_module",
    "answers_of",
    "applied",
    "around_word",
    "as_explanation",
    "as_json",
    "as_messages",
    "attachment_tokens",
    "attribute",
    "authored_cell",
    "batch_engine_module",
    "batch_job_module",
    "batch_writer_module",
    "beginning_of",
    "beginning_tokens",
    "best_boundary",
    "between",
    "bits",
    "block_tokens",
    "body",
    "by_occurrence",
    "cache_blocks",
    "call_function",
    "call_rows",
    "calls_in",
    "calls_of",
    "canonical",
    "cell",
    "cell_locations",
    "certain",
    "changed_words",
    "changes",
    "character_boundary",
    "check_delimiter",
    "check_kind",
    "check_name",
    "check_shape",
    "check_url",
    "check_variables",
    "checked_out_inputs",
    "cli_module",
    "closed",
    "closes_calls",
    "code_fences",
    "columns",
    "complete_entries",
    "content_remedy",
    "contents",
    "control_tokens",
    "controls",
    "custom_module",
    "cut_run",
    "data_text",
    "dedent_parts",
    "deep_bits",
    "deeper",
    "default_step",
    "described",
    "difference",
    "differences",
    "dissolved",
    "dissolved_in_turn",
    "eighths",
    "encoder",
    "encoding_named",
    "encodings_module",
    "ended_problem",
    "entries_key",
    "entry_tokens",
    "equal_start",
    "equipment_of",
    "errors_module",
    "event_pieces",
    "extract_tools",
    "facts_for",
    "failure_text",
    "field",
    "files_module",
    "fill",
    "finish",
    "first_cut",
    "first_label",
    "first_of",
    "fitted",
    "fitted_source",
    "fitting_prefix",
    "fold",
    "formatted_time",
    "frame",
    "fresh",
    "frozen",
    "guard",
    "guard_between",
    "guard_end",
    "guard_start",
    "has_content",
    "has_media",
    "holds",
    "hunks",
    "image_size",
    "image_tokens",
    "in_order",
    "increasing",
    "inline",
    "inline_line",
    "inlined",
    "integration_values_module",
    "invisible",
    "is_ambiguous",
    "is_closed",
    "is_enclosed",
    "is_json",
    "is_number",
    "is_rare",
    "is_recursive",
    "is_same_snapshot",
    "is_valid_unicode",
    "is_watched",
    "json_body",
    "json_cell",
    "json_copy",
    "json_pieces",
    "json_problem",
    "json_remedy",
    "json_schema",
    "json_text",
    "label",
    "label_of",
    "labelled",
    "last_calls",
    "last_cut",
    "left_open",
    "listed_signature",
    "located",
    "log_module",
    "lost_marks",
    "lower",
    "lower_module",
    "make",
    "mapping",
    "margin",
    "mask_of",
    "media_at",
    "media_type_of",
    "message_remedy",
    "message_tokens",
    "minimal_body",
    "misspelt",
    "models_module",
    "most_alike",
    "name_of",
    "named_entries",
    "nearest",
    "neutralised",
    "next_frame",
    "note_caller",
    "of_base64",
    "of_bytes",
    "of_file_id",
    "of_path",
    "of_url",
    "on_one_line",
    "one_line",
    "opaque_nodes",
    "outline",
    "output_tokens",
    "packed_file",
    "pair",
    "paired_tags",
    "parse",
    "parsed",
    "parts_of",
    "payload_text",
    "pieces",
    "pixels",
    "plain_data",
    "probed",
    "project_folder",
    "prompt_file",
    "ray_pool_module",
    "read_anthropic",
    "read_arguments",
    "read_bedrock",
    "read_chat_template",
    "read_file",
    "read_frame",
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
    "readable",
    "readable_tags",
    "readings",
    "recalled",
    "record_rows_module",
    "recorded_before",
    "recordings_module",
    "records_list_module",
    "remember",
    "render_events",
    "render_module",
    "render_open_template",
    "render_template",
    "rendered_template",
    "replace",
    "request",
    "required",
    "resolve",
    "rewrite",
    "row_lines",
    "rows_of",
    "same_entries",
    "schema_text",
    "serialise",
    "servers",
    "servers_module",
    "services",
    "shared_by",
    "shown_value",
    "signature",
    "signature_of",
    "skeleton",
    "slow_problem",
    "sniff",
    "source_of",
    "spelled",
    "split",
    "stem_of",
    "stems_in",
    "stores_module",
    "stub_text",
    "suffix_of",
    "table_text",
    "tally",
    "targets_module",
    "template_sandbox",
    "templates_root",
    "text_block",
    "text_of",
    "text_remedy",
    "thawed",
    "title",
    "tokens_for",
    "tolerant_fences",
    "tool_result_block",
    "tool_tokens",
    "tool_use_block",
    "tools_frame",
    "tree_module",
    "type_schema",
    "type_schemas_module",
    "unique_pairs",
    "unpack",
    "unread_keys",
    "valid_unicode",
    "value_bracket",
    "visible_json",
    "vocabulary",
    "walk",
    "walk_parts",
    "warm_up",
    "way_of",
    "wire_of",
    "wires",
    "with_brackets",
    "with_cache_mark",
    "with_content",
    "with_end_brackets",
    "with_its_article",
    "within_line",
    "write_anthropic",
    "write_bedrock",
    "write_chat_template",
    "write_frame",
    "write_gemini",
    "write_json",
    "write_openai_chat",
    "write_openai_responses",
    "written_tags",
]

_TEXT = "promptdsl.rendering.text"
ENCODERS = {
    "body": f"{_TEXT}.encode.minimal_body",
    "end of author text": f"{_TEXT}.encode.guard_end",
    "inline": f"{_TEXT}.encode.readable",
    "lines": "promptdsl.foundation.readable.among_lines",
    "section title": f"{_TEXT}.walk.field",
    "event field": f"{_TEXT}.format.field",
    "attribute": f"{_TEXT}.leaves.attribute",
    "cell": "promptdsl.foundation.tables.cell",
    "control token": "promptdsl.providers.chat_template.write.break_tokens",
}
"""By what they encode, the functions that a test replaces to see whether it is noticed."""
