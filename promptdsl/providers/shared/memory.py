"""The memory of long conversations: one that has grown is written from where it grew.

The entries of a message depend on earlier messages only. So they are kept as a passage, with the
state that later messages need, and the next request of the conversation goes on from there. A
passage holds where its messages are the same objects; the few that are made anew for each request,
such as the system text, may be equal instead.

A passage is held weakly by the message after it, which is not part of it: it goes when that goes,
and when the conversation has become so long that there are two longer passages.
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
"""How many messages before the best place a passage may end."""
_TRIES = 4
"""How many candidates are looked for among all messages before them."""


@attrs.define(eq=False)
class Counted:
    """Token counts of entries, each with its counter; those of the latest two are kept."""

    results: tuple[tuple[object, Any], ...] = ()

    def by(self, counter: object) -> Any:
        """Return the result of a counter, ``None`` where it has none."""
        return next((result for known, result in self.results if known is counter), None)

    def keep(self, counter: object, result: Any) -> None:
        """Keep the result of a counter."""
        others = [pair for pair in self.results if pair[0] is not counter]
        self.results = ((counter, result), *others[:1])


@attrs.frozen(eq=False)
class Passage:
    """The cache of writing a conversation: the entries of its first messages, and the state after.

    The cache of reading one is a ``Recording`` in ``messages/conversation_cache.py``.
    ``anchor`` is the message after them. ``opening`` is the state before the first of them,
    ``state`` the state after the last. No later message changes one of the first ``settled``
    entries; ``counted`` are the tokens of these, or of the first of them.
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
    """The shorter passage that it goes on from."""


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

        It ends before the last request-only message, which may be another the next time, unless
        that is far from the end. The message after a passage is better one of the conversation than
        one made for the request, and not one that is in the passage, too: it would never go.
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
    """Return the equal messages by the id of the known ones, ``None`` where one is not equal.

    Messages that are the same object are left out.
    """
    equal: dict[int, Message] = {}
    for place in compress(count(), map(is_not, known, given)):
        if not _is_equal(known[place], given[place]):
            return None
        equal[id(known[place])] = given[place]
    return equal


def _is_equal(one: Message, other: Message) -> bool:
    """Return whether two messages are surely the same to the byte."""
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
    if kind is not type(other) or kind not in _COMPARABLE or one.extra is not other.extra:
        return False
    if kind is not ToolResultBlock:
        return bool(one == other)
    if any(getattr(one, key) != getattr(other, key) for key in _ANSWERED):
        return False
    inner, others = one.content, other.content
    return len(inner) == len(others) and all(map(_is_same, inner, others))


_COMPARABLE = frozenset({TextBlock, ToolUseBlock, ToolResultBlock, *get_args(MediaBlock)})
"""The blocks that are made of strings alone, and so are the same bytes when they are equal.

An equal message with another block costs the memory: all from that message on is written anew.
"""
_ANSWERED = ("tool_use_id", "name", "is_error", "error_type", "cache")


@attrs.define(eq=False)
class Recall:
    """The writing of one request with a memory; ``passage`` is what the next request can use."""

    memory: Memory
    passage: Passage | None = None

    def spans(self, request: Request) -> Iterator[tuple[int, int]]:
        """Yield the spans of messages that are not known yet, each as its start and stop.

        The caller writes each span before it asks for the next one. The entries of the first of two
        spans are kept, so that the next request goes on from there.
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
    """Give a request the state of a passage, with a copy of its own of what may still change."""
    _set_all(request, passage.state)
    _set_all(request, request.state())
    request.entries = passage.entries.copy()
    request.part(passage.settled)
    request.losses += passage.losses
    request.marks += passage.marks


def _set_all(request: Request, state: dict[str, Any]) -> None:
    for name, value in state.items():
        setattr(request, name, value)
