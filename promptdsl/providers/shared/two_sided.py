"""Requests with two sides, the user and the model: neighbours of a side are one turn.

Ids of calls and names of tools come last: unique, and equal in call and result.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import TypeAlias, TypeVar

import attrs

from promptdsl.config.wires import compacts
from promptdsl.foundation.frozen import is_list, new_dict, new_list
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.messages.details import FLEETING, NO_DETAILS, ROLES, SPOKEN_KINDS
from promptdsl.messages.pairing import OpenCalls, new_calls
from promptdsl.messages.prompt import Loss, Prompt, ToolDefinition
from promptdsl.providers.shared.blocks import MISFIT, BlockRules, block_params, fenced, mended, utf8
from promptdsl.providers.shared.cache_marks import choose_marks, ttl_of
from promptdsl.providers.shared.memory import CachedWrite
from promptdsl.providers.shared.request import MODEL_FIRST, OPENING, Location, Param, Request

# Requests with two sides, the user and the model: neighbouring messages of a side are one turn.
#
# Anthropic, Gemini, Bedrock and chat templates take such requests: the system text separately, then
# turns of the user and the model that alternate. Results are first in their turn. An adapter writes
# the params of a message, and ``write_turns`` puts them into turns.
#
# Read ``write_turns`` first; the functions that it calls follow in the order of their calls.

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
        if not self.text:
            return self.result in param
        return bool(param["type"] == self.result)


T = TypeVar("T", bound="Turns")


Pending: TypeAlias = tuple[Location, list[Param]]
"""An instruction that waits for the message after it, with its params."""


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
    pending: list[Pending] = attrs.field(factory=new_list)
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


def finish_no_turns(request: Turns, stop: int) -> None:
    """Leave the turns as they are: an adapter that has nothing to finish."""


def write_turns(
    request: T,
    cached_write: CachedWrite | None,
    write_message: Callable[[T, Location], list[Param]],
    finish_turns: Callable[[T, int], None] = finish_no_turns,
) -> None:
    """Write all messages as turns. ``write_message`` returns the params of a message.

    ``finish_turns`` finishes the turns before an index: no later message adds to them.
    """
    spans = cached_write.spans(request) if cached_write else [(0, len(request.messages))]
    for start, stop in spans:
        for number in range(start, stop):
            _write_message(request, number, write_message)
        finish_turns(request, request.final_count())
    _finish(request)
    finish_turns(request, len(request.entries))
    request.losses += request.turn_losses


def _write_message(
    request: T, number: int, write_message: Callable[[T, Location], list[Param]]
) -> None:
    """Write a message: to the system text, to the turns, or to the pending instructions.

    Most messages are one text, of which the param is made here.
    """
    message = request.messages[number]
    role, text = SIDES[message.role], message._plain
    leads = role is None and number < request.head and message.kind in SPOKEN_KINDS
    location = Location(number, message, message.role, leads)
    if role == request.role != "" and _is_joined(request, number):
        request.hint(location, "joined_turns", *_JOINED)
    calls = request.calls
    begins_answer = role == "assistant" != request.role
    if begins_answer:
        # The calls before a new turn of the model get no result any more.
        request.calls = new_calls()
    if text and message._details is NO_DETAILS and not text.isspace():
        params = [{**request.dialect.text, "text": text}]
        if request.notes is not None:
            request.note_plain(number, params[0])
    else:
        params = write_message(request, location)
    _add_message(request, location, params)
    if begins_answer and request.role != "assistant":
        # The message was empty, so there is no new turn.
        request.calls = calls


_JOINED = ("a turn after one of the same role", "the target joins them into one turn")


def _is_joined(request: Turns, index: int) -> bool:
    """Return whether a message is joined with the one before it although it was a separate turn."""
    if request.is_split or index == 0:
        return False
    before, message = request.messages[index - 1 : index + 1]
    if before.role != message.role or message.role == "tool":
        return False
    return not request.prompt.merges or before.kind == message.kind == "recorded"


def message_params(request: Turns, location: Location, rules: BlockRules) -> list[Param]:
    """Return the blocks of a message as params. The name of its speaker is lost, with a hint."""
    message = location.message
    if message._details.name is not None and message.role != "tool":
        request.hint(
            location, "speaker_name", "name of a speaker", "the target takes no speaker's name"
        )
    return block_params(request, location, message.content, rules)


def _add_message(request: Turns, location: Location, params: list[Param]) -> None:
    """Add the params of a message to the system text, the turns or the pending instructions."""
    role = SIDES[location.message.role]
    if location.leads:
        request.system += params
    elif role is None:
        request.pending.append((location, params))
        request.open = bool(request.calls)
    else:
        for param in params:
            if request.pending:
                _send_instructions(request, role)
            if role == "user" and request.dialect.is_result(param):
                _add_result(request, location.number, param)
            else:
                _add(request, location.number, role, param, is_open=bool(request.calls))


def _add_result(request: Turns, number: int, param: Param) -> None:
    """Add a result at the head of the last user turn, or to a new turn.

    Where results have their own turn, texts between the call and its result stay after it.
    """
    request.number = number
    if request.role != "user":
        _begin_turn(request, "user", param)
        request.results = 1
    elif request.dialect.apart and not request.results:
        before = request.entries[-2:-1]
        if before and before[0]["role"] == "user":
            before[0]["content"].append(param)
        else:
            request.entries.insert(-1, {"role": "user", "content": [param]})
    else:
        request.content.insert(request.results, param)
        request.results += 1


def _add(request: Turns, number: int, role: str, param: Param, *, is_open: bool) -> None:
    """Add a param of a message to the last turn if it continues that, otherwise to a new turn.

    The files that were moved out of results come directly after the results. ``is_open`` is whether
    calls had no result at the location of the message.
    """
    if request.moved:
        _add_moved(request)
    has_own_turn = role != request.role or (request.dialect.apart and request.results > 0)
    if has_own_turn or _stays_apart(request, number, role, is_open=is_open):
        _begin_turn(request, role, param)
    else:
        request.content.append(param)
    request.number = number


def _stays_apart(request: Turns, number: int, role: str, *, is_open: bool) -> bool:
    """Return whether a message stays a turn of its own, although the turn before has its role.

    Results and the message after them are one turn, as the services require. Instructions in a row
    are one turn, too.
    """
    if not request.is_split or role == "system" or number == request.number:
        return False
    # What follows a call or its result stays in the turn of the result.
    after_result = request.messages[request.number].role == "tool"
    return role == "assistant" or not (is_open or after_result)


def _begin_turn(request: Turns, role: str, param: Param) -> None:
    """Begin a turn with a param. The first turn is the user's, or has a compaction."""
    if not request.entries and role != "user" and not compacts(request.facts.provider, param):
        opening = [{**request.dialect.text, "text": OPENING}]
        request.entries.append({"role": "user", "content": opening})
        request.losses.append(MODEL_FIRST)
    request.role, request.content, request.results = role, [param], 0
    request.entries.append({"role": role, "content": request.content})


