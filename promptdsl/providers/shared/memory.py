"""What was written of long conversations: one that has grown is written from where it grew.

What a message is written as depends on earlier ones only, so it is kept with all that later ones
depend on: a passage, from which the next request of the conversation goes on. It holds where the
messages before that are the very same; a few that are made for each request, such as the system
text, may be equal instead.

A passage hangs weakly on the message behind it, which it is not about: it goes when that goes, and
when the conversation has become so long that there are two longer ones.
"""

# What a block is told by its exact type, which tells a checker less than isinstance.
# pyright: reportUnknownVariableType=false

from collections.abc import Iterator, Sequence
from itertools import compress, count
from operator import attrgetter, is_not
from typing import Any, get_args
from weakref import ref

import attrs

from promptdsl.messages import MediaBlock, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.loss import Loss
from promptdsl.messages.message import Message
from promptdsl.messages.roles import FLEETING
from promptdsl.providers.shared.request import Mark, Param, Request

_REACH = 16
"""How far before where it would be best a passage may end."""
_TRIES = 4
"""How many messages are looked for in all before them."""


@attrs.define(eq=False)
class Counted:
    """What was counted of entries, each with what counted it: of two of these, the last ones."""

    results: tuple[tuple[object, Any], ...] = ()

    def by(self, counter: object) -> Any:
        """Return what a counter counted, ``None`` where it did not."""
        return next((result for known, result in self.results if known is counter), None)

    def keep(self, counter: object, result: Any) -> None:
        """Keep what a counter counted."""
        others = [pair for pair in self.results if pair[0] is not counter]
        self.results = ((counter, result), *others[:1])


@attrs.frozen(eq=False)
class Passage:
    """What was written of the first messages of a conversation, as far as later ones need it.

    ``anchor`` is the message behind them. ``opening`` is what was known before the first of them,
    ``state`` what was known behind the last. No later message changes one of the first ``settled``
    entries; ``counted`` is what these, or the first of them, are in tokens.
    """

    messages: tuple[Message, ...]
    anchor: "ref[Message]"
    depends: tuple[Any, ...]
    opening: dict[str, Any]
    state: dict[str, Any]
    entries: list[Param]
    settled: int
    losses: tuple[Loss, ...]
    marks: tuple[Mark, ...]
    counted: "Counted"
    before: "ref[Passage] | None" = None
    """The shorter one that it goes on from."""


