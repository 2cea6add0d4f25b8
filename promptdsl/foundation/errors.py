"""The errors of promptdsl: one family, which ``docs/errors.md`` shows as a tree.

Every message says what is wrong, where the author wrote it (``file:line``), and what to write. At
the end are functions for such messages, and a function that imports a package of an extra.
"""

from collections.abc import Collection, Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Self, TypeGuard

from promptdsl.foundation.unicode import exact, on_one_line

LONGEST_SHOWN = 60
"""The maximum number of characters of a value in an error."""
_ALIKE = 0.65
"""The lowest similarity, by difflib, of a name and its misspelling: ``xlm`` is 0.67 of ``xml``."""


class PromptError(ValueError):
    """The root of every error that promptdsl raises on purpose.

    ``what`` is the problem, ``fix`` the advice. ``at`` are the lines that the problem is about,
    each as ``file:line``, the most important first.

    >>> from promptdsl import PromptError, Text
    >>> try:
    ...     Text(True)
    ... except PromptError as error:
    ...     print(error.what)
    True cannot be content of a Text
    """

    what: str
    fix: str
    at: tuple[str, ...]

    def __init__(self, what: str, *, fix: str = "", at: Iterable[object] = ()) -> None:
        self.what = what
        self.fix = fix
        self.at = tuple(str(location) for location in at if location is not None)
        super().__init__(self._full_text())

    def _full_text(self) -> str:
        first = f"{self.at[0]}: {self.what}" if self.at else self.what
        also = [
            f"  see also {location}"
            for location in dict.fromkeys(self.at)
            if location != self.at[0]
        ]
        advice = [f"  {self.fix}"] if self.fix else []
        return "\n".join([first, *also, *advice])

    def located(self, location: object) -> Self:
        """Return this error with ``location`` as its line, unless the error already has a line."""
        if not self.at and location is not None:
            self.at = (str(location),)
            self.args = (self._full_text(),)
        return self


class OptionError(PromptError, TypeError):
    """An unknown keyword, a keyword with a wrong value, or too many or too few arguments.

    >>> from promptdsl import OptionError, System
    >>> try:
    ...     System("Be brief.", priorty=1)
    ... except OptionError as error:
    ...     print(error.what, "-", error.fix)
    System() takes no 'priorty' - did you mean 'priority'?
    """


class ContentError(PromptError, TypeError):
    """A value that cannot be the content of a component.

    >>> from promptdsl import ContentError, User
    >>> try:
    ...     User(["Hi."])
    ... except ContentError as error:
    ...     print(error.what)
    a list cannot be content of a User
    """


class PlacementError(PromptError):
    """A component inside another component that does not allow it.

    >>> from promptdsl import PlacementError, System, User
    >>> try:
    ...     System(User("Hi."))
    ... except PlacementError as error:
    ...     print(error.what)
    a User cannot be in a System
    """


class ScopeError(PromptError):
    """A block that is entered twice, left out of order, or changed after it closed.

    Also raised when a task writes into the block of another task.

    >>> from promptdsl import ScopeError, System
    >>> with System("Be brief.") as system:
    ...     pass
    >>> try:
    ...     system.__enter__()
    ... except ScopeError as error:
    ...     print(error.what)
    this System cannot be opened again: its block is closed
    """


class UnknownNameError(PromptError, AttributeError):
    """An attribute or a method that an object does not have.

    >>> from promptdsl import UnknownNameError, User, render
    >>> try:
    ...     render(User("Hi.")).loses
    ... except UnknownNameError as error:
    ...     print(error.what, "-", error.fix)
    a Rendered has no 'loses' - did you mean 'losses'?
    """


class DataError(PromptError):
    """Data that cannot be read, such as the dictionary of a block or a message.

    >>> from promptdsl import DataError, Message
    >>> try:
    ...     Message.from_dict({"role": "user", "contents": "Hi."})
    ... except DataError as error:
    ...     print(error.what, "-", error.fix)
    unknown key 'contents' in a message - did you mean 'content'?
    """


class ConfigError(PromptError):
    """A configuration with an unknown key or value.

    >>> from promptdsl import ConfigError, System, render
    >>> try:
    ...     render(System("Be brief."), transformation={"format": "html"})
    ... except ConfigError as error:
    ...     print(error.what)
    unknown format 'html'
    """


class MediaError(PromptError):
    """An attachment that cannot be read, or has another type than declared.

    >>> from promptdsl import Image, MediaError
    >>> try:
    ...     Image.from_bytes(b"%PDF-1.7")
    ... except MediaError as error:
    ...     print(error.what, "-", error.fix)
    an Image cannot be application/pdf - make it a Document
    """


