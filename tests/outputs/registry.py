"""The components and options there are, read from the package: what prompts are drawn of.

What the package has and no prompt could be drawn with is named by ``unknown``, so that nothing new
is left out silently.
"""

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, Never, get_args, get_origin, get_type_hints, is_typeddict

import promptdsl
from promptdsl import Message, Node, Span, provider_names

CALLS = (
    *("render", "MessageTransformationConfig", "ChatTemplate", "ClearResults", "Message", "Turn"),
    *("TextBlock", "ImageBlock", "AudioBlock", "DocumentBlock", "VideoBlock", "ToolUseBlock"),
    *("ToolResultBlock", "ReasoningBlock", "UserActionBlock", "StateChangeBlock"),
    *("SystemEventBlock", "JsonBlock", "CodeBlock", "UnknownBlock", "MediaSource"),
)
"""What is called in a prompt beside components."""

WORDS = (
    *("include", "override", "component", "detached", "dedent", "trusted", "AS_WRITTEN"),
    *("UNTRUSTED_NOTICE", "Library"),
)
"""What is used in a prompt in a way of its own."""

LEFT_OUT = (
    "AdapterName Block Difference Dropped EncryptedStore FolderStore Input InstalledLibrary "
    "LazyContext LibrarySection LogEntry Loss LostContentWarning ModelFacts Node Origin "
    "OutputSchema PrefixReport "
    "Prompt PromptDiff PromptLog PromptRecord ProviderId ProviderName RawSetting Rendered "
    "SectionInfo SentLocation Source Span SqlStore SqliteStore Stage StoredConversation TokenPart "
    "TokenReport ToolDefinition Transcript TranscriptEntry TranscriptStore TranscriptTurn "
    "__version__ aread_stream arender arun_calls block_from_dict decode diff entry_type "
    "prefix_report provider_names "
    "read_payload read_response read_stream register_model register_provider register_templates "
    "run_calls split_text"
)
"""The public names that write no part of a prompt: results, readers, stores, types."""

_MEDIA = ("Image", "Audio", "Document", "Video")
_SPACE = ("''", "' '", "'\\n'", "'\\n\\n'")
_SCHEMA = "{'type': 'object', 'properties': {'q': {'type': 'string'}}}"
_ERRORS = ("PendingToolCalls",)
_FENCES = ("('<did>', '</did>')", "('[[A]]', '[[/A]]')", "'NOTE>\\n'", "None")

