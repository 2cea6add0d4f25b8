"""The write cache of long conversations, and copies of payloads that share no container."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, count
from operator import attrgetter, is_not, itemgetter
from typing import TYPE_CHECKING, Any
from weakref import ref

import attrs

from promptdsl.messages import Block, ToolResultBlock
from promptdsl.messages.details import FLEETING
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Loss
from promptdsl.providers.shared.request import Carrier, LocationNotes, Mark, Param, Request

if TYPE_CHECKING:
    from promptdsl.tokens.count import TextTokens
    from promptdsl.tokens.payloads import Tally


# Fast copies of payloads: a payload that a caller gets shares no container with another one.
#
# A payload of 5,000 short messages is copied in 0.9 ms; a plain recursive function takes 1.5 ms.

# An exact type is checked faster than by isinstance(), but a type checker learns less from it.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false


def fresh(payload: Param) -> Param:
    """Return a copy of a payload that shares no list and no dictionary with it.

    Only containers are copied; texts, bytes and numbers cannot be changed, and are shared.
    """
    copied: Param = _copied(payload)
    return copied


def _copied(value: Any) -> Any:  # Any: a value of JSON, known by its exact type
    if type(value) is not dict:
        return _copied_items(value) if type(value) is list else value
    copied = value.copy()
    # The keys of a copy stay the same, so values may be replaced during the loop.
    for key in copied:
        inner = copied[key]
        if type(inner) is not str:
            copied[key] = _copied(inner)
    return copied


def _copied_items(items: list[Any]) -> list[Any]:  # Any: as above
    """Return a copy of a list; fastest for entries with a single part, which are most common."""
    copies: list[Any] = []  # Any: as above
    for item in items:
        if type(item) is not dict:
            copies.append(_copied(item))
            continue
        copied = item.copy()
        copies.append(copied)
        for key in copied:
            inner = copied[key]
            if type(inner) is str:
                continue
            if type(inner) is list and len(inner) == 1 and type(inner[0]) is dict:
                part = inner[0].copy()
                copied[key] = [part]
                for name in part:
                    if type(part[name]) is not str:
                        part[name] = _copied(part[name])
            else:
                copied[key] = _copied(inner)
    return copies


# The write cache of long conversations: only the new messages of a conversation are written.
#
# The entries of a message depend on earlier messages only. They are kept as a cached write, with
# the state that later messages need, and the next request of the conversation continues from there.
# A cached write fits if the messages are the same objects. The few messages that are made for each
# request, such as the system text, may be equal objects instead.
#
# A cached write is forgotten when the message after it (its anchor, a weak reference) is gone, and
# when the conversation has two longer ones. Read ``Recall.spans`` first.

_kind = attrgetter("kind")
_FLEETING = frozenset(FLEETING)

_REACH = 16
"""The number of messages before the best index where a cached write may end."""
_TRIES = 4
"""The number of messages that are compared with all before them, to find an anchor."""


@attrs.frozen(eq=False)
class WriteCache:
    """A cached write: the entries of the first messages of a conversation, and the state after.

    The cache for reading is a ``ReadCache`` in ``messages/conversation_cache.py``. ``anchor`` is
    the message after ``messages``. ``opening`` is the state before the first message, ``state`` the
    state after the last one. No later message changes the first ``final_count`` entries.
    """

    messages: tuple[Message, ...]
    anchor: "ref[Message]"
    depends: tuple[object, ...]
    opening: dict[str, object]
    state: dict[str, object]
    entries: list[Param]
    final_count: int
    losses: tuple[Loss, ...]
    marks: tuple[Mark, ...]
    counted: "list[tuple[TextTokens, Tally]]"
    """The tokens of the final entries by counter, for the latest two counters."""
    before: "ref[WriteCache] | None" = None
    """The shorter cached write that this one continues."""


@attrs.define(eq=False)
class Memory:
    """The cached writes of the conversations that were written last.

    A conversation of at least ``least`` messages has a cached write, without its ``newest``
    messages, which the next request may not have. When it has grown by ``growth`` messages it gets
    a second one and keeps both, because an author may go back. ``most`` is the greatest number of
    cached writes of all conversations.
    """

    least: int = 16
    long: int = 200
    newest: int = 4
    growth: int = 8
    most: int = 256
    # Only changed by single operations on a dictionary, which no other thread can interrupt, and
    # read by ``list``: the garbage collector may call ``forget`` in the middle of a ``copy``.
    write_caches: dict[int, WriteCache] = attrs.field(factory=dict[int, WriteCache], init=False)

    def serves(self, messages: Sequence[Message]) -> bool:
        """Return whether the next request may repeat one of the last messages, and gain from it.

        With fewer than ``long`` messages, plain text gains nothing: writing it again is as fast.
        """
        last = messages[-self.newest - _REACH :]
        if len(messages) < self.long:
            last = [message for message in last if message._plain is None]
        return any(map(_lasts, last))

    def find(self, request: Request, opening: dict[str, object]) -> WriteCache | None:
        """Return the longest cached write with which the messages of a request begin."""
        anchored = [
            (stop, known)
            for known in list(self.write_caches.values())
            if (stop := len(known.messages)) < len(request.messages)
            and known.anchor() is request.messages[stop]
        ]
        for stop, write_cache in sorted(anchored, key=itemgetter(0), reverse=True):
            if request.depends(stop) != write_cache.depends or opening != write_cache.opening:
                continue
            others = compress(count(), map(is_not, write_cache.messages, request.messages))
            if all(_is_equal(write_cache.messages[n], request.messages[n]) for n in others):
                if self.write_caches.pop(id(write_cache), None):
                    self.write_caches[id(write_cache)] = write_cache
                return write_cache
        return None

    def keep(self, write_cache: WriteCache) -> None:
        """Keep a cached write and the one it continues, and of the others those used last."""
        self.write_caches[id(write_cache)] = write_cache
        known = write_cache.before and write_cache.before()
        if known and known.before:
            self.write_caches.pop(id(known.before()), None)
        for key in list(self.write_caches)[: -self.most]:
            self.write_caches.pop(key, None)

    def forget(self, anchor: "ref[Message]") -> None:
        """Forget the cached write before a message that is gone."""
        for write_cache in list(self.write_caches.values()):
            if write_cache.anchor is anchor:
                self.write_caches.pop(id(write_cache), None)

    def end(self, messages: Sequence[Message], start: int) -> int:
        """Return the index after the cached write of these messages, 0 if none is worth it.

        It ends before the last grounding, which the next request may not have, unless that is far
        from the end. The anchor is a message of the conversation, not one made for the request. It
        is not in the cached write, which would keep it alive.
        """
        length = len(messages)
        kinds = map(_kind, reversed(messages[max(start, length // 2) :]))
        fleeting = compress(count(1), map(_FLEETING.__contains__, kinds))
        stop = length - next(fleeting, 0) - self.newest
        if stop - start < self.growth:
            return 0
        indices = range(stop, max(stop - _REACH, start), -1)
        lasting = [index for index in indices if _lasts(messages[index])]
        alone = (n for n in lasting[:_TRIES] if id(messages[n]) not in map(id, messages[:n]))
        return next(alone, 0)


def _lasts(message: Message) -> bool:
    """Return whether a message can be in later requests: it was not made for this one."""
    return message._index < 0 and not message._at


def _is_equal(known: Message, message: Message) -> bool:
    """Return whether two messages are certainly sent as the same bytes."""
    if (known.role, known.kind, known._details) != (message.role, message.kind, message._details):
        return False
    if known._plain is not None or message._plain is not None:
        return known._plain == message._plain
    return _are_same(known.content, message.content)


def _are_same(known: Sequence[Block], blocks: Sequence[Block]) -> bool:
    """Return whether blocks are certainly sent as the same bytes.

    That is certain for the same object, and for equal blocks that consist of strings.
    """
    if len(known) != len(blocks):
        return False
    for before, block in zip(known, blocks, strict=True):
        if before is block:
            continue
        if type(before) is not type(block) or not isinstance(block, Carrier):
            return False
        if isinstance(before, ToolResultBlock) and isinstance(block, ToolResultBlock):
            keys = ("tool_use_id", "name", "is_error", "error_type", "cache")
            same = all(getattr(before, key) == getattr(block, key) for key in keys)
            same = same and _are_same(before.content, block.content)
        else:
            same = before == block
        # Values in an extra may be equal, such as 1 and True, and yet be sent as different bytes.
        if not same or getattr(before, "extra", None) is not block.extra:
            return False
    return True


@attrs.define(eq=False)
class CachedWrite:
    """The use of a memory in one request; ``write_cache`` is the cached write for the next request.

    Without a memory, the write has ``notes`` about the location of each block instead.
    """

    memory: Memory | None
    notes: LocationNotes | None = None
    write_cache: WriteCache | None = None

    def spans(self, request: Request) -> Iterator[tuple[int, int]]:
        """Yield the start and stop of each span of messages that must be written.

        The caller writes a span before it asks for the next one. If there are two, the entries of
        the first are kept, and the next request continues from there.
        """
        if self.memory is None:
            request.notes = self.notes
            yield 0, len(request.messages)
            return
        opening = request.state()
        losses, marks = len(request.losses), len(request.marks)
        start = 0
        if known := self.memory.find(request, opening):
            self.write_cache = known
            request.recalled = True
            start = len(known.messages)
            # The request takes the state of the cached write, and then a copy of it.
            for name, value in known.state.items():
                setattr(request, name, value)
            for name, value in request.state().items():
                setattr(request, name, value)
            request.entries = known.entries.copy()
            request.unshare(known.final_count)
            request.losses += known.losses
            request.marks += known.marks
        stop = self.memory.end(request.messages, start)
        if stop:
            yield start, stop
            before, final_count = self.write_cache, request.final_count()
            # Losses and marks belong to the messages that were written, not to equal messages.
            written = before.messages if before else ()
            counted = [*before.counted] if before else []
            shorter = ref(before) if before else None
            self.write_cache = WriteCache(
                messages=(*written, *request.messages[len(written) : stop]),
                anchor=ref(request.messages[stop], self.memory.forget),
                depends=request.depends(stop),
                opening=opening,
                state=request.state(),
                entries=request.entries.copy(),
                final_count=final_count,
                losses=tuple(request.losses[losses:]),
                marks=tuple(request.marks[marks:]),
                counted=counted,
                before=shorter,
            )
            request.unshare(final_count)
            self.memory.keep(self.write_cache)
        yield max(start, stop), len(request.messages)


def spans_to_write(request: Request, cached_write: CachedWrite | None) -> Iterable[tuple[int, int]]:
    """Return the start and stop of each span of messages that must be written.

    Without a cached write, that is one span of all messages.
    """
    if cached_write is None:
        return [(0, len(request.messages))]
    return cached_write.spans(request)