class TemplateError(PromptError):
    """A template that is missing, or that lacks a variable.

    >>> from promptdsl import System, Template, TemplateError, render
    >>> try:
    ...     render(System(Template("Hello {{ name }}.")))
    ... except TemplateError as error:
    ...     print(error.what)
    there is no template 'Hello {{ name }}.'
    """

    template_line: str | None = None
    """The line in the file of the template, as ``file:line``, where it is known."""


class LibraryError(PromptError):
    """A section library, or a section in it, that is missing or cannot be loaded.

    >>> from promptdsl import LibraryError, Template
    >>> try:
    ...     Template("suport:refunds")
    ... except LibraryError as error:
    ...     print(error.what)
    there is no library 'suport'
    """


class TokenizerError(PromptError):
    """An encoding that is needed to count tokens, but is unknown or not installed.

    >>> from promptdsl import TokenizerError, register_model
    >>> from promptdsl.tokens import counter
    >>> with register_model("marvin-1", provider="openai", encoding="marvin_base"):
    ...     try:
    ...         counter("marvin-1").count("Hi.")
    ...     except TokenizerError as error:
    ...         print(error.what)
    unknown encoding 'marvin_base'
    """


class PairingError(PromptError):
    """A tool call without a result, or a result without a call.

    >>> from promptdsl import PairingError, Timeline, ToolMessage, render
    >>> try:
    ...     render(Timeline(ToolMessage("call_1", "21 degrees")))
    ... except PairingError as error:
    ...     print(error.what)
    there is no open tool call for the result 'call_1'
    """


class PendingToolCalls(PairingError):
    """The last tool calls have no results yet, so the payload cannot be sent.

    >>> from promptdsl import Assistant, PendingToolCalls, Timeline, ToolUse, User, render
    >>> prompt = Timeline(User("Hi."), Assistant(ToolUse("find", {}, id="call_1")))
    >>> try:
    ...     render(prompt, model="gpt-5").to_openai()
    ... except PendingToolCalls as error:
    ...     print(error.what)
    the last calls have no results yet: 'call_1'
    """


class BudgetError(PromptError):
    """The required parts of a prompt are larger than its budget.

    ``limit`` is the number of tokens for the prompt, and ``required`` the smallest number that the
    prompt needs. ``largest`` lists the required parts, the largest first, each with ``what``,
    ``tokens`` and its line.

    ``budget`` and ``rows`` are JSON data. ``budget`` has the ``limit`` of the render, the
    ``reserve`` that stays free, and the ``room`` that remains for the prompt. ``rows`` has all
    required parts with ``depth``, ``what``, ``tokens`` and ``source``. The rows of depth 0 add up
    to ``required``.

    >>> from promptdsl import BudgetError, User, render
    >>> try:
    ...     render(User("one two three"), budget=9, reserve=4, counter=len)
    ... except BudgetError as error:
    ...     print(error.limit, error.required, error.budget)
    ...     print([(row["what"], row["tokens"]) for row in error.rows])
    5 23 {'limit': 9, 'reserve': 4, 'room': 5}
    [('user turn', 20), ("the target's format", 3)]
    """

    limit: int
    required: int
    largest: tuple[Any, ...]  # Any: parts of a budget, a package above this one
    budget: dict[str, int]
    rows: list[dict[str, Any]]  # Any: JSON data

    def __init__(
        self,
        what: str,
        *,
        fix: str = "",
        at: Iterable[object] = (),
        limit: int = 0,
        required: int = 0,
        largest: Iterable[object] = (),
        budget: Mapping[str, int] | None = None,
        rows: Iterable[dict[str, Any]] = (),  # Any: JSON data
    ) -> None:
        super().__init__(what, fix=fix, at=at)
        self.limit = limit
        self.required = required
        self.largest = tuple(largest)
        self.budget = dict(budget or {})
        self.rows = [*rows]


class TranscriptError(PromptError):
    """A change that a transcript refuses, or a file that cannot be read or written.

    The transcript is unchanged.

    >>> from promptdsl import Transcript, TranscriptError
    >>> try:
    ...     Transcript().undo()
    ... except TranscriptError as error:
    ...     print(error.what)
    there is no change to undo
    """


class ConflictError(TranscriptError):
    """Another writer has the transcript open, or changed it first.

    ``entries`` are the entries that ``acommit()`` could not write.

    >>> from promptdsl import ConflictError, TranscriptError
    >>> issubclass(ConflictError, TranscriptError)
    True
    """

    entries: tuple[Any, ...] = ()  # Any: TranscriptEntry, of a package above


