"""Prompts written with ``with`` blocks, rendered to messages, sent to any provider."""

from promptdsl.blocks import (
    AudioBlock,
    Block,
    CodeBlock,
    DocumentBlock,
    ImageBlock,
    JsonBlock,
    ReasoningBlock,
    StateChangeBlock,
    SystemEventBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    UserActionBlock,
    VideoBlock,
    block_from_dict,
)
from promptdsl.chat_templates import ChatTemplate
from promptdsl.components.any_turn import Turn
from promptdsl.components.budget import CacheBreakpoint, FirstFit, Group, Limit, Reserve
from promptdsl.components.composing import component
from promptdsl.components.deferred import Lazy, LazyContext, Template
from promptdsl.components.definitions import Output, Tool
from promptdsl.components.events import StateChange, SystemEvent, UserAction
from promptdsl.components.history import History
from promptdsl.components.lists import Checklist, Example, Item, List, Quote
from promptdsl.components.media import Audio, Document, Image, Video
from promptdsl.components.overriding import override
from promptdsl.components.requests import Ephemeral, Grounding
from promptdsl.components.sections import Format, Fragment, Note, Section, include
from promptdsl.components.tables import Table
from promptdsl.components.text import (
    Code,
    Heading,
    Json,
    Paragraph,
    Text,
    Untrusted,
    Value,
    Volatile,
    dedent,
)
from promptdsl.components.timeline import Timeline
from promptdsl.components.tools import Reasoning, ToolMessage, ToolResult, ToolUse
from promptdsl.components.turns import (
    Assistant,
    Developer,
    Event,
    System,
    User,
)
from promptdsl.config import MessageTransformationConfig
from promptdsl.encoding import decode
from promptdsl.errors import (
    BudgetError,
    ConfigError,
    ContentError,
    DataError,
    LossError,
    MediaError,
    OptionError,
    PairingError,
    PendingToolCalls,
    PlacementError,
    PromptError,
    ScopeError,
    TargetError,
    TemplateError,
    TokenizerError,
)
from promptdsl.fitting.dropping import Dropped
from promptdsl.library import register_templates
from promptdsl.losses import Loss
from promptdsl.messages import Message, Origin
from promptdsl.models import ModelFacts, register_model
from promptdsl.prompts import OutputSchema, Prompt, ToolDefinition
from promptdsl.rendered import Rendered, Stage, prefix_report
from promptdsl.rendering import arender, render
from promptdsl.reports import Difference, PrefixReport, TokenPart, TokenReport
from promptdsl.scope import detached
from promptdsl.sources import MediaSource, Source
from promptdsl.targets import read_payload
from promptdsl.tokens import split_text
from promptdsl.tree import Node
from promptdsl.trust import trusted
from promptdsl.voices import UNTRUSTED_NOTICE

__all__ = [
    "UNTRUSTED_NOTICE",
    "Assistant",
    "Audio",
    "AudioBlock",
    "Block",
    "BudgetError",
    "CacheBreakpoint",
    "ChatTemplate",
    "Checklist",
    "Code",
    "CodeBlock",
    "ConfigError",
    "ContentError",
    "DataError",
    "Developer",
    "Difference",
    "Document",
    "DocumentBlock",
    "Dropped",
    "Ephemeral",
    "Event",
    "Example",
    "FirstFit",
    "Format",
    "Fragment",
    "Grounding",
    "Group",
    "Heading",
    "History",
    "Image",
    "ImageBlock",
    "Item",
    "Json",
    "JsonBlock",
    "Lazy",
    "LazyContext",
    "Limit",
    "List",
    "Loss",
    "LossError",
    "MediaError",
    "MediaSource",
    "Message",
    "MessageTransformationConfig",
    "ModelFacts",
    "Node",
    "Note",
    "OptionError",
    "Origin",
    "Output",
    "OutputSchema",
    "PairingError",
    "Paragraph",
    "PendingToolCalls",
    "PlacementError",
    "PrefixReport",
    "Prompt",
    "PromptError",
    "Quote",
    "Reasoning",
    "ReasoningBlock",
    "Rendered",
    "Reserve",
    "ScopeError",
    "Section",
    "Source",
    "Stage",
    "StateChange",
    "StateChangeBlock",
    "System",
    "SystemEvent",
    "SystemEventBlock",
    "Table",
    "TargetError",
    "Template",
    "TemplateError",
    "Text",
    "TextBlock",
    "Timeline",
    "TokenPart",
    "TokenReport",
    "TokenizerError",
    "Tool",
    "ToolDefinition",
    "ToolMessage",
    "ToolResult",
    "ToolResultBlock",
    "ToolUse",
    "ToolUseBlock",
    "Turn",
    "UnknownBlock",
    "Untrusted",
    "User",
    "UserAction",
    "UserActionBlock",
    "Value",
    "Video",
    "VideoBlock",
    "Volatile",
    "arender",
    "block_from_dict",
    "component",
    "decode",
    "dedent",
    "detached",
    "include",
    "override",
    "prefix_report",
    "read_payload",
    "register_model",
    "register_templates",
    "render",
    "split_text",
    "trusted",
]
