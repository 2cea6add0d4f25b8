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
>>> rendered.losses, rendered.hints  # what this model does not take, what looks like a mistake
((), ())
>>> sorted(rendered.to_openai())
['messages']
"""

TYPE_CHECKING = not __name__  # False, but not to editors that run no code: they read these imports
if TYPE_CHECKING:  # Written by python -m tests.public_names, from the table below.
    from promptdsl.budget.dropped import Dropped as Dropped
    from promptdsl.comparing.prompt_diff import PromptDiff as PromptDiff
    from promptdsl.comparing.prompt_diff import diff as diff
    from promptdsl.components.budget import CacheBreakpoint as CacheBreakpoint
    from promptdsl.components.budget import FirstFit as FirstFit
    from promptdsl.components.budget import Group as Group
    from promptdsl.components.budget import Limit as Limit
    from promptdsl.components.budget import Reserve as Reserve
    from promptdsl.components.custom import component as component
    from promptdsl.components.history import History as History
    from promptdsl.components.lazy import Lazy as Lazy
    from promptdsl.components.lazy import LazyContext as LazyContext
    from promptdsl.components.media import Audio as Audio
    from promptdsl.components.media import Document as Document
    from promptdsl.components.media import Image as Image
    from promptdsl.components.media import Video as Video
    from promptdsl.components.overrides import override as override
    from promptdsl.components.scope import detached as detached
    from promptdsl.components.sections import Format as Format
    from promptdsl.components.sections import Fragment as Fragment
    from promptdsl.components.sections import Note as Note
    from promptdsl.components.sections import Section as Section
    from promptdsl.components.sections import include as include
    from promptdsl.components.tables import Table as Table
    from promptdsl.components.template import Template as Template
    from promptdsl.components.text import Checklist as Checklist
    from promptdsl.components.text import Code as Code
    from promptdsl.components.text import Example as Example
    from promptdsl.components.text import Heading as Heading
    from promptdsl.components.text import Item as Item
    from promptdsl.components.text import Json as Json
    from promptdsl.components.text import List as List
    from promptdsl.components.text import Paragraph as Paragraph
    from promptdsl.components.text import Quote as Quote
    from promptdsl.components.text import Text as Text
    from promptdsl.components.text import Untrusted as Untrusted
    from promptdsl.components.text import Value as Value
    from promptdsl.components.text import Volatile as Volatile
    from promptdsl.components.text import dedent as dedent
    from promptdsl.components.tool_calls import Reasoning as Reasoning
    from promptdsl.components.tool_calls import StateChange as StateChange
    from promptdsl.components.tool_calls import SystemEvent as SystemEvent
    from promptdsl.components.tool_calls import ToolMessage as ToolMessage
    from promptdsl.components.tool_calls import ToolResult as ToolResult
    from promptdsl.components.tool_calls import ToolUse as ToolUse
    from promptdsl.components.tool_calls import UserAction as UserAction
    from promptdsl.components.tool_definitions import Output as Output
    from promptdsl.components.tool_definitions import Tool as Tool
    from promptdsl.components.turns import Assistant as Assistant
    from promptdsl.components.turns import Developer as Developer
    from promptdsl.components.turns import Ephemeral as Ephemeral
    from promptdsl.components.turns import Event as Event
    from promptdsl.components.turns import Grounding as Grounding
    from promptdsl.components.turns import System as System
    from promptdsl.components.turns import Timeline as Timeline
    from promptdsl.components.turns import Turn as Turn
    from promptdsl.components.turns import User as User
    from promptdsl.config.chat_template import ChatTemplate as ChatTemplate
    from promptdsl.config.model_facts import ModelFacts as ModelFacts
    from promptdsl.config.models import register_model as register_model
    from promptdsl.config.models import register_provider as register_provider
    from promptdsl.config.transformation import AS_WRITTEN as AS_WRITTEN
    from promptdsl.config.transformation import (
        MessageTransformationConfig as MessageTransformationConfig,
    )
    from promptdsl.config.wires import provider_names as provider_names
    from promptdsl.foundation.author_text import UNTRUSTED_NOTICE as UNTRUSTED_NOTICE
    from promptdsl.foundation.author_text import trusted as trusted
    from promptdsl.foundation.errors import BudgetError as BudgetError
    from promptdsl.foundation.errors import ConfigError as ConfigError
    from promptdsl.foundation.errors import ConflictError as ConflictError
    from promptdsl.foundation.errors import ContentError as ContentError
    from promptdsl.foundation.errors import DataError as DataError
    from promptdsl.foundation.errors import LibraryError as LibraryError
    from promptdsl.foundation.errors import LossError as LossError
    from promptdsl.foundation.errors import MediaError as MediaError
    from promptdsl.foundation.errors import OptionError as OptionError
    from promptdsl.foundation.errors import PairingError as PairingError
    from promptdsl.foundation.errors import PendingToolCalls as PendingToolCalls
    from promptdsl.foundation.errors import PlacementError as PlacementError
    from promptdsl.foundation.errors import PromptError as PromptError
    from promptdsl.foundation.errors import ScopeError as ScopeError
    from promptdsl.foundation.errors import SubscriberError as SubscriberError
    from promptdsl.foundation.errors import TargetError as TargetError
    from promptdsl.foundation.errors import TemplateError as TemplateError
    from promptdsl.foundation.errors import TokenizerError as TokenizerError
    from promptdsl.foundation.errors import ToolError as ToolError
    from promptdsl.foundation.errors import TranscriptError as TranscriptError
    from promptdsl.foundation.errors import UnknownNameError as UnknownNameError
    from promptdsl.foundation.escaping import decode as decode
    from promptdsl.foundation.source import LibrarySection as LibrarySection
    from promptdsl.foundation.source import LostContentWarning as LostContentWarning
    from promptdsl.foundation.source import Source as Source
    from promptdsl.foundation.version import __version__ as __version__
    from promptdsl.libraries.library import Library as Library
    from promptdsl.libraries.template_section import SectionInfo as SectionInfo
    from promptdsl.messages import AudioBlock as AudioBlock
    from promptdsl.messages import Block as Block
    from promptdsl.messages import CodeBlock as CodeBlock
    from promptdsl.messages import DocumentBlock as DocumentBlock
    from promptdsl.messages import ImageBlock as ImageBlock
    from promptdsl.messages import JsonBlock as JsonBlock
    from promptdsl.messages import ReasoningBlock as ReasoningBlock
    from promptdsl.messages import StateChangeBlock as StateChangeBlock
    from promptdsl.messages import SystemEventBlock as SystemEventBlock
    from promptdsl.messages import TextBlock as TextBlock
    from promptdsl.messages import ToolResultBlock as ToolResultBlock
    from promptdsl.messages import ToolUseBlock as ToolUseBlock
    from promptdsl.messages import UnknownBlock as UnknownBlock
    from promptdsl.messages import UserActionBlock as UserActionBlock
    from promptdsl.messages import VideoBlock as VideoBlock
    from promptdsl.messages import block_from_dict as block_from_dict
    from promptdsl.messages.details import Origin as Origin
    from promptdsl.messages.media_type import MediaSource as MediaSource
    from promptdsl.messages.message import Message as Message
    from promptdsl.messages.names import AdapterName as AdapterName
    from promptdsl.messages.names import ProviderId as ProviderId
    from promptdsl.messages.names import ProviderName as ProviderName
    from promptdsl.messages.prompt import Loss as Loss
    from promptdsl.messages.prompt import OutputSchema as OutputSchema
    from promptdsl.messages.prompt import Prompt as Prompt
    from promptdsl.messages.prompt import RawSetting as RawSetting
    from promptdsl.messages.prompt import StoredConversation as StoredConversation
    from promptdsl.messages.prompt import ToolDefinition as ToolDefinition
    from promptdsl.providers.registry import read_payload as read_payload
    from promptdsl.providers.replies import aread_stream as aread_stream
    from promptdsl.providers.replies import read_response as read_response
    from promptdsl.providers.replies import read_stream as read_stream
    from promptdsl.providers.shared.request import SentLocation as SentLocation
    from promptdsl.rendering.prefix import prefix_report as prefix_report
    from promptdsl.rendering.render import arender as arender
    from promptdsl.rendering.render import render as render
    from promptdsl.rendering.reports import Difference as Difference
    from promptdsl.rendering.reports import PrefixReport as PrefixReport
    from promptdsl.rendering.reports import TokenPart as TokenPart
    from promptdsl.rendering.reports import TokenReport as TokenReport
    from promptdsl.rendering.reports.log import LogEntry as LogEntry
    from promptdsl.rendering.reports.log import PromptLog as PromptLog
    from promptdsl.rendering.reports.record import PromptRecord as PromptRecord
    from promptdsl.rendering.result import Rendered as Rendered
    from promptdsl.rendering.result import Stage as Stage
    from promptdsl.rendering.spans import Span as Span
    from promptdsl.rendering.transcripts import Transcript as Transcript
    from promptdsl.running.run_calls import arun_calls as arun_calls
    from promptdsl.running.run_calls import run_calls as run_calls
    from promptdsl.templates.front_matter import Input as Input
    from promptdsl.templates.installed import InstalledLibrary as InstalledLibrary
    from promptdsl.templates.sources import register_templates as register_templates
    from promptdsl.tokens import split_text as split_text
    from promptdsl.transcript.entries import TranscriptEntry as TranscriptEntry
    from promptdsl.transcript.entries import TranscriptTurn as TranscriptTurn
    from promptdsl.transcript.entries import entry_type as entry_type
    from promptdsl.transcript.extra_stores import EncryptedStore as EncryptedStore
    from promptdsl.transcript.extra_stores import SqlStore as SqlStore
    from promptdsl.transcript.local_stores import FolderStore as FolderStore
    from promptdsl.transcript.local_stores import SqliteStore as SqliteStore
    from promptdsl.transcript.stores import TranscriptStore as TranscriptStore
    from promptdsl.tree.node import Node as Node
    from promptdsl.tree.turn_nodes import ClearResults as ClearResults
else:
    from promptdsl.foundation.lazy_names import lazy_names as _lazy_names

    __all__, __getattr__, __dir__ = _lazy_names(
        globals(),
        {
            "budget.dropped": "Dropped",
            "comparing.prompt_diff": "PromptDiff diff",
            "components.budget": "CacheBreakpoint FirstFit Group Limit Reserve",
            "components.custom": "component",
            "components.history": "History",
            "components.lazy": "Lazy LazyContext",
            "components.media": "Audio Document Image Video",
            "components.overrides": "override",
            "components.scope": "detached",
            "components.sections": "Format Fragment Note Section include",
            "components.tables": "Table",
            "components.template": "Template",
            "components.text": (
                "Checklist Code Example Heading Item Json List Paragraph Quote Text "
                "Untrusted Value Volatile dedent"
            ),
            "components.tool_calls": (
                "Reasoning StateChange SystemEvent ToolMessage ToolResult ToolUse UserAction"
            ),
            "components.tool_definitions": "Output Tool",
            "components.turns": (
                "Assistant Developer Ephemeral Event Grounding System Timeline Turn User"
            ),
            "config.chat_template": "ChatTemplate",
            "config.model_facts": "ModelFacts",
            "config.models": "register_model register_provider",
            "config.transformation": "AS_WRITTEN MessageTransformationConfig",
            "config.wires": "provider_names",
            "foundation.author_text": "UNTRUSTED_NOTICE trusted",
            "foundation.errors": (
                "BudgetError ConfigError ConflictError ContentError DataError "
                "LibraryError LossError MediaError OptionError PairingError "
                "PendingToolCalls PlacementError PromptError ScopeError SubscriberError "
                "TargetError TemplateError TokenizerError ToolError TranscriptError "
                "UnknownNameError"
            ),
            "foundation.escaping": "decode",
            "foundation.source": "LibrarySection LostContentWarning Source",
            "foundation.version": "__version__",
            "libraries.library": "Library",
            "libraries.template_section": "SectionInfo",
            "messages": (
                "AudioBlock Block CodeBlock DocumentBlock ImageBlock JsonBlock "
                "ReasoningBlock StateChangeBlock SystemEventBlock TextBlock "
                "ToolResultBlock ToolUseBlock UnknownBlock UserActionBlock VideoBlock "
                "block_from_dict"
            ),
            "messages.details": "Origin",
            "messages.media_type": "MediaSource",
            "messages.message": "Message",
            "messages.names": "AdapterName ProviderId ProviderName",
            "messages.prompt": (
                "Loss OutputSchema Prompt RawSetting StoredConversation ToolDefinition"
            ),
            "providers.registry": "read_payload",
            "providers.replies": "aread_stream read_response read_stream",
            "providers.shared.request": "SentLocation",
            "rendering.prefix": "prefix_report",
            "rendering.render": "arender render",
            "rendering.reports": "Difference PrefixReport TokenPart TokenReport",
            "rendering.reports.log": "LogEntry PromptLog",
            "rendering.reports.record": "PromptRecord",
            "rendering.result": "Rendered Stage",
            "rendering.spans": "Span",
            "rendering.transcripts": "Transcript",
            "running.run_calls": "arun_calls run_calls",
            "templates.front_matter": "Input",
            "templates.installed": "InstalledLibrary",
            "templates.sources": "register_templates",
            "tokens": "split_text",
            "transcript.entries": "TranscriptEntry TranscriptTurn entry_type",
            "transcript.extra_stores": "EncryptedStore SqlStore",
            "transcript.local_stores": "FolderStore SqliteStore",
            "transcript.stores": "TranscriptStore",
            "tree.node": "Node",
            "tree.turn_nodes": "ClearResults",
        },
    )
