"""The diff of two prompts: the changes, their cost in tokens, and what a cache can still serve.

The first part reads payloads of providers as prompts. The second part is the diff: read
:func:`diff` first, then :class:`PromptDiff`, which it returns.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import zip_longest
from typing import Any, Literal, NamedTuple, get_args

import attrs

from promptdsl import (
    AdapterName,
    DataError,
    History,
    LibrarySection,
    ModelFacts,
    OptionError,
    Prompt,
    PromptError,
    PromptRecord,
    ProviderId,
    ProviderName,
    Rendered,
    ToolResultBlock,
    UnknownBlock,
    read_payload,
    render,
)
from promptdsl.comparing.canonical import prompt_file
from promptdsl.comparing.changes import HEADER, Change, changes
from promptdsl.comparing.costs import (
    ComparedRender,
    SharedPrefix,
    TokenShift,
    as_json,
    change_json,
    prefix_of_files,
    prefix_of_requests,
    target_of,
    tokens_of,
    tokens_of_change,
)
from promptdsl.comparing.snapshot_file import PromptFile, parse, serialise, with_brackets
from promptdsl.comparing.text import change_lines, sentence
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.foundation.json import ABSENT
from promptdsl.foundation.source import author, public_api
from promptdsl.tokens import counter

# The payload of any provider, read as a prompt, and as the snapshot of this prompt.

RECOGNISED = [
    ProviderId(name) for name in get_args(AdapterName) if hasattr(History, f"from_{name}")
]
"""The providers whose payloads are recognised.