@attrs.define(eq=False)
class Memory:
    """The passages of the conversations that were written last.

    A conversation of ``least`` messages or more has one. It leaves out the ``newest`` of them, as
    they may be gone the next time. When it is ``behind`` messages longer it has another one, and
    keeps these two, as somebody may go back. At ``most`` so many are kept of all conversations.
    """

    least: int = 200
    newest: int = 4
    behind: int = 32
    most: int = 32
    # Changed by single operations on a dictionary, each of which is done before the next thread's.
    passages: dict[int, Passage] = attrs.field(factory=dict[int, Passage], init=False)

    def found(
        self, request: Request, opening: dict[str, Any]
    ) -> tuple[Passage, dict[int, Message]] | None:
        """Return the longest passage a request may go on from, and what is equal to it there.

        That is, by the id of a message of the passage, the one in its place.
        """
        passages = sorted(self.passages.copy().values(), key=_length, reverse=True)
        for passage in passages:
            stop = len(passage.messages)
            if stop >= len(request.messages) or passage.anchor() is not request.messages[stop]:
                continue
            if request.depends(stop) != passage.depends or opening != passage.opening:
                continue
            equal = _equal_ones(passage.messages, request.messages)
            if equal is not None:
                if self.passages.pop(id(passage), None):
                    self.passages[id(passage)] = passage
                return passage, equal
        return None

    def keep(self, passage: Passage) -> None:
        """Keep a passage, of those it goes on from the last one, and of all those used last."""
        self.passages[id(passage)] = passage
        known = passage.before and passage.before()
        if known and known.before:
            self.passages.pop(id(known.before()), None)
        for key in [*self.passages.copy()][: -self.most]:
            self.passages.pop(key, None)

    def forget(self, anchor: "ref[Message]") -> None:
        """Forget the passage that hangs on a message, which is gone."""
        for key, passage in self.passages.copy().items():
            if passage.anchor is anchor:
                self.passages.pop(key, None)

    def end(self, messages: Sequence[Message], start: int) -> int:
        """Return where a passage of these messages ends, 0 for none that would be worth it.

        Not behind the last request-only message, which may be another the next time, unless it
        stands far ahead. A message that belongs to a conversation is better than one that was made
        for the request; one that stands elsewhere in it, too, would never go.
        """
        length = len(messages)
        kinds = map(_kind, reversed(messages[max(start, length // 2) :]))
        fleeting = compress(count(1), map(_FLEETING.__contains__, kinds))
        stop = length - next(fleeting, 0) - self.newest
        if stop - start < self.behind:
            return 0
        places = range(stop, max(stop - _REACH, start), -1)
        lasting = [place for place in places if not messages[place].origins] or [stop]
        alone = (p for p in lasting[:_TRIES] if id(messages[p]) not in map(id, messages[:p]))
        return next(alone, 0)


_kind = attrgetter("kind")
_FLEETING = frozenset(FLEETING)


def _length(passage: Passage) -> int:
    return len(passage.messages)


def _equal_ones(known: Sequence[Message], given: Sequence[Message]) -> dict[int, Message] | None:
    """Return by the id of a known message the equal one in its place, ``None`` for another one.

    What is the same object is left out.
    """
    equal: dict[int, Message] = {}
    for place in compress(count(), map(is_not, known, given)):
        if not _is_equal(known[place], given[place]):
            return None
        equal[id(known[place])] = given[place]
    return equal


def _is_equal(one: Message, other: Message) -> bool:
    """Return whether two messages are the same to the byte, as far as that is quickly told."""
    if (one.role, one.kind) != (other.role, other.kind) or one.details != other.details:
        return False
    if one.plain is not None or other.plain is not None:
        return one.plain == other.plain
    blocks, others = one.content, other.content
    return len(blocks) == len(others) and all(map(_is_same, blocks, others))


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    kind = type(one)
    # Values in an extra may be equal, such as 1 and True, and yet be sent as different bytes.
    if kind is not type(other) or kind not in _STRINGS or one.extra is not other.extra:
        return False
    if kind is not ToolResultBlock:
        return bool(one == other)
    if any(getattr(one, key) != getattr(other, key) for key in _ANSWERED):
        return False
    inner, others = one.content, other.content
    return len(inner) == len(others) and all(map(_is_same, inner, others))


_STRINGS = frozenset({TextBlock, ToolUseBlock, ToolResultBlock, *get_args(MediaBlock)})
"""The blocks that are made of strings, and of further keys."""
_ANSWERED = ("tool_use_id", "name", "is_error", "error_type", "cache")


@attrs.define(eq=False)
class Recall:
    """One request that is written with a memory; ``passage`` is what holds of it the next time."""

    memory: Memory
    passage: Passage | None = None

    def spans(self, request: Request) -> Iterator[tuple[int, int]]:
        """Yield the indices from which and up to which the messages are not known yet.

        What the first of two spans came to is kept when the second is asked for: what is written
        then is known the next time.
        """
        opening = request.state()
        before = (len(request.losses), len(request.marks))
        found = self.memory.found(request, opening)
        start = 0
        if found is not None:
            self.passage, request.equal = found
            start = len(self.passage.messages)
            _go_on(request, self.passage)
        stop = self.memory.end(request.messages, start)
        if stop:
            yield start, stop
            self._keep(request, stop, opening, before)
        yield max(start, stop), len(request.messages)

    def _keep(
        self, request: Request, stop: int, opening: dict[str, Any], before: tuple[int, int]
    ) -> None:
        known, lasting = self.passage, request.lasting()
        # Losses and marks are of the messages that were written, not of those equal to them.
        written = known.messages if known else ()
        passage = Passage(
            messages=(*written, *request.messages[len(written) : stop]),
            anchor=ref(request.messages[stop], self.memory.forget),
            depends=request.depends(stop),
            opening=opening,
            state=request.state(),
            entries=request.entries.copy(),
            settled=lasting,
            losses=tuple(request.losses[before[0] :]),
            marks=tuple(request.marks[before[1] :]),
            counted=Counted(known.counted.results if known else ()),
            before=ref(known) if known else None,
        )
        request.part(lasting)
        self.memory.keep(passage)
        self.passage = passage


def _go_on(request: Request, passage: Passage) -> None:
    """Give a request what a passage knows, and of what may still change its own copy."""
    _set_all(request, passage.state)
    _set_all(request, request.state())
    request.entries = passage.entries.copy()
    request.part(passage.settled)
    request.losses += passage.losses
    request.marks += passage.marks


def _set_all(request: Request, state: dict[str, Any]) -> None:
    for name, value in state.items():
        setattr(request, name, value)
