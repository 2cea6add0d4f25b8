"""Requests with two sides, the user and the model: neighbouring messages of a side are one turn.

Anthropic, Gemini, Bedrock and chat templates take such requests: the system text separately, then
turns of the user and the model that alternate. Results are first in their turn. An adapter writes
the params of a message, and ``write_turns`` puts them into turns.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from typing import TypeVar

import attrs

from promptdsl.config.wires import compacts
from promptdsl.foundation.frozen import is_list, new_dict, new_list
from promptdsl.messages.details import NO_DETAILS
from promptdsl.messages.loss import Loss
from promptdsl.messages.pairing import OpenCalls, new_calls
from promptdsl.messages.prompt import Prompt
from promptdsl.messages.roles import FLEETING, ROLES, SPOKEN_KINDS
from promptdsl.providers.shared.blocks import BlockRules, block_params
from promptdsl.providers.shared.cache_marks import choose_marks
from promptdsl.providers.shared.clean import MISFIT, fenced
from promptdsl.providers.shared.memory import CachedWrite
from promptdsl.providers.shared.request import (
    MODEL_FIRST,
    OPENING,
    Location,
    Param,
    Request,
)

SIDES: Mapping[str, str | None] = {
    **dict.fromkeys(ROLES),
    **{"user": "user", "tool": "user", "assistant": "assistant"},
}
"""The side of a message by its role, ``None`` for an instruction."""

_kind = attrgetter("kind")
_FLEETING = frozenset(FLEETING)


@attrs.frozen
class Dialect:
    """The rules of a provider whose requests have two sides.

    ``result`` is the ``type`` of the param of a result, or its key if params have no type. ``text``
    are the other keys of a text param. If ``apart``, results have their own turn. ``first`` is the
    ``type`` of a param that comes before the others in its turn. A text with one of the keys
    ``bound`` is sent unchanged. ``misfit`` matches a character that is refused in an id.
    ``longest_id`` is the greatest number of characters in an id.
    """

    result: str
    text: Mapping[str, str] = {"type": "text"}
    apart: bool = False
    first: str = ""
    bound: frozenset[str] = frozenset()
    misfit: re.Pattern[str] = MISFIT
    longest_id: int = 64

    def is_result(self, param: Param) -> bool:
        """Return whether a param is a result."""
        return bool(param["type"] == self.result) if self.text else self.result in param


T = TypeVar("T", bound="Turns")


@attrs.define(eq=False)
class Turns(Request):
    """A request with two sides: ``system`` text, and turns with a ``role`` and a ``content``."""

    dialect: Dialect = attrs.field(kw_only=True)
    head: int = attrs.field(init=False)
    """The index of the first message of the conversation."""
    first_valid_reasoning: int = attrs.field(default=0, kw_only=True)
    """The index of the first message whose reasoning is still valid."""
    system: list[Param] = attrs.field(factory=new_list)
    finished: int = 0
    """The number of turns that an adapter has finished: nothing is added to them any more."""
    turn_losses: list[Loss] = attrs.field(factory=new_list)
    """The losses of finished turns, which are listed after the losses of messages."""
    # The last turn: role, content, number of results at its beginning, index of its last message.
    role: str = ""
    number: int = -1
    content: list[Param] = attrs.field(factory=new_list)
    results: int = 0
    calls: OpenCalls[str] = attrs.field(factory=new_calls)
    """The calls without a result, each as the id that is sent."""
    uses: dict[str, int] = attrs.field(factory=new_dict)
    """How often each id was used, 0 for an id that was sent only."""
    stems: dict[str, int] = attrs.field(factory=new_dict)
    """The last number added to a mended id that several calls would share."""
    called: dict[str, str] = attrs.field(factory=new_dict)
    """The sent name of the tool by the sent id of the call."""
    pending: list[tuple[Location, list[Param]]] = attrs.field(factory=new_list)
    """Instructions, each with its params, that wait for the message after them."""
    open: bool = False
    """Whether the pending instructions are between calls and their results."""
    is_split: bool = attrs.field(init=False)
    """Whether each message stays a turn of its own."""

    def __attrs_post_init__(self) -> None:
        self.messages = self.prompt.messages
        self.is_split = self.facts.wire.takes_neighbours and not self.prompt.merges
        spoken = (
            n for n, m in enumerate(self.messages) if SIDES[m.role] and m.kind in SPOKEN_KINDS
        )
        self.head = next(spoken, len(self.messages))

    def depends(self, stop: int) -> tuple[object, ...]:
        """Return what the turns of the first ``stop`` messages depend on, except these messages."""
        indices = (min(self.head, stop), min(self.first_valid_reasoning, stop))
        return (*Request.depends(self, stop), self.dialect, *indices)

    def final_count(self) -> int:
        """Return the number of first turns that no later message changes: all but the last two."""
        return max(len(self.entries) - 2, 0)

    def unshare(self, final_count: int) -> None:
        """Copy the lists of all turns after the first ``final_count``, which may be shared."""
        for index in range(final_count, len(self.entries)):
            turn = self.entries[index]
            self.content = [*turn["content"]]
            self.entries[index] = {**turn, "content": self.content}


def write_turns(
    request: T,
    cached_write: CachedWrite | None,
    write_message: Callable[[T, Location], list[Param]],
    finish_turns: Callable[[T, int], None] | None = None,
) -> None:
    """Write all messages as turns. ``write_message`` returns the params of a message.

    ``finish_turns`` finishes the turns before an index: no later message adds to them.
    """
    for start, stop in (
        cached_write.spans(request) if cached_write else [(0, len(request.messages))]
    ):
        for location in _unwritten(request, start, stop):
            _add_message(request, location, write_message(request, location))
        if finish_turns:
            finish_turns(request, request.final_count())
    _finish(request)
    if finish_turns:
        finish_turns(request, len(request.entries))
        request.losses += request.turn_losses


def message_params(request: Turns, location: Location, rules: BlockRules) -> list[Param]:
    """Return the blocks of a message as params. The name of its speaker is lost, with a hint."""
    message = location.message
    name, text = message._details.name, message._plain
    if name is not None and message.role != "tool":
        request.hint(
            location, "speaker_name", "name of a speaker", "the target takes no speaker's name"
        )
    if text and not text.isspace() and request.notes is None:
        return [{**request.dialect.text, "text": text}]
    return block_params(request, location, message.content, rules)


def _unwritten(request: Turns, start: int, stop: int) -> Iterator[Location]:
    """Write the plain messages from ``start`` to ``stop``; yield the places of the others.

    Most messages are one text: these are added to the request here.
    """
    text_keys, has_notes = request.dialect.text, request.notes is not None
    for index, message in enumerate(request.messages[start:stop], start):
        role, text = SIDES[message.role], message._plain
        is_leading = role is None and index < request.head and message.kind in SPOKEN_KINDS
        if role == request.role != "" and _is_joined(request, index):
            request.hint(Location(index, message, message.role), "joined_turns", *_JOINED)
        forgotten = None
        if request.calls and role == "assistant" != request.role:
            # A new turn of the model begins: the calls before it get no result any more.
            forgotten = request.calls
            request.calls = new_calls()
        if text and message._details is NO_DETAILS and not text.isspace():
            param = {**text_keys, "text": text}
            if has_notes:
                request.note_plain(index, param)
            if is_leading:
                request.system.append(param)
            elif role is None:
                _postpone(request, Location(index, message, message.role), [param])
            else:
                if request.pending:
                    _send_instructions(request, role)
                _add(request, index, role, param, is_result=False)
        else:
            yield Location(index, message, message.role, is_leading)
            if forgotten and request.role != "assistant":
                # The message was empty, so there is no new turn.
                request.calls = forgotten


_JOINED = ("a turn after one of the same role", "the target joins them into one turn")


def _is_joined(request: Turns, index: int) -> bool:
    """Return whether a message is joined with the one before it although it was a separate turn."""
    if request.is_split or index == 0:
        return False
    before, message = request.messages[index - 1 : index + 1]
    if before.role != message.role or message.role == "tool":
        return False
    return not request.prompt.merges or before.kind == message.kind == "recorded"


def _add_message(request: Turns, location: Location, params: list[Param]) -> None:
    """Add the params of a message to the system text, the turns or the pending instructions."""
    role = SIDES[location.message.role]
    if location.leads:
        request.system += params
    elif role is None:
        _postpone(request, location, params)
    else:
        for param in params:
            if request.pending:
                _send_instructions(request, role)
            is_result = role == "user" and request.dialect.is_result(param)
            _add(request, location.number, role, param, is_result=is_result)


def _add(
    request: Turns,
    number: int,
    role: str,
    param: Param,
    *,
    is_result: bool,
    is_open: bool | None = None,
) -> None:
    """Add a param of a message to the last turn if that has this role, otherwise to a new turn.

    The files that were moved out of results come directly after the results. Where each message
    stays a turn, results and the message after them are one turn, as the services require.
    Instructions in a row are one turn, too. ``is_open`` is whether calls had no result at the
    location of the message; by default it is looked up.
    """
    dialect = request.dialect
    if request.moved and not is_result:
        _add_moved(request)
    begins = role != request.role
    is_apart = request.is_split and role != "system"
    if is_apart and not is_result and number != request.number:
        # What follows a call or its result stays in the turn of the result.
        after_result = request.messages[request.number].role == "tool"
        waits = bool(request.calls) if is_open is None else is_open
        begins |= role == "assistant" or not (waits or after_result)
    request.number = number
    apart = dialect.apart and is_result != bool(request.results)
    if apart and is_result and role == request.role:
        # Texts between the call and its result stay after the result.
        before = request.entries[-2:-1]
        if before and before[0]["role"] == "user":
            before[0]["content"].append(param)
        else:
            request.entries.insert(-1, {"role": "user", "content": [param]})
    elif begins or apart:
        first = not request.entries and role != "user"
        if first and not compacts(request.facts.provider, param):
            request.entries.append({"role": "user", "content": [{**dialect.text, "text": OPENING}]})
            request.losses.append(MODEL_FIRST)
        content = [param]
        request.entries.append({"role": role, "content": content})
        request.role, request.content = role, content
        request.results = 1 if is_result else 0
    elif is_result:
        request.content.insert(request.results, param)
        request.results += 1
    else:
        request.content.append(param)


def _add_moved(request: Turns) -> None:
    """Add the files that were moved out of results to the user turn after the results."""
    for param in request.take_moved(request.dialect.text):
        _add(request, request.number, "user", param, is_result=False)


def _finish(request: Turns) -> None:
    """Send the last instructions, and remove white space from a last turn of the model."""
    if request.moved:
        _add_moved(request)
    if request.pending:
        _send_instructions(request, "")
    if request.role == "assistant" and not request.calls:
        last = len(request.content) - 1
        while last > 0 and request.content[last].get("type") == request.dialect.first:
            last -= 1
        param = request.content[last]
        text = str(param.get("text", ""))
        if text != text.rstrip() and request.dialect.bound.isdisjoint(param):
            request.content[last] = trimmed = {**param, "text": text.rstrip()}
            request.note_change(param, trimmed)
            _move_marks(request, 0, {id(param): trimmed})
            request.lose_trailing()


def valid_reasoning_from(prompt: Prompt) -> int:
    """Return the index of the first message whose reasoning is still valid.

    Some models bind reasoning to the bytes before it, as Anthropic documents for preserved
    thinking. Before this index these bytes have changed, by a budget or by grounding.
    """
    messages = prompt.messages
    moved = prompt.untrimmed_from
    if _FLEETING.isdisjoint(map(_kind, messages)):
        return moved
    last_request = max(n for n, message in enumerate(messages) if message.kind in FLEETING)
    # The last question: a user's turn of the conversation that answers no calls.
    asked = -1
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == "user" and message.kind in SPOKEN_KINDS:
            blocks = message.content if message._plain is None else ()
            if not any(block.type == "tool_result" for block in blocks):
                asked = index
                break
    is_after = last_request > asked or messages[asked].kind == "trailed"
    return len(messages) if is_after else max(asked, moved)


def _postpone(request: Turns, location: Location, params: list[Param]) -> None:
    request.pending.append((location, params))
    request.open = bool(request.calls)


def _send_instructions(request: Turns, following: str) -> None:
    """Send the pending instructions. ``following`` is the role of the next turn, empty at the end.

    They are sent as messages if the model takes them here, otherwise as text of a user turn.
    """
    waiting, request.pending = request.pending, []
    if request.moved:
        _add_moved(request)
    legal = request.role == "user" and following != "user" and not request.open
    has_text = any("text" in param for _, params in waiting for param in params)
    if legal and has_text and not request.facts.result_instructions:
        legal = not request.dialect.is_result(request.content[-1])
    native = legal and request.facts.instructions and waiting[0][0].number >= request.head
    for location, _ in waiting[1:] if native else ():
        if request.is_split or location.message.kind == "recorded_system":
            request.hint(location, "joined_turns", *_JOINED)
    changed: dict[int, Param] = {}
    for location, params in waiting:
        sent = params if native or not params else _fenced(request, location, params, changed)
        for param in sent:
            role = "system" if native else "user"
            _add(request, location.number, role, param, is_result=False, is_open=request.open)
    if changed:
        _move_marks(request, waiting[0][0].number, changed)


_MISPLACED = (
    "this model takes instructions only after a user message without open calls, and not before "
    "another one"
)


def _fenced(
    request: Turns, location: Location, params: list[Param], changed: dict[int, Param]
) -> list[Param]:
    """Return an instruction as text of a user turn, in a ``developer`` tag.

    Events and grounding have a tag already. Content that is not text, such as a change of the
    tools, is lost. Each new param is added to ``changed``, by the ``id()`` of the old one.
    """
    message = location.message
    reason = _MISPLACED if request.facts.instructions else "this model takes no instructions here"
    for param in params:
        if "text" not in param:
            request.lose(location, "content", f"{param['type']} block", reason)
    params = [param for param in params if "text" in param]
    if not params or message.kind not in SPOKEN_KINDS:
        return params
    reason = f"{reason}, so the text is sent in a user message"
    request.lose(location, "role", f"{message.role} message", reason)
    for param in params:
        changed[id(param)] = sent = {**param, "text": fenced("developer", param["text"])}
        request.note_change(param, sent, fence="developer")
    return [changed[id(param)] for param in params]


def _move_marks(request: Turns, first: int, changed: Mapping[int, Param]) -> None:
    """Move the cache marks of messages from ``first`` on to params that replaced others.

    ``changed`` has the new param by the ``id()`` of the old one.
    """
    for number in range(len(request.marks) - 1, -1, -1):
        mark = request.marks[number]
        if mark.number < first:
            break
        if id(mark.param) in changed:
            request.marks[number] = mark._replace(param=changed[id(mark.param)])


def write_marks(
    request: Turns, tools: list[Param], with_mark: Callable[[Param, Param], list[Param]]
) -> None:
    """Write the cache marks that the request may have: at most four, an hour before five minutes.

    ``with_mark`` returns the params that are sent for a param with a mark. Its second argument is
    the time to live as a dictionary, empty for the default.
    """
    turns = [(n, turn) for n, turn in enumerate(request.entries) if is_list(turn["content"])]
    sent = chain(tools, request.system, *(turn["content"] for _, turn in turns))
    marked: dict[int, list[Param]] = {}
    for mark in choose_marks(request, sent, ordered=True):
        ttl: Param = {} if mark.cache == "default" else {"ttl": mark.cache}
        marked[id(mark.param)] = params = with_mark(mark.param, ttl)
        request.note_change(mark.param, params[0])

    def with_marks(params: list[Param]) -> list[Param]:
        return [sent for param in params for sent in marked.get(id(param), (param,))]

    tools[:] = with_marks(tools)
    request.system = with_marks(request.system)
    for index, turn in turns:
        # A turn may be shared with another request, so it is replaced.
        if not marked.keys().isdisjoint(map(id, turn["content"])):
            request.entries[index] = {**turn, "content": with_marks(turn["content"])}