class SubscriberError(TranscriptError):
    """A subscriber of a transcript failed. The ``entry`` is recorded: do not append it again.

    >>> from promptdsl import SubscriberError, Transcript
    >>> transcript = Transcript()
    >>> end = transcript.subscribe(lambda entry: 1 / 0)
    >>> try:
    ...     transcript.append("Hi.")
    ... except SubscriberError as error:
    ...     print(error.entry.number, len(transcript))
    1 1
    """

    entry: Any  # Any: a TranscriptEntry, of a package above

    def __init__(
        self, what: str, *, fix: str = "", at: Iterable[object] = (), entry: object = None
    ) -> None:
        super().__init__(what, fix=fix, at=at)
        self.entry = entry


class ToolError(PromptError):
    """An error that the function of a tool raises with a text, which the model reads as its result.

    For any other exception, the model reads only that the tool failed.

    >>> from promptdsl import ToolError, ToolUseBlock, run_calls
    >>> def charges(invoice: int) -> list[float]:
    ...     raise ToolError("there is no such invoice")
    >>> call = ToolUseBlock("call_1", "charges", '{"invoice": 7}')
    >>> [result.text for result in run_calls([call], [charges])]
    ['there is no such invoice']
    """


class TargetError(PromptError):
    """A payload was asked for another provider than the prompt was rendered for.

    >>> from promptdsl import TargetError, User, render
    >>> try:
    ...     render(User("Hi."), provider="anthropic").to_openai()
    ... except TargetError as error:
    ...     print(error.what)
    this was rendered for anthropic, so it has no to_openai()
    """


class LossError(PromptError):
    """Content that the provider does not accept, and that ``strict=True`` forbids to leave out.

    >>> from promptdsl import Loss, LossError
    >>> losses = [Loss("content", "a video", "the provider takes none")]
    >>> try:
    ...     Loss.refuse(losses, "sent", fix="write a text")
    ... except LossError as error:
    ...     print(error.what, "-", error.fix)
    a video cannot be sent: the provider takes none - write a text
    """


def shown(value: object) -> str:
    """Return an author's value as an error shows it: on one line, and cut after 60 characters.

    A value that cannot be printed, such as a database row without a session, is shown as its type.
    """
    try:
        text = on_one_line(repr(value))
    except Exception:
        text = f"<{type(value).__name__} that cannot be printed>"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def shown_name(value: object) -> str:
    """Return a key or a word of an author's data; a value of another type as :func:`shown` does."""
    return exact(value) if isinstance(value, str) else shown(value)


def is_one_of(value: object, names: Collection[str]) -> TypeGuard[str]:
    """Return whether an author's value is one of some strings.

    Values of other types are not compared, because ``==`` of an array returns no boolean.
    """
    return isinstance(value, str) and exact(value) in names


def close_names(name: object, names: Iterable[str]) -> list[str]:
    """Return the ``names`` that an author may have misspelt as ``name``, the nearest first."""
    from difflib import get_close_matches

    return get_close_matches(shown_name(name), sorted(names), cutoff=_ALIKE)


def nearest(name: object, names: Iterable[str]) -> str:
    """Return ``"did you mean 'x'?"`` for the nearest of ``names``, else a list of all of them."""
    sorted_names = sorted(names)
    close = close_names(name, sorted_names)
    if close:
        return f"did you mean {close[0]!r}?"
    return (
        f"known: {', '.join(map(on_one_line, sorted_names))}"
        if sorted_names
        else "it takes no options"
    )


def misspelt(name: str, keys: Iterable[object]) -> str:
    """Return ``"'titel' should be 'title'"`` for a needed name and the nearest key, else ``""``."""
    close = close_names(name, map(shown_name, keys))
    return f"{close[0]!r} should be {name!r}" if close else ""


def with_article(name: str) -> str:
    """Return a name with its article: ``a User``, ``an 'image'``, ``an Untrusted``, ``a unit``."""
    word = name.lstrip("'").lower()
    has_vowel = word.startswith(("a", "e", "i", "o", "un")) and not word.startswith("uni")
    return f"an {name}" if has_vowel else f"a {name}"


def counted(count: int, noun: str, plural: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "loss", "losses"), counted(1200, "loss", "losses")
    ('1 loss', '1,200 losses')
    """
    return f"1 {noun}" if count == 1 else f"{count:,} {plural}"


# Packages of the extras: each is imported where it is used.


def require(module: str, extra: str) -> ModuleType:
    """Import a module of another library, and return it.

    Raises :class:`PromptError`, with the extra that installs it, when it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise PromptError(f"{error.name} is not installed", fix=install_advice(extra)) from None


def install_advice(extra: str) -> str:
    """Return how to install the packages of an extra."""
    return f"install the extra `{extra}` of promptdsl"
