"""Prompts written with ``with`` blocks, rendered to messages, sent to any provider.

Write a :class:`Timeline` of turns (:class:`System`, :class:`User`, ...) with parts in them
(:class:`Section`, :class:`Text`, ...), and :func:`render` it. ``help(render)`` lists the options.

>>> from promptdsl import Section, System, Timeline, User, render
>>> with Timeline() as prompt:
...     system = System(Section("role", "You are a support agent."))
...     question = User("I was charged twice.")
>>> rendered = render(prompt, model="gpt-5")
>>> print(rendered)  # what the model reads; print(prompt) shows the parts with their lines
── system ──────────────────────────────────────────────────────────────
You are a support agent.
<BLANKLINE>
── user ────────────────────────────────────────────────────────────────
I was charged twice.
>>> rendered.losses  # what this model cannot be sent, and what looks like a mistake
()
>>> sorted(rendered.to_openai())
['messages']
"""

TYPE_CHECKING = False  # typing has it too, and costs more than all of this
if TYPE_CHECKING:
    from promptdsl.budget.dropped import Dropped
    from promptdsl.comparing.prompt_diff import PromptDiff, diff
    from promptdsl.components.any_turn import Turn
    from promptdsl.components.budget import CacheBreakpoint, FirstFit, Group, Limit, Reserve
    from promptdsl.components.custom import component
    from promptdsl.components.events import StateChange, SystemEvent, UserAction
    from promptdsl.components.history import History
    from promptdsl.components.lazy import Lazy, LazyContext
    from promptdsl.components.lists import Checklist, Example, Item, List, Quote
    from promptdsl.components.media import Audio, Document, Image, Video
    from promptdsl.components.overrides import override
    from promptdsl.components.request_only import Ephemeral, Grounding
    from promptdsl.components.scope import detached
    from promptdsl.components.sections import Format, Fragment, Note, Section, include
    from promptdsl.components.tables import Table
    from promptdsl.components.template import Template
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
    from promptdsl.components.tool_calls import Reasoning, ToolMessage, ToolResult, ToolUse
    from promptdsl.components.tool_definitions import Output, Tool
    from promptdsl.components.turns import Assistant, Developer, Event, System, User
    from promptdsl.config.chat_template import ChatTemplate
    from promptdsl.config.model_facts import ModelFacts
    from promptdsl.config.models import register_model
    from promptdsl.config.transformation import MessageTransformationConfig
    from promptdsl.foundation.errors import (
        BudgetError,
        ConfigError,
        ContentError,
        DataError,
        LibraryError,
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
        UnknownNameError,
    )
    from promptdsl.foundation.escaping import decode
    from promptdsl.foundation.library_section import LibrarySection
    from promptdsl.foundation.notice import UNTRUSTED_NOTICE
    from promptdsl.foundation.source import Source
    from promptdsl.foundation.trusted import trusted
    from promptdsl.libraries.library import Library
    from promptdsl.libraries.section_info import SectionInfo
    from promptdsl.messages import (
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
    from promptdsl.messages.details import Origin
    from promptdsl.messages.loss import Loss
    from promptdsl.messages.media.source import MediaSource
    from promptdsl.messages.message import Message
    from promptdsl.messages.prompt import OutputSchema, Prompt, ToolDefinition
    from promptdsl.providers.read_response import read_response
    from promptdsl.providers.read_stream import aread_stream, read_stream
    from promptdsl.providers.registry import read_payload
    from promptdsl.providers.shared.sent_places import SentPlace
    from promptdsl.rendering.prefix import prefix_report
    from promptdsl.rendering.render import arender, render
    from promptdsl.rendering.reports import Difference, PrefixReport, TokenPart, TokenReport
    from promptdsl.rendering.result import Rendered, Stage
    from promptdsl.rendering.spans import Span
    from promptdsl.templates import register_templates
    from promptdsl.templates.inputs import Input
    from promptdsl.templates.installed import InstalledLibrary
    from promptdsl.tokens import split_text
    from promptdsl.tree.node import Node
else:
    from promptdsl.foundation.lazy_names import lazy_names as _lazy_names

    __getattr__, __dir__ = _lazy_names(
        globals(),
        {
            "budget.dropped": "Dropped",
            "comparing.prompt_diff": "PromptDiff diff",
            "components.any_turn": "Turn",
            "components.budget": "CacheBreakpoint FirstFit Group Limit Reserve",
            "components.custom": "component",
            "components.events": "StateChange SystemEvent UserAction",
            "components.history": "History",
            "components.lazy": "Lazy LazyContext",
            "components.lists": "Checklist Example Item List Quote",
            "components.media": "Audio Document Image Video",
            "components.overrides": "override",
            "components.request_only": "Ephemeral Grounding",
            "components.scope": "detached",
            "components.sections": "Format Fragment Note Section include",
            "components.tables": "Table",
            "components.template": "Template",
            "components.text": "Code Heading Json Paragraph Text Untrusted Value Volatile dedent",
            "components.timeline": "Timeline",
            "components.tool_calls": "Reasoning ToolMessage ToolResult ToolUse",
            "components.tool_definitions": "Output Tool",
            "components.turns": "Assistant Developer Event System User",
            "config.chat_template": "ChatTemplate",
            "config.model_facts": "ModelFacts",
            "config.models": "register_model",
            "config.transformation": "MessageTransformationConfig",
            "foundation.errors": (
                "BudgetError ConfigError ContentError DataError LibraryError LossError MediaError "
                "OptionError PairingError PendingToolCalls PlacementError PromptError "
                "ScopeError TargetError TemplateError TokenizerError UnknownNameError"
            ),
            "foundation.escaping": "decode",
            "foundation.library_section": "LibrarySection",
            "foundation.notice": "UNTRUSTED_NOTICE",
            "foundation.source": "Source",
            "foundation.trusted": "trusted",
            "libraries.library": "Library",
            "libraries.section_info": "SectionInfo",
            "messages": (
                "AudioBlock Block CodeBlock DocumentBlock ImageBlock JsonBlock ReasoningBlock "
                "StateChangeBlock SystemEventBlock TextBlock ToolResultBlock ToolUseBlock "
                "UnknownBlock UserActionBlock VideoBlock block_from_dict"
            ),
            "messages.details": "Origin",
            "messages.loss": "Loss",
            "messages.media.source": "MediaSource",
            "messages.message": "Message",
            "messages.prompt": "OutputSchema Prompt ToolDefinition",
            "providers.read_response": "read_response",
            "providers.read_stream": "aread_stream read_stream",
            "providers.registry": "read_payload",
            "providers.shared.sent_places": "SentPlace",
            "rendering.prefix": "prefix_report",
            "rendering.render": "arender render",
            "rendering.reports": "Difference PrefixReport TokenPart TokenReport",
            "rendering.result": "Rendered Stage",
            "rendering.spans": "Span",
            "templates": "register_templates",
            "templates.inputs": "Input",
            "templates.installed": "InstalledLibrary",
            "tokens": "split_text",
            "tree.node": "Node",
        },
    )

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
    "Input",
    "InstalledLibrary",
    "Item",
    "Json",
    "JsonBlock",
    "Lazy",
    "LazyContext",
    "Library",
    "LibraryError",
    "LibrarySection",
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
    "PromptDiff",
    "PromptError",
    "Quote",
    "Reasoning",
    "ReasoningBlock",
    "Rendered",
    "Reserve",
    "ScopeError",
    "Section",
    "SectionInfo",
    "SentPlace",
    "Source",
    "Span",
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
    "UnknownNameError",
    "Untrusted",
    "User",
    "UserAction",
    "UserActionBlock",
    "Value",
    "Video",
    "VideoBlock",
    "Volatile",
    "aread_stream",
    "arender",
    "block_from_dict",
    "component",
    "decode",
    "dedent",
    "detached",
    "diff",
    "include",
    "override",
    "prefix_report",
    "read_payload",
    "read_response",
    "read_stream",
    "register_model",
    "register_templates",
    "render",
    "split_text",
    "trusted",
]