A payload for ``openai_compatible`` looks like a payload for OpenAI, so it is not one of them.
"""
_SHOWN_SIGN = re.compile(r'⟦⟦⟧((?:[a-z][a-z0-9_ .:-]*|"(?:[^"\\⟦⟧]|\\.)*"(?:-[0-9]+)?)⟧)')
"""The bracket of a value that changes, escaped as if the ``⟦`` was a literal one."""


@public_api
def payload_file(
    payload: Any,
    provider: ProviderName | None = None,  # Any: JSON data
) -> PromptFile:
    """Return the snapshot of the prompt in a payload, for its provider and model.

    A payload is a dictionary, or a list of messages. Its messages, tools, tool choice, output
    schema and model are read; other keys, such as ``temperature``, are left out. Without
    ``provider``, the provider is recognised by the payload. Brackets for values in the payload,
    such as ``⟦date⟧``, stay brackets.

    >>> from promptdsl.comparing import payload_file
    >>> messages = [{"role": "user", "content": "Hi"}]
    >>> file = payload_file({"system": "Be brief.", "messages": messages})
    >>> dict(file.header)["model"], [str(entry.title) for entry in file.entries]
    ('(anthropic)', ['system', 'user'])

    Raises :class:`DataError` for a payload that cannot be read or whose provider is not clear, and
    :class:`TargetError` for an unknown provider.
    """
    rendered = payload_rendered(payload, provider)
    file = prompt_file(rendered)
    # A parsed snapshot has no source lines. That is right, as no code of the user wrote the texts.
    read = parse(_SHOWN_SIGN.sub(r"⟦\1", serialise(file)))
    return attrs.evolve(read, total=file.total)


def payload_rendered(
    payload: Any,
    provider: ProviderName | None = None,  # Any: JSON data
) -> Rendered:
    """Return the prompt of a payload, rendered for its provider and model.

    Raises what :func:`payload_file` raises.
    """
    names = [payload.get("model"), payload.get("modelId")] if is_mapping(payload) else []
    model = next((name for name in names if isinstance(name, str) and name), None)
    if provider is None:
        provider, prompt = _recognised(payload, model)
    else:
        prompt = read_payload(payload, provider)
    return render(prompt, provider=provider, model=model)


def record_rendered(record: PromptRecord) -> Rendered:
    """Return the prompt of a record, rendered again, with facts from the record.

    These facts are the libraries, the dropped parts, the losses and the hints. If the messages are
    equal to those of the record, its spans and their source lines are used, too. Raises
    :class:`DataError` for a record without content, and what :func:`render` raises.
    """
    data, prompt = record.to_dict(), record.prompt
    target, sections = data["model"], [LibrarySection(**row) for row in data["libraries"]]
    rendered = render(
        prompt,
        provider=target["provider"],
        model=target["model"],
        tool_choice=prompt.tool_choice,
        transformation={"json_keys": _json_keys(data["settings"])},
        hints=False,
    )
    facts_of_record: dict[str, object] = {
        "libraries": tuple(sections),
        "dropped": record.dropped,
        "losses": record.losses,
        "hints": record.hints,
    }
    pairs = zip_longest(rendered.messages, prompt.messages)
    if all(new and old and new.content == old.content for new, old in pairs):
        facts_of_record["_spans"] = record.spans
    # ``Rendered`` makes these facts when they are first asked for, and keeps them in its ``vars``.
    vars(rendered).update(facts_of_record)
    return rendered


def _json_keys(settings: Any) -> Any:  # Any: JSON
    """Return the setting ``json_keys`` of a record; ``None`` for older records without it."""
    setting = settings.get("json_keys", {"value": None}) if is_mapping(settings) else None
    if is_mapping(setting) and "value" in setting:
        return setting["value"]
    what = "this is not a record: its settings have no value of json_keys"
    raise DataError(what, fix="give what PromptRecord.to_dict() returned", at=(author(),))


def _recognised(payload: object, model: str | None) -> tuple[ProviderId, Prompt]:
    """Return the provider of a payload, and the prompt in the payload.

    It is the provider whose reader leaves the fewest tools and blocks unread. Raises
    :class:`DataError` if no provider, or more than one, is possible.
    """
    if not (is_mapping(payload) or is_list(payload)):
        what = f"a payload must be a dictionary or a list of messages, not {type(payload).__name__}"
        raise DataError(what, fix="give the arguments of a request, as JSON data", at=(author(),))
    prompts: dict[ProviderId, Prompt] = {}
    for name in RECOGNISED:
        with suppress(PromptError):
            prompts[name] = read_payload(payload, name)
    templated = [name for name in prompts if ModelFacts(name).wire.templated]
    if is_mapping(payload) and templated and ("prompt" in payload or _has_objects(payload)):
        # It has the text of a chat template, or the arguments of ``tool_calls`` as objects, which
        # only chat templates take.
        return templated[0], prompts[templated[0]]
    if len(prompts) > 1:
        # The reader of chat templates also takes messages in other formats.
        prompts = {name: prompt for name, prompt in prompts.items() if name not in templated}
    unread_counts = {name: sum(_unread_parts(prompt)) for name, prompt in prompts.items()}
    fewest = min(unread_counts.values(), default=0)
    likely = [name for name, count in unread_counts.items() if count == fewest]
    if len(likely) > 1 and model is not None:
        of_model = render(Prompt(), model=model).facts.provider
        likely = [name for name in likely if name == of_model] or likely
    # If several providers have the same adapter, the first of them has its usual format.
    by_adapter = {ModelFacts(name).wire.folder: name for name in reversed(likely)}
    # ``reversed`` and the dictionary keep this first one of each adapter.
    likely = [name for name in likely if name in by_adapter.values()]
    if len(likely) == 1:
        return likely[0], prompts[likely[0]]
    first, *other_names = likely or RECOGNISED
    fix = f'name the provider: provider="{first}", or --for {first}; or {", ".join(other_names)}'
    what = "these are not the messages of any provider"
    if likely:
        what = f"the payload may be one of {', '.join(likely[:-1])} or {likely[-1]}"
    elif is_mapping(payload):
        # The payload may be from anybody, so the error shows at most 6 keys of 40 characters.
        keys = [with_brackets(str(key)[:40], one_line=True) for key in payload]
        rest = f" and {len(keys) - 6} more" if len(keys) > 6 else ""
        what = f"no provider has a payload with the keys {', '.join(keys[:6]) or '(none)'}{rest}"
    raise DataError(what, fix=fix, at=(author(),))


def _has_objects(payload: Mapping[str, object]) -> bool:
    """Return whether the arguments of calls are objects; OpenAI Chat has JSON texts there."""
    messages = payload.get("messages")
    rows: list[Any] = [row for row in messages if is_mapping(row)] if is_list(messages) else []
    calls = [call for row in rows for call in row.get("tool_calls") or () if is_mapping(call)]
    functions = [call.get("function") for call in calls]
    return any(is_mapping(call) and is_mapping(call.get("arguments")) for call in functions)


def _unread_parts(prompt: Prompt) -> Iterator[bool]:
    """Yield for each tool and block whether the reader did not know it, and left it as it was."""
    # Only the messages of OpenAI begin with system text.
    yield any(message.kind == "recorded_system" for message in prompt.messages[:1])
    yield from (tool.raw is not None for tool in prompt.tools)
    for message in prompt.messages:
        for block in message.content:
            inner = block.content if isinstance(block, ToolResultBlock) else ()
            yield from (isinstance(child, UnknownBlock) for child in (block, *inner))


# The diff of two prompts: the changes, their cost in tokens, and what a cache can still serve.

MAX_INPUT = 60
"""The maximum number of characters of an input in a diff."""
BUDGET_KEYS: Mapping[str, Literal["budget", "reserve"]] = {"limit": "budget", "reserve": "reserve"}
"""The keys of a budget in a record, each with the kind of its :class:`InputShift`."""


@attrs.frozen
class LibraryShift:
    """A section library that has another version in the second prompt.

    A library that is only in one prompt is a change of the header.
    """

    name: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        return f"library `{self.name}` {self.before or '-'} -> {self.after or '-'}"


@attrs.frozen
class InputShift:
    """An input, the budget or the reserve of a request that differs in the second prompt.

    ``kind`` is ``input``, ``budget`` or ``reserve``; only an input has a ``name``. :data:`ABSENT`
    is the value of an input that only the other prompt has.
    """

    kind: Literal["input", "budget", "reserve"]
    name: str
    before: object
    after: object

    def to_dict(self) -> dict[str, Any]:  # Any: JSON data
        """Return the fields as JSON data, without the value of an input that is absent."""
        row = {"kind": self.kind, "name": self.name, "before": self.before, "after": self.after}
        return {key: field for key, field in row.items() if field is not ABSENT}

    def __str__(self) -> str:
        name = (
            f"{self.kind} `{with_brackets(self.name, one_line=True)}`" if self.name else self.kind
        )
        return f"{name} {_short(self.before)} -> {_short(self.after)}"


def _short(input_value: object) -> str:
    """Return an input as a text of at most 60 characters; a number has commas."""
    if input_value is ABSENT:
        return "not given"
    if input_value is None:
        return "none"
    if type(input_value) is int:
        return f"{input_value:,}"
    text = with_brackets(repr(input_value), one_line=True)
    return text if len(text) <= MAX_INPUT else f"{text[: MAX_INPUT - 1]}…"


@attrs.frozen(slots=False)
class PromptDiff:
    """What changed from one prompt to another; it is false if nothing changed.

    ``before`` and ``after`` are the prompts as snapshots. ``changes`` are the changes of the
    header, then of the tools and messages in order, then of the cache marks. ``libraries`` are the
    section libraries whose version changed; only rendered prompts have versions. ``inputs`` are the
    inputs and the budget that changed. They are not changes of the prompt: with them alone the diff
    is false.

    >>> from promptdsl import Section, System, diff
    >>> change = diff(System(Section("role", "Be brief.")), System(Section("role", "Be kind.")))
    >>> change.sentence
    '`role` changed: 1 line'
    """

    before: PromptFile
    after: PromptFile
    changes: tuple[Change, ...]
    libraries: tuple[LibraryShift, ...] = ()
    _requests: tuple[ComparedRender, ComparedRender] | None = attrs.field(
        default=None, eq=False, repr=False
    )
    inputs: tuple[InputShift, ...] = attrs.field(default=(), kw_only=True)

    def __bool__(self) -> bool:
        return bool(self.changes or self.libraries)

    @cached_property
    def sentence(self) -> str:
        """All changes in one sentence; empty for equal prompts."""
        without_total = [change for change in self.changes if change.location != (HEADER, "tokens")]
        libraries = [str(library) for library in self.libraries]
        return "; ".join(filter(None, (sentence(without_total), *libraries))) or sentence(
            self.changes
        )

    @property
    def costs(self) -> list[str]:
        """The sentences on the inputs, on the tokens and on the shared prefix that are known."""
        prefix = "" if self.prefix is None or self.prefix.is_complete else str(self.prefix)
        inputs = "; ".join(map(str, self.inputs))
        return [*filter(None, (inputs, str(self.tokens), prefix))]

    @cached_property
    def tokens(self) -> TokenShift:
        """The tokens of both prompts, and how they were counted; for snapshots, rounded."""
        return tokens_of(self.before, self.after, sum(map(self.tokens_of, self.changes)))

    @cached_property
    def prefix(self) -> SharedPrefix | None:
        """The beginning that a prompt cache can serve; ``None`` for two different models.

        It is an estimate for snapshots, and for prompts without a target.
        """
        if self._requests is None:
            return prefix_of_files(self.before, self.after, self._count)
        return prefix_of_requests(*self._requests, self._count)

    @cached_property
    def _count(self) -> Callable[[str], int]:
        return counter(target_of(self.after)[0]).of

    def tokens_of(self, change: Change) -> int:
        """Return the tokens that a change adds; negative if it removes more.

        They are counted for the model of the second prompt.
        """
        return tokens_of_change(change, self._count)

    def __str__(self) -> str:
        if not self:
            return "\n".join(["nothing changed", *self.costs])
        return "\n".join([self.sentence, *self.costs, *change_lines(self.changes, self.after)])

    def to_dict(self) -> dict[str, Any]:  # Any: JSON data
        """Return the diff as JSON data; its changes turn the first prompt into the second."""
        return {
            "sentence": self.sentence,
            "tokens": as_json(self.tokens),
            "prefix": self.prefix and self.prefix.to_dict(),
            "libraries": [as_json(library) for library in self.libraries],
            "inputs": [shift.to_dict() for shift in self.inputs],
            "changes": [
                {**change_json(change), "tokens": self.tokens_of(change)} for change in self.changes
            ],
        }


@public_api
def diff(
    before: Any,  # Any: whatever render() takes
    after: Any,
    *,
    inputs: tuple[Mapping[str, object], Mapping[str, object]] | None = None,
) -> PromptDiff:
    """Return what changed from one prompt to another.

    Each is a prompt, the result of :func:`render`, a :class:`ComparedRender`, a
    :class:`PromptRecord`, or a :class:`PromptFile` from a snapshot. A prompt is rendered without a
    model. ``inputs`` are the arguments of the two prompts, by name; without them, those in a record
    are used. Raises what ``render()`` raises, :class:`DataError` for a record without content, and
    :class:`OptionError` for ``inputs`` that are not two mappings.

    >>> from promptdsl import Section, System, diff, render
    >>> old, new = (render(System(Section("role", text))) for text in ("Be brief.", "Be kind."))
    >>> difference = diff(old, new)
    >>> [(change.kind, change.location, change.after) for change in difference.changes]
    [('changed', ('system', 'role'), 'Be kind.')]
    >>> difference.tokens.before, difference.tokens.after
    (10, 10)
    """
    prompts = before, after
    _check_inputs(inputs)
    arguments = [
        _arguments(prompt, inputs[index] if inputs else None)
        for index, prompt in enumerate(prompts)
    ]
    old, new = map(_compared, prompts)
    first, second = (
        prompt if isinstance(prompt, PromptFile) else prompt.file for prompt in (old, new)
    )
    both = None
    if isinstance(old, ComparedRender) and isinstance(new, ComparedRender):
        both = old, new
    # A snapshot has no versions. An added or removed library is already a change of the header.
    versions = dict(second.libraries)
    shifts = [
        LibraryShift(name, version, versions[name])
        for name, version in first.libraries
        if versions.get(name, version) != version
    ]
    all_changes = tuple(changes(first, second))
    return PromptDiff(
        first, second, all_changes, tuple(shifts), both, inputs=_input_shifts(*arguments)
    )


def _compared(prompt: Any) -> ComparedRender | PromptFile:  # Any: whatever render() takes
    if isinstance(prompt, ComparedRender | PromptFile):
        return prompt
    if isinstance(prompt, PromptRecord):
        return ComparedRender(record_rendered(prompt))
    return ComparedRender(prompt if isinstance(prompt, Rendered) else render(prompt))


def _check_inputs(inputs: object) -> None:
    """Raise :class:`OptionError` for inputs that are not a mapping for each of two prompts."""
    pair = inputs if is_list(inputs) else ()
    if inputs is not None and [is_mapping(mapping) for mapping in pair] != [True, True]:
        kind = type(inputs).__name__
        fix = 'write a mapping for each prompt: inputs=({"plan": "Pro"}, {"plan": "Free"})'
        raise OptionError(f"inputs must be a pair of mappings, not {kind}", fix=fix)


class _Arguments(NamedTuple):
    """The inputs of a prompt, and its budget with the reserve; ``None`` if they are not known."""

    inputs: Mapping[str, object] | None
    budget: Mapping[str, object] | None


def _arguments(
    prompt: Any,
    inputs: Mapping[str, object] | None,  # Any: a side of a diff
) -> _Arguments:
    """Return the inputs and the budget of a prompt; ``inputs`` replace those of a record."""
    if isinstance(prompt, PromptRecord):
        data = prompt.to_dict()
        return _Arguments(data.get("inputs") if inputs is None else inputs, data["budget"] or {})
    return _Arguments(inputs, None)


def _input_shifts(before: _Arguments, after: _Arguments) -> tuple[InputShift, ...]:
    """Return the inputs and the budget that changed, if they are known of both prompts."""
    shifts: list[InputShift] = []
    if before.inputs is not None and after.inputs is not None:
        for name in dict.fromkeys((*before.inputs, *after.inputs)):
            values = before.inputs.get(name, ABSENT), after.inputs.get(name, ABSENT)
            # By ``repr``, because ``==`` takes 1, 1.0 and True for equal.
            if repr(values[0]) != repr(values[1]):
                shifts.append(InputShift("input", name, *values))
    if before.budget is not None and after.budget is not None:
        for key, kind in BUDGET_KEYS.items():
            limits = before.budget.get(key), after.budget.get(key)
            # A reserve of 0 is the same as no reserve.
            if (limits[0] or None) != (limits[1] or None):
                shifts.append(InputShift(kind, "", *limits))
    return tuple(shifts)