def _add_moved(request: Turns) -> None:
    """Add the files that were moved out of results to the user turn after the results."""
    for param in request.take_moved(request.dialect.text):
        _add(request, request.number, "user", param, is_open=bool(request.calls))


def _finish(request: Turns) -> None:
    """Send the last instructions, and remove white space from a last turn of the model."""
    if request.moved:
        _add_moved(request)
    _send_instructions(request, "")
    if request.role != "assistant" or request.calls:
        return
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
        has_results = any(block.type == "tool_result" for block in message.content)
        if message.role == "user" and message.kind in SPOKEN_KINDS and not has_results:
            asked = index
            break
    if last_request > asked or messages[asked].kind == "trailed":
        return len(messages)
    return max(asked, moved)


def _send_instructions(request: Turns, following: str) -> None:
    """Send the pending instructions. ``following`` is the role of the next turn, empty at the end.

    They are sent as messages if the model takes them here, otherwise as text of a user turn.
    """
    waiting, request.pending = request.pending, []
    if not waiting:
        return
    _add_moved(request)
    if following != "user" and _takes_instructions(request, waiting):
        _send_as_system(request, waiting)
        return
    changed: dict[int, Param] = {}
    for location, params in waiting:
        for param in _fenced(request, location, params, changed):
            _add(request, location.number, "user", param, is_open=request.open)
    _move_marks(request, waiting[0][0].number, changed)


def _takes_instructions(request: Turns, waiting: Sequence[Pending]) -> bool:
    """Return whether the model takes instructions after the last turn: a user's, without calls."""
    facts, is_in_conversation = request.facts, waiting[0][0].number >= request.head
    if not (facts.instructions and is_in_conversation and request.role == "user"):
        return False
    has_text = any("text" in param for _, params in waiting for param in params)
    if (
        has_text
        and not facts.result_instructions
        and request.dialect.is_result(request.content[-1])
    ):
        return False
    return not request.open