CHOICES: Mapping[str, tuple[str, ...]] = {
    # Of any component.
    "metadata": ("{'a': 1}", "{'k': ['<b>', None]}"),
    "tags": ("('a', 'b')", "('urgent',)"),
    "priority": ("1", "-2", "0.5"),
    "id": ("ID", "ID + ' <b>'"),
    "separator": _SPACE,
    "name": ("'ada'", "'Ada Lovelace'"),
    "title": ("TEXT", "Value(TEXT)", "'Rules'"),
    "extra": ("{'x': 1}", "{'y': None}"),
    "order": ("1", "-1.5"),
    "source": ("TEXT", "'mail'", "Volatile(TEXT, 'mail')"),
    "language": ("'python'", "'json'"),
    "description": ("'What it is.'",),
    "input_schema": (_SCHEMA,),
    "encrypted": ("'ZW5j'",),
    "signature": ("'c2ln'",),
    "origin": ("'openai_responses'", "'anthropic'", "'gemini'", "'bedrock'"),
    "vars": ("{'u': TEXT}",),
    # Of events.
    "old": ("TEXT", "1", "None"),
    "new": ("TEXT", "[1, 'a']"),
    "trigger": ("TEXT",),
    "target": ("TEXT", "{'a': 1}"),
    "actor": ("TEXT", "'Ada'"),
    "**": ("page=TEXT", "at=Volatile('noon', 'clock')", "count=3", "note=[TEXT, 1]"),
    "details": ("{'page': TEXT}", "{'a': [1]}"),
    "data": ("{'page': TEXT}", "{'a': [1]}"),
    # Of single components.
    "Ephemeral.type": ("'note'", "Value(TEXT)"),
    "Heading.level": ("1", "2", "6"),
    "Lazy.weight": ("2", "0.5"),
    "Table.columns": ("['x', 'y']", "['a|b', '<c>']"),
    "Template.**": ("v=TEXT", "v=trusted(TEXT)", "v=Volatile(TEXT, 'now')", "v=7"),
    "Timeline.transformation": ("CONFIG",),
    "Tool.name": ("'look_up'",),
    "UnknownBlock.origin": ("'openai'", "'anthropic'", "'gemini'", "'bedrock'"),
    "SystemEventBlock.source": ("TEXT", "'mail'"),
    # Of histories and recorded messages.
    "History.keep": ("1", "2"),
    "History.clear_results": ("1", "CLEAR"),
    "History.step": ("0", "20"),
    "History.max_result_tokens": ("5", "30"),
    "History.pin": ("'h1'", "['h1', 'h2']", "lambda message: message.role == 'user'"),
    "History.origin": ("'deepseek'", "'openrouter'"),
    "ClearResults.keep": ("1", "2"),
    "ClearResults.at_least": ("1", "10"),
    "ClearResults.exclude": ("'look_up'", "('other',)"),
    "ClearResults.placeholder": ("'[gone]'",),
    "Message.**": (
        *("id='h1'", "id='h2'", "name='ada'", "metadata={'a': 1}", "tags=('t',)"),
        *("token_usage={'input_tokens': 3}", "structured_output={'a': 1}", "extra={'x': 1}"),
        *("finish_reason='stop'", "raw_finish_reason='end_turn'"),
    ),
    "Message.files": ("[{'type': 'image', 'file_id': 'f'}]",),
    # Of attachments.
    **{f"{kind}.title": ("TEXT", "'a_b.pdf'") for kind in _MEDIA},
    **{f"{kind}Block.title": ("TEXT", "'a_b.pdf'") for kind in _MEDIA},
    "Image.media_type": ("'image/png'",),
    "Audio.media_type": ("'audio/wav'",),
    "Document.media_type": ("'application/pdf'",),
    "Video.media_type": ("'video/mp4'",),
    # Of renders.
    "ChatTemplate.bos_token": ("'<s>'",),
    "ChatTemplate.eos_token": ("'</s>'",),
    "ChatTemplate.now": ("NOON",),
    "ChatTemplate.variables": ("{'style': 'short'}",),
    "ChatTemplate.special_tokens": ("['<|x|>']",),
    "ChatTemplate.tool_source": ("CHATML",),
    "delimiters.event": (*_FENCES, "{'user_action': None, 'text': 'NOTE: '}"),
    "delimiters.ephemeral": _FENCES,
    "format_block": ("shortened", "as_text"),
    "merge_separator": _SPACE,
    "silent_hints": ("['empty_message', 'repeated_message']",),
    "render.model": (
        *("'gpt-5'", "'gpt-5.6-sol'", "'gpt-3.5-turbo'", "'o1-mini'", "'o3-pro'"),
        *("'claude-opus-5-5'", "'claude-opus-4-5'", "'gemini-2.5-pro'", "'gemini-3.1-pro'"),
        *("'amazon.nova-lite-v1:0'", "'us.mistral.pixtral-large-2502-v1:0'", "'a-new-one'"),
    ),
    "render.provider": tuple(repr(str(name)) for name in provider_names()),
    "render.budget": ("600", "2000", "6000", "'window'"),
    "render.reserve": ("20",),
    "render.counter": ("words",),
    "render.transformation": ("CONFIG", "AS_WRITTEN", "lambda model, provider: CONFIG"),
    "render.tool_choice": ("'auto'", "'none'", "'required'", "'look_up'"),
    "render.media_roots": ("[FILES]",),
    "render.chat_template": ("TEMPLATE",),
    "render.media_loader": ("loaded",),
    # Written in a way of their own, or not an author's.
    **{f"{kind}.detail": () for kind in ("Audio", "Document", "Video")},
    **{f"{kind}Block.detail": () for kind in _MEDIA},
    **dict.fromkeys(("ToolResultBlock.content", "ToolResultBlock.error_type"), ()),
    **dict.fromkeys(("Message.content", "Message.origins", "MediaSource.from_data"), ()),
    "MediaSource.media_type": (),
    "Turn.**": (),
}
"""The code of the values of an option, by ``COMPONENT.NAME`` or by its name. For what is not here
they are those that its type lists. In capitals: what ``prompts.py`` draws there."""

_BOOLS = ("True", "False")


