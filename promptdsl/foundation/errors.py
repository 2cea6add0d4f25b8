"""The errors of promptdsl: one family, which ``docs/errors.md`` shows as a tree.

The last function imports a package of an extra, or raises the error that names the extra.
"""

from collections.abc import Collection, Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Self, TypeGuard

from promptdsl.foundation.unicode import exact, on_one_line

# The errors of promptdsl: one family, which ``docs/errors.md`` shows as a tree.
#
# Every message says what is wrong, where the author wrote it (``file:line``), and what to do.

LONGEST_SHOWN = 60
"""The most characters of a value in an error."""
_ALIKE = 0.65
"""How alike a name and its misspelling are at least, for difflib: ``xlm`` and ``xml`` are 0.67."""


class PromptError(ValueError):
    """The root of every error that promptdsl raises on purpose.

    ``what`` is the problem, ``fix`` the advice, ``at`` the lines that it concerns, each as
    ``file:line``, the most important first.

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
        """Return this error with ``place`` as its line, unless it already has one."""
        if not self.at and location is not None:
            self.at = (str(location),)
            self.args = (self._full_text(),)
        return self


class OptionError(PromptError, TypeError):
    """An unknown keyword, a wrong value for one, or an argument too many or too few.

    >>> from promptdsl import OptionError, System
    >>> try:
    ...     System("Be brief.", priorty=1)
    ... except OptionError as error:
    ...     print(error.what, "-", error.fix)
    System() takes no 'priorty' - did you mean 'priority'?
    """


class ContentError(PromptError, TypeError):
    """A value given as content that is not content.

    >>> from promptdsl import ContentError, User
    >>> try:
    ...     User(["Hi."])
    ... except ContentError as error:
    ...     print(error.what)
    a list cannot be content of a User
    """


class PlacementError(PromptError):
    """A component inside another one that does not allow it.

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
    """A section library, or a section of one, that is missing or cannot be loaded.

    >>> from promptdsl import LibraryError, Template
    >>> try:
    ...     Template("suport:refunds")
    ... except LibraryError as error:
    ...     print(error.what)
    there is no library 'suport'
    """


class TokenizerError(PromptError):
    """An encoding, needed to count tokens, that is unknown or not installed.

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

    ``limit`` is the number of tokens for the prompt and ``required`` the least that it needs.
    ``largest`` lists the required parts, the largest first, each with ``what``, ``tokens`` and its
    line.

    As JSON data, ``budget`` has the ``limit`` of the render, the ``reserve`` for the answer and the
    ``room`` that is left for the prompt. ``rows`` are all required parts with ``depth``, ``what``,
    ``tokens`` and ``source``: those of depth 0 add up to ``required``.

    >>> from promptdsl import BudgetError, User, render
    >>> try:
    ...     render(User("one two three"), budget=9, reserve=4, counter=len)
    ... except BudgetError as error:
    ...     print(error.limit, error.required, error.budget)
    ...     print([(row["what"], row["tokens"]) for row in error.rows])
    5 23 {'limit': 9, 'reserve': 4, 'room': 5}
    [('user turn', 20), ("the target's own form", 3)]
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
    """A change of a transcript that is refused, or a file that cannot be read or written.

    Nothing was changed.

    >>> from promptdsl import Transcript, TranscriptError
    >>> try:
    ...     Transcript().undo()
    ... except TranscriptError as error:
    ...     print(error.what)
    there is no change to undo
    """


class ConflictError(TranscriptError):
    """Another writer has a transcript open, or was faster.

    ``entries`` are those that ``acommit()`` could not write.

    >>> from promptdsl import ConflictError, TranscriptError
    >>> issubclass(ConflictError, TranscriptError)
    True
    """

    entries: tuple[Any, ...] = ()  # Any: TranscriptEntry, of a package above


class SubscriberError(TranscriptError):
    """A subscriber of a transcript failed. ``entry`` is recorded: do not append it again.

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
    """Raised by the function of a tool, with a text that the model reads as its result.

    Of any other exception the model reads only that the tool failed.

    >>> from promptdsl import ToolError, ToolUseBlock, run_calls
    >>> def charges(invoice: int) -> list[float]:
    ...     raise ToolError("there is no such invoice")
    >>> call = ToolUseBlock("call_1", "charges", '{"invoice": 7}')
    >>> [result.text for result in run_calls([call], [charges])]
    ['there is no such invoice']
    """


class TargetError(PromptError):
    """A payload for another provider than the one that the prompt was rendered for.

    >>> from promptdsl import TargetError, User, render
    >>> try:
    ...     render(User("Hi."), provider="anthropic").to_openai()
    ... except TargetError as error:
    ...     print(error.what)
    this was rendered for anthropic, so it has no to_openai()
    """


class LossError(PromptError):
    """Content that the provider does not accept, where ``strict=True`` forbids to leave it out.

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

    For a value that cannot be printed, such as a database row without a session, it is its type.
    """
    try:
        text = on_one_line(repr(value))
    except Exception:
        text = f"<{type(value).__name__} that cannot be printed>"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def shown_name(value: object) -> str:
    """Return a key or a word of an author's data; of another type, as :func:`shown` returns it."""
    return exact(value) if isinstance(value, str) else shown(value)


def is_one_of(value: object, known: Collection[str]) -> TypeGuard[str]:
    """Return whether an author's value is one of some strings.

    Values of other types are not compared: ``==`` of an array is no boolean.
    """
    return isinstance(value, str) and exact(value) in known


def close_names(name: object, known: Iterable[str]) -> list[str]:
    """Return the known names that an author may have misspelt as ``name``, the nearest first."""
    from difflib import get_close_matches

    return get_close_matches(shown_name(name), sorted(known), cutoff=_ALIKE)


def nearest(name: object, known: Iterable[str]) -> str:
    """Return ``"did you mean 'x'?"`` for the nearest known name, else the list of known names."""
    names = sorted(known)
    close = close_names(name, names)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(map(on_one_line, names))}" if names else "it takes no options"


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
    """Return what to do without the packages of an extra, from a checkout or from an index."""
    return f"install the extra `{extra}` of promptdsl"
