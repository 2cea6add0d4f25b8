"""What a page shows: prompts, and the requests of each prompt.

Read :class:`PagePrompt` first, then :class:`PageRequest`. :func:`request_of` makes the requests.
"""

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, TypeAlias

import attrs

from promptdsl import (
    BudgetError,
    DataError,
    LogEntry,
    Node,
    OptionError,
    Prompt,
    PromptError,
    PromptLog,
    PromptRecord,
    Rendered,
    provider_names,
)
from promptdsl.batch import (
    InputsSource,
    NamedInputs,
    named_inputs,
    rendered_prompt,
    user_frames,
)
from promptdsl.comparing import ComparedRender, PromptFile, record_rendered
from promptdsl.foundation.errors import shown
from promptdsl.foundation.json import JsonDict
from promptdsl.foundation.source import author, public_api

Shown: TypeAlias = Node | Prompt | Rendered | PromptRecord | LogEntry | BaseException
"""What a page shows as a request; an exception is a request that could not be made."""
LINES_AROUND = 3
"""The number of lines of code that a page shows before and after the line of an error."""


@attrs.frozen
class PagePrompt:
    """A prompt of a page: its name, its requests in order, and its ``inputs``.

    ``inputs`` are the arguments of the function that made the prompt. ``inputs_name`` is the name
    of these arguments; the page shows it after the name of the prompt. The first request is
    compared with the snapshot ``before``; the page does not show that snapshot.

    >>> from promptdsl import System
    >>> from promptdsl.page import PagePrompt
    >>> PagePrompt("support", (System("Be kind."),)).name
    'support'
    """

    name: str
    requests: Sequence[Shown]
    inputs: Mapping[str, object] | None = None
    inputs_name: str | None = None
    before: PromptFile | None = None

    @property
    def title(self) -> str:
        """The name of the prompt, then the name of its arguments, if they have one."""
        return self.name if self.inputs_name is None else f"{self.name} ({self.inputs_name})"


class PageRequest:
    """A request of a page; each subclass is for requests from one origin.

    ``rendered`` is the render of the request. It is ``None`` if the request has an ``error``, and
    for a record that cannot be rendered again. ``at`` and ``id`` are those in a log.
    """

    at: str | None = None
    id: str | None = None
    error: JsonDict | None = None
    rendered: Rendered | None = None
    is_rendered_here = False
    """Whether the payload of ``rendered`` is what is sent: a record was sent by an older render."""

    @cached_property
    def side(self) -> ComparedRender | PromptFile | None:
        """The request as an argument of :func:`diff`; ``None`` if there is no render."""
        return None if self.rendered is None else ComparedRender(self.rendered)

    def record(self, inputs: Mapping[str, object] | None) -> PromptRecord | None:
        """Return the record of the request; ``None`` if there is no render."""
        return None if self.rendered is None else self.rendered.record(inputs)

    def rendered_for(self, target: str) -> Rendered:
        """Return the render of the request for another model or provider."""
        raise NotImplementedError


class FromPrompt(PageRequest):
    """The request that a prompt makes now."""

    is_rendered_here = True

    def __init__(self, prompt: Node | Prompt, options: Mapping[str, Any]) -> None:
        self._options = options
        self._render: Callable[[Mapping[str, Any]], Rendered] = partial(rendered_prompt, prompt)
        try:
            self.rendered = self._render(options)
        except Exception as error:
            self.error = error_data(error)

    def rendered_for(self, target: str) -> Rendered:
        """Return the render of the prompt for another target; the other options stay the same."""
        return self._render({**self._options, "provider": None, "model": None, **named(target)})

    def at_budget(self, budget: int) -> Rendered:
        """Return the render of the prompt with another budget."""
        return self._render({**self._options, "budget": budget})


class FromRendered(PageRequest):
    """A request that the caller rendered, for one target."""

    is_rendered_here = True

    def __init__(self, rendered: Rendered) -> None:
        self.rendered = self._rendered = rendered

    def rendered_for(self, target: str) -> Rendered:
        """Return the render for another provider, or the same render for its model."""
        if target == self._rendered.facts.model:
            return self._rendered
        if target in provider_names():
            return self._rendered.for_target(named(target)["provider"])
        what = f"this rendered prompt is only for {self._rendered.facts.model or 'no model'}"
        raise OptionError(what, fix=f"give the prompt itself to see it for {target}")


class FromRecord(PageRequest):
    """A request of the past, from its record."""

    def __init__(self, record: PromptRecord) -> None:
        self._record = record
        if record.to_dict()["content"]:
            # The target may be unknown here, or a key may be missing. The record is shown anyway.
            with suppress(Exception):
                self.rendered = record_rendered(record)

    def record(self, inputs: Mapping[str, object] | None) -> PromptRecord | None:
        """Return the record."""
        del inputs
        return self._record

    def rendered_for(self, target: str) -> Rendered:
        """Return the render of the messages of the record for another target."""
        prompt = self._record.prompt
        options = {"tool_choice": prompt.tool_choice, "hints": False, **named(target)}
        return rendered_prompt(prompt, options)


class FromSnapshot(PageRequest):
    """A request that has only a snapshot, for the comparison with the next request."""

    def __init__(self, snapshot: PromptFile) -> None:
        self._snapshot = snapshot

    @cached_property
    def side(self) -> PromptFile:
        """The snapshot."""
        return self._snapshot