def _send_as_system(request: Turns, waiting: Sequence[Pending]) -> None:
    """Send instructions as one system message of the conversation."""
    for location, _ in waiting[1:]:
        if request.is_split or location.message.kind == "recorded_system":
            request.hint(location, "joined_turns", *_JOINED)
    for location, params in waiting:
        for param in params:
            _add(request, location.number, "system", param, is_open=request.open)


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
        marked[id(mark.param)] = params = with_mark(mark.param, ttl_of(mark.cache))
        request.note_change(mark.param, params[0])

    def with_marks(params: list[Param]) -> list[Param]:
        return [sent for param in params for sent in marked.get(id(param), (param,))]

    tools[:] = with_marks(tools)
    request.system = with_marks(request.system)
    for index, turn in turns:
        # A turn may be shared with another request, so it is replaced.
        if not marked.keys().isdisjoint(map(id, turn["content"])):
            request.entries[index] = {**turn, "content": with_marks(turn["content"])}


# Ids of calls and names of tools as a service requires them: unique, and equal in the result.
#
# ``call_id`` and ``result_id`` are for providers with two sides; others use ``fitting_id``.


def call_id(request: Turns, id: str, name: str = "") -> str:
    """Return the id with which a call is sent, and keep it for the result. It is unique."""
    sent = id
    short = len(id) <= request.dialect.longest_id
    if id in request.uses or not (short and id.isascii() and id.isidentifier()):
        sent = _unique(request, id)
    else:
        request.uses[id] = 1
    request.called[sent] = name
    request.calls.add(id, sent)
    return sent


def result_id(request: Turns, id: str) -> str:
    """Return the id with which a result is sent: that of the first open call with this id."""
    dialect = request.dialect
    return request.calls.answer(id) or mended(id, dialect.longest_id, dialect.misfit)


def _unique(request: Turns, id: str) -> str:
    """Return a unique id; the n-th use of an id ends in ``_n``. Only earlier calls count."""
    uses, longest = request.uses, request.dialect.longest_id
    stem = mended(id, longest, request.dialect.misfit)
    count = uses.get(id, 0) + 1
    sent = stem if count == 1 else _numbered(stem, count, longest)
    while sent in uses:
        # Numbers that an earlier search has taken are skipped.
        count = max(count, request.stems.get(stem, 1)) + 1
        sent = _numbered(stem, count, longest)
        request.stems[stem] = count
    uses[sent] = 0
    uses[id] = count
    return sent


def _numbered(stem: str, count: int, longest: int) -> str:
    suffix = f"_{count}"
    return stem[: longest - len(suffix)] + suffix


def fitting_id(id: str, longest: int, shortest: int = 0) -> str:
    """Return an id with ``shortest`` to ``longest`` characters.

    An id that cannot be sent is replaced by its beginning and a digest, which keeps it unique.
    """
    if shortest <= len(id) <= longest and is_valid_unicode(id):
        return id
    from hashlib import sha256

    digest = sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{utf8(id)[: max(longest - 33, 0)]}_{digest}"[-longest:]


def exact_id(id: str, length: int) -> str:
    """Return an id with exactly ``length`` letters and digits; for any other id, its digest."""
    if len(id) == length and id.isascii() and id.isalnum():
        return id
    from hashlib import sha256

    return sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def tool_name(
    request: Request,
    subject: Location | ToolDefinition,
    name: str,
    *,
    longest: int | None = None,
    misfit: re.Pattern[str] = MISFIT,
) -> str:
    """Return the unique name with which a tool is sent: ``_`` replaces refused characters.

    A name that may be sent stays the same. If several names become equal, all but the first get a
    number; definitions come before calls. A changed name is a hint. ``longest`` is the greatest
    number of characters, by default that of the provider.
    """
    sent = request.tool_names.get(name)
    if sent is None:
        longest = longest or request.facts.wire.longest_name
        sent = stem = mended(name, longest, misfit)
        while sent != name and sent in request.taken_names:
            count = request.numbers.get(stem, 1) + 1
            sent = _numbered(stem, count, longest)
            request.numbers[stem] = count
        request.tool_names[name] = sent
        request.taken_names.add(sent)
    if sent != name:
        reason = f"it has characters that are refused, is too long, or is taken: sent as {sent}"
        request.hint(subject, "mended_name", f"tool name {name!r}", reason)
    return sent
