"""The write cache of long conversations, and copies of payloads that share no container.

Read ``CachedWrite.spans`` first: an adapter asks it which messages it must write.
"""

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
    from promptdsl.tokens.count import TextCounter
    from promptdsl.tokens.payloads import Tally


# Fast copies of payloads: a payload that a caller gets shares no container with another payload.
#
# A payload of 5,000 short messages is copied in 0.9 ms; a plain recursive function takes 1.5 ms.

# An exact type is checked faster than by isinstance(), but a type checker learns less from it.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false


def fresh(payload: Param) -> Param:
    """Return a copy of a payload that shares no list and no dictionary with it.

    Texts, bytes and numbers are shared, because nobody can change them.
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
    """Return a copy of a list. It is fastest for messages with a single part, the most common."""
    copies: list[Any] = []  # Any: as above
    for original in items:
        if type(original) is not dict:
            copies.append(_copied(original))
            continue
        copied = original.copy()
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


# The write cache of long conversations: an adapter writes only the new messages of a conversation.
#
# What an adapter writes for a message depends on earlier messages only. So the payload messages are
# kept as a cached write, with the state that later messages need. The next request of the
# conversation continues from there. A cached write fits if the messages are the same objects. The
# few messages that are made for each request, such as the system text, may be equal objects.
#
# A cached write has a weak reference to the message after it, its anchor. The memory drops a cached
# write when nobody uses the anchor any more, or when the conversation has two longer cached writes.

_kind = attrgetter("kind")
_GROUNDING_KINDS = frozenset(FLEETING)

_REACH = 16
"""How many messages before the best index a cached write may end."""
_TRIES = 4
"""How many messages may be compared with all messages before them, to find an anchor."""


@attrs.frozen(eq=False)
class WriteCache:
    """A cached write: what an adapter wrote for the first messages of a conversation.

    ``anchor`` is the message after ``messages``. ``opening`` is the state of the request before the
    first message, and ``state`` is the state after the last one. No later message changes the first
    ``final_count`` payload messages. The cache for reading is a ``ReadCache`` in
    ``messages/conversation_cache.py``.
    """

    messages: tuple[Message, ...]
    anchor: "ref[Message]"
    depends: tuple[object, ...]
    opening: dict[str, object]
    state: dict[str, object]
    payload_messages: list[Param]
    final_count: int
    losses: tuple[Loss, ...]
    marks: tuple[Mark, ...]
    counted: "list[tuple[TextCounter, Tally]]"
    """By counter, the tokens of the final payload messages, for the latest two counters."""
    before: "ref[WriteCache] | None" = None
    """The shorter cached write that this one continues."""


@attrs.define(eq=False)
class Memory:
    """The cached writes of the conversations that were written last.

    A conversation of at least ``min_messages`` messages has a cached write. Its ``newest`` messages
    are left out, because the next request may not have them. After ``growth`` more messages it gets
    a second cached write and keeps the first, because an author may go back. All conversations
    together have at most ``max_writes`` cached writes.
    """

    min_messages: int = 16
    long: int = 200
    newest: int = 4
    growth: int = 8
    max_writes: int = 256
    # Single operations change this dictionary, which no other thread can interrupt. ``list`` reads
    # it, because the garbage collector may call ``forget`` in the middle of a ``copy``.
    write_caches: dict[int, WriteCache] = attrs.field(factory=dict[int, WriteCache], init=False)

    def serves(self, messages: Sequence[Message]) -> bool:
        """Return whether a cached write would make the next request faster.

        One of the last messages must be able to be in the next request. With fewer than ``long``
        messages it must be more than plain text, which is written again as fast.
        """
        last = messages[-self.newest - _REACH :]
        if len(messages) < self.long:
            last = [message for message in last if message._plain is None]
        return any(map(_lasts, last))

    def find(self, request: Request, opening: dict[str, object]) -> WriteCache | None:
        """Return the longest cached write with which the messages of a request begin."""
        anchored = [
            (stop, write_cache)
            for write_cache in list(self.write_caches.values())
            if (stop := len(write_cache.messages)) < len(request.messages)
            and write_cache.anchor() is request.messages[stop]
        ]
        for stop, write_cache in sorted(anchored, key=itemgetter(0), reverse=True):
            if request.depends(stop) != write_cache.depends or opening != write_cache.opening:
                continue
            differing = compress(count(), map(is_not, write_cache.messages, request.messages))
            if all(_is_equal(write_cache.messages[n], request.messages[n]) for n in differing):
                # The dictionary is in the order of use: what was used last is last. Another thread
                # may have dropped the cached write meanwhile.
                if self.write_caches.pop(id(write_cache), None):
                    self.write_caches[id(write_cache)] = write_cache
                return write_cache
        return None

    def keep(self, write_cache: WriteCache) -> None:
        """Keep a cached write and the one that it continues; drop those not used for longest."""
        self.write_caches[id(write_cache)] = write_cache
        before = write_cache.before and write_cache.before()
        if before and before.before:
            self.write_caches.pop(id(before.before()), None)
        for key in list(self.write_caches)[: -self.max_writes]:
            self.write_caches.pop(key, None)

    def forget(self, anchor: "ref[Message]") -> None:
        """Drop the cached write of an anchor that nobody uses any more."""
        for write_cache in list(self.write_caches.values()):
            if write_cache.anchor is anchor:
                self.write_caches.pop(id(write_cache), None)

    def end(self, messages: Sequence[Message], start: int) -> int:
        """Return the index where a cached write of these messages ends, 0 if none is worth it.

        The message at this index is the anchor. It must belong to the conversation, not be made for
        this request, and must not be in the cached write, which would keep it alive. A cached write
        ends before the last grounding, because the next request may not have it. Grounding in the
        first half of the messages, or before ``start``, does not count.
        """
        length = len(messages)
        kinds = map(_kind, reversed(messages[max(start, length // 2) :]))
        distances = compress(count(1), map(_GROUNDING_KINDS.__contains__, kinds))
        stop = length - next(distances, 0) - self.newest
        if stop - start < self.growth:
            return 0
        indices = range(stop, max(stop - _REACH, start), -1)
        lasting = [index for index in indices if _lasts(messages[index])]
        unique_indices = (
            n for n in lasting[:_TRIES] if id(messages[n]) not in map(id, messages[:n])
        )
        return next(unique_indices, 0)


def _lasts(message: Message) -> bool:
    """Return whether a later request can have a message: it was not made for this request."""
    return message._index < 0 and not message._at


def _is_equal(cached_message: Message, message: Message) -> bool:
    """Return whether two messages certainly become the same bytes."""
    if (cached_message.role, cached_message.kind, cached_message._details) != (
        message.role,
        message.kind,
        message._details,
    ):
        return False
    if cached_message._plain is not None or message._plain is not None:
        return cached_message._plain == message._plain
    return _are_equal(cached_message.content, message.content)


def _are_equal(cached_blocks: Sequence[Block], blocks: Sequence[Block]) -> bool:
    """Return whether blocks certainly become the same bytes.

    It is certain for the same objects, and for equal blocks whose data is strings.
    """
    if len(cached_blocks) != len(blocks):
        return False
    for cached_block, block in zip(cached_blocks, blocks, strict=True):
        if cached_block is block:
            continue
        if type(cached_block) is not type(block) or not isinstance(block, Carrier):
            return False
        if isinstance(cached_block, ToolResultBlock) and isinstance(block, ToolResultBlock):
            names = ("tool_use_id", "name", "is_error", "error_type", "cache")
            is_equal = all(getattr(cached_block, name) == getattr(block, name) for name in names)
            is_equal = is_equal and _are_equal(cached_block.content, block.content)
        else:
            is_equal = cached_block == block
        # Values in ``extra`` may be equal, such as 1 and True, but become different bytes.
        if not is_equal or getattr(cached_block, "extra", None) is not block.extra:
            return False
    return True


@attrs.define(eq=False)
class CachedWrite:
    """The use of a memory in one request. ``write_cache`` is the cached write of its messages.

    Without a memory, it gives the request ``notes`` about the location of each block instead.
    """

    memory: Memory | None
    notes: LocationNotes | None = None
    write_cache: WriteCache | None = None

    def spans(self, request: Request) -> Iterator[tuple[int, int]]:
        """Yield the start and stop of each span of messages that must be written.

        The caller writes a span before it asks for the next one. If there are two spans, what was
        written up to the end of the first becomes a cached write for the next request.
        """
        if self.memory is None:
            request.notes = self.notes
            yield 0, len(request.messages)
            return
        opening = request.state()
        loss_count, mark_count = len(request.losses), len(request.marks)
        start = 0
        if before := self.memory.find(request, opening):
            self.write_cache = before
            request.has_cached_losses = True
            start = len(before.messages)
            # The request takes the state of the cached write, and replaces it by a copy.
            for name, value in before.state.items():
                setattr(request, name, value)
            for name, value in request.state().items():
                setattr(request, name, value)
            request.payload_messages = before.payload_messages.copy()
            request.unshare(before.final_count)
            request.losses += before.losses
            request.marks += before.marks
        stop = self.memory.end(request.messages, start)
        if stop:
            yield start, stop
            before, final_count = self.write_cache, request.final_count()
            # The losses and marks name the old messages, so the cached write has the same objects.
            old_messages = before.messages if before else ()
            counted = [*before.counted] if before else []
            shorter = ref(before) if before else None
            self.write_cache = WriteCache(
                messages=(*old_messages, *request.messages[len(old_messages) : stop]),
                anchor=ref(request.messages[stop], self.memory.forget),
                depends=request.depends(stop),
                opening=opening,
                state=request.state(),
                payload_messages=request.payload_messages.copy(),
                final_count=final_count,
                losses=tuple(request.losses[loss_count:]),
                marks=tuple(request.marks[mark_count:]),
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