class FromError(PageRequest):
    """A request that could not be made."""

    def __init__(self, error: BaseException) -> None:
        self.error = error_data(error)


def request_of(request: Shown, options: Mapping[str, Any]) -> PageRequest:  # Any: render options
    """Return the request for an argument.

    Raises :class:`OptionError` for an object that is not one of :data:`Shown`.
    """
    match request:
        case Node() | Prompt():
            return FromPrompt(request, options)
        case Rendered():
            return FromRendered(request)
        case PromptRecord():
            return FromRecord(request)
        case LogEntry():
            logged: PageRequest
            try:
                logged = FromRecord(PromptRecord.from_dict(request.record))
            except DataError as error:
                logged = FromError(error)
            logged.at, logged.id = request.at, request.id
            return logged
        case BaseException():
            return FromError(request)
        case _:
            what = f"a page cannot show {shown(request)}"
            fix = "give a prompt, a Rendered, a PromptRecord, a LogEntry or a PromptLog"
            raise OptionError(what, fix=fix, at=(author(),))


def prompts_of(targets: Iterable[object]) -> list[PagePrompt]:
    """Return the prompts of the targets; a log has a prompt for each name of its entries."""
    prompts: list[PagePrompt] = []
    for number, target in enumerate(targets, 1):
        if isinstance(target, PagePrompt):
            prompts.append(target)
        elif isinstance(target, PromptLog):
            prompts += prompts_of_entries(target.read())
        else:
            request: Any = target  # ``request_of`` checks its class
            prompts.append(PagePrompt(f"prompt {number}", (request,)))
    return prompts


@public_api
def prompts_of_inputs(
    function: Callable[..., Any],  # Any: a prompt
    inputs: InputsSource,
    *,
    name: str | None = None,
) -> list[PagePrompt]:
    """Call a function with each of the inputs, and return a prompt of a page for each call.

    ``inputs`` are a mapping from names to arguments, or a function that returns one. ``name`` is
    the name of the prompts, by default the name of the function. If a call fails, the page shows
    its error. Raises what :func:`promptdsl.batch.named_inputs` raises.

    >>> from promptdsl import Timeline, User
    >>> from promptdsl.page import prompts_of_inputs
    >>> def ask(question):
    ...     return Timeline(User(question))
    >>> inputs = {"short": {"question": "Why?"}, "long": {"question": "Why? " * 99}}
    >>> [prompt.title for prompt in prompts_of_inputs(ask, inputs)]
    ['ask (short)', 'ask (long)']
    """
    title = str(name or getattr(function, "__name__", "prompt"))
    return [_prompt_of_case(function, case, title) for case in named_inputs(inputs)]


def _prompt_of_case(function: Callable[..., Any], case: NamedInputs, name: str) -> PagePrompt:
    """Return the prompt of a call; if the call fails, its error is the request."""
    try:
        request: Shown = case.prompt_of(function)
    except Exception as error:
        request = error
    return PagePrompt(name, (request,), case.data, case.name)


def prompts_of_entries(entries: Iterable[LogEntry]) -> list[PagePrompt]:
    """Return a prompt for each name of the entries of a log."""
    by_name: dict[str, list[LogEntry]] = {}
    for log_entry in entries:
        by_name.setdefault(log_entry.name or "without a name", []).append(log_entry)
    return [PagePrompt(name, tuple(requests)) for name, requests in by_name.items()]


def named(target: str) -> dict[str, Any]:  # Any: options of a render
    """Return the option of a render for a target: ``provider`` or ``model``, with its name."""
    return {"provider" if target in provider_names() else "model": target}


def error_data(error: BaseException) -> JsonDict:
    """Return an error as JSON data: what is wrong, the fix, its lines, and code at the first."""
    if isinstance(error, PromptError):
        # The line in a template comes first: the mistake is there.
        template_line = getattr(error, "template_line", None)
        at = [line for line in (template_line, *error.at) if line is not None]
        data: JsonDict = {"what": error.what, "fix": error.fix, "at": at}
    elif isinstance(error, SyntaxError):
        lines = [f"{error.filename}:{error.lineno}"] if error.filename else []
        data = {"what": f"{type(error).__name__}: {error.msg}", "fix": "", "at": lines}
    else:
        text = "".join(traceback.format_exception_only(error)).rstrip()
        lines = [f"{frame.filename}:{frame.lineno}" for frame in user_frames(error)[-1:]]
        data = {"what": text, "fix": "", "at": lines}
    if isinstance(error, BudgetError):
        data |= {"budget": error.budget, "required": error.required, "rows": error.rows}
    data["code"] = _code_around(data["at"][0]) if data["at"] else []
    return data


def _code_around(location: str) -> list[JsonDict]:
    """Return the lines of code around a line, with their numbers; empty for a missing file."""
    import linecache

    file, _, digits = location.rpartition(":")
    line_number = int(digits) if digits.isdecimal() else 0
    lines = linecache.getlines(file)
    first, last = max(line_number - LINES_AROUND, 1), min(line_number + LINES_AROUND, len(lines))
    return [
        {"line": number, "text": lines[number - 1].rstrip("\n")}
        for number in range(first, last + 1)
    ]