@cache
def calls() -> Mapping[str, Any]:
    """Return what is called in a prompt, by the code that names it."""
    public = {name: getattr(promptdsl, name) for name in promptdsl.__all__}
    components = {
        name: value
        for name, value in public.items()
        if isinstance(value, type) and issubclass(value, Node) and value is not Node
    }
    made = {
        f"{name}.{method}": getattr(cls, method)
        for name, cls in components.items()
        for method, value in inspect.getmembers_static(cls)
        if isinstance(value, classmethod) and not method.startswith("_")
    }
    taken = {name: cls for name, cls in components.items() if name not in _MEDIA}
    return {**taken, **made, **{name: public[name] for name in CALLS}}


@cache
def options_of(name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the options of a call, each with the code of its values: ``?`` for an unknown one."""
    try:
        parameters = inspect.signature(calls()[name], eval_str=True).parameters.values()
    except NameError:  # of an import for type checkers alone
        parameters = inspect.signature(calls()[name]).parameters.values()
    hints: dict[str, Any] = {}
    for parameter in parameters:
        listed = (get_args(parameter.annotation) or (None,))[0]
        is_left_out = parameter.default is parameter.empty or repr(parameter.default) == "nothing"
        if parameter.annotation in (Never, "Never") or parameter.kind is parameter.VAR_POSITIONAL:
            continue
        if parameter.kind is parameter.VAR_KEYWORD and is_typeddict(listed):
            hints |= get_type_hints(listed)
        elif parameter.kind is parameter.VAR_KEYWORD:
            hints["**"] = object
        elif parameter.kind is not parameter.POSITIONAL_ONLY and not is_left_out:
            hints[parameter.name] = parameter.annotation
    return {option: _values(f"{owner(name)}.{option}", hint) for option, hint in hints.items()}


def owner(name: str) -> str:
    """Return the component of a call: that of its method."""
    return name.partition(".")[0]


def _values(path: str, hint: Any) -> tuple[str, ...]:
    """Return the code of the values of an option."""
    name = path.rpartition(".")[2]
    if is_typeddict(hint):
        return tuple(
            f"{{{key!r}: {value}}}"
            for key, inner in get_type_hints(hint).items()
            for value in _values(f"{name}.{key}", inner)
        )
    if path in CHOICES:
        return CHOICES[path]
    if hint is bool or hint == bool | None:
        return _BOOLS
    return tuple(map(repr, _literals(hint))) or CHOICES.get(name, ("?",))


def _literals(hint: Any) -> Iterator[str]:
    if get_origin(hint) is Literal:
        yield from (str(value) for value in get_args(hint))
    else:
        for inner in get_args(hint):
            yield from _literals(inner)


def unknown() -> list[str]:
    """Return what the package has and no prompt is drawn with, each with what to do."""
    known = {*calls(), *WORDS, *LEFT_OUT.split(), *_MEDIA}
    errors = {name for name in promptdsl.__all__ if name.endswith("Error") or name in _ERRORS}
    names = sorted({*promptdsl.__all__} - known - errors)
    options = [
        f"{name}({option}=...)"
        for name in calls()
        for option, values in options_of(name).items()
        if "?" in values
    ]
    return [
        *(f"promptdsl.{name}: draw it in prompts.py, or list it in LEFT_OUT" for name in names),
        *(f"{option}: list its values in CHOICES" for option in options),
    ]


def option_rows(name: str) -> Iterator[tuple[str, str]]:
    """Yield the rows of the table for the options of a call, each with one value."""
    for option, values in options_of(name).items():
        yield from ((option, f"{owner(name)}.{option}: {value}") for value in values)


@cache
def rows() -> frozenset[str]:
    """Return all rows of the table that the package asks for."""
    names = {
        *calls(),
        *WORDS,
        *(row for name in calls() for _, row in option_rows(name)),
        *(f"kind {kind}" for kind in _fields(Message, "kind")),
        *(f"span {kind}" for kind in _fields(Span, "kind")),
        *(f"{row} {role}" for row in ("role", "Turn of role") for role in _fields(Message, "role")),
    }
    return frozenset(names)


def _fields(cls: type, name: str) -> tuple[str, ...]:
    """Return the values that the type of a field lists."""
    return tuple(_literals(inspect.signature(cls).parameters[name].annotation))
