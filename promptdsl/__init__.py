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

from promptdsl.foundation.lazy_names import lazy_names as _lazy_names

__all__, __getattr__, __dir__ = _lazy_names(
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
        "config.server_rows": "provider_names",
        "config.servers": "register_provider",
        "config.transformation": "AS_WRITTEN MessageTransformationConfig",
        "foundation.errors": (
            "BudgetError ConfigError ConflictError ContentError DataError LibraryError "
            "LossError MediaError OptionError PairingError PendingToolCalls PlacementError "
            "PromptError ScopeError SubscriberError TargetError TemplateError TokenizerError "
            "TranscriptError UnknownNameError"
        ),
        "foundation.escaping": "decode",
        "foundation.library_section": "LibrarySection",
        "foundation.notice": "UNTRUSTED_NOTICE",
        "foundation.source": "Source",
        "foundation.trusted": "trusted",
        "foundation.version": "__version__",
        "libraries.library": "Library",
        "libraries.template_section": "SectionInfo",
        "messages": (
            "AudioBlock Block CodeBlock DocumentBlock ImageBlock JsonBlock ReasoningBlock "
            "StateChangeBlock SystemEventBlock TextBlock ToolResultBlock ToolUseBlock "
            "UnknownBlock UserActionBlock VideoBlock block_from_dict"
        ),
        "messages.details": "Origin",
        "messages.loss": "Loss",
        "messages.media.source": "MediaSource",
        "messages.message": "Message",
        "messages.provider_names": "ProviderName",
        "messages.prompt": "OutputSchema Prompt RawSetting StoredConversation ToolDefinition",
        "providers.read_response": "read_response",
        "providers.read_stream": "aread_stream read_stream",
        "providers.registry": "read_payload",
        "providers.shared.sent_places": "SentPlace",
        "rendering.prefix": "prefix_report",
        "rendering.render": "arender render",
        "rendering.reports": "Difference PrefixReport TokenPart TokenReport",
        "rendering.reports.log": "PromptLog",
        "rendering.reports.log_reader": "LogEntry",
        "rendering.reports.record": "PromptRecord",
        "rendering.result": "Rendered Stage",
        "rendering.spans": "Span",
        "rendering.transcripts": "Transcript",
        "templates.folders": "register_templates",
        "templates.inputs": "Input",
        "templates.installed": "InstalledLibrary",
        "tokens": "split_text",
        "transcript.encrypted_store": "EncryptedStore",
        "transcript.entries": "TranscriptEntry TranscriptTurn",
        "transcript.entry_types": "entry_type",
        "transcript.folder_store": "FolderStore",
        "transcript.sql_store": "SqlStore",
        "transcript.sqlite_store": "SqliteStore",
        "transcript.stores": "TranscriptStore",
        "tree.group_nodes": "ClearResults",
        "tree.node": "Node",
    },
)
