"""Requests with two sides, the user and the model: neighbouring messages of a side become one turn.

Read ``Turns`` and ``write_turns`` first. At the end of the file are the ids of calls and the names
of tools: an id is unique, and the result of a call has the id and the name of the call.
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
from promptdsl.providers.shared.blocks import (
    REFUSED,
    BlockRules,
    block_params,
    fenced,
    mended,
    utf8,
)
from promptdsl.providers.shared.cache_marks import choose_marks, ttl_of
from promptdsl.providers.shared.memory import CachedWrite
from promptdsl.providers.shared.request import MODEL_FIRST, OPENING, Location, Param, Request

# Requests with two sides: the rules, the state of a request, and how messages become turns.
#
# Anthropic, Gemini, Bedrock and chat templates take such requests. The system text is separate, and
# turns of the user and the model alternate. The results of calls come first in their turn. An
# adapter writes the params of a message, and ``write_turns`` puts them into turns.
#
# The functions that ``write_turns`` calls follow it in the order of their calls.

SIDES: Mapping[str, str | None] = {
    **dict.fromkeys(ROLES),
    **{"user": "user", "tool": "user", "assistant": "assistant"},
}
"""The side of a message by its role, ``None`` for an instruction."""

_kind = attrgetter("kind")
_GROUNDING_KINDS = frozenset(FLEETING)


@attrs.frozen
class Dialect:
    """The rules of a provider whose requests have two sides.

    ``result_kind`` is the ``type`` of the param of a result, or its key if params have no type.
    ``text_keys`` are the other keys of a text param. With ``separate_results``, results have their
    own turn. ``first_kind`` is the ``type`` of a param that its writer later puts before the other
    params of the turn. A text with one of ``signed_keys`` is sent unchanged, because the provider
    checks it. ``refused`` matches a character that the provider refuses in an id. ``longest_id`` is
    the greatest number of characters in an id.
    """

    result_kind: str
    text_keys: Mapping[str, str] = {"type": "text"}
    separate_results: bool = False
    first_kind: str = ""
    signed_keys: frozenset[str] = frozenset()
    refused: re.Pattern[str] = REFUSED
    longest_id: int = 64

    def is_result(self, param: Param) -> bool:
        """Return whether a param is a result."""
        if not self.text_keys:
            return self.result_kind in param
        return bool(param["type"] == self.result_kind)


T = TypeVar("T", bound="Turns")


PendingInstruction: TypeAlias = tuple[Location, list[Param]]
"""The location and the params of an instruction.

It is written when the role of the message after it is known.
"""


@attrs.define(eq=False)
class Turns(Request):
    """A request with two sides: ``system`` text, and turns with a ``role`` and a ``content``.

    The turns are in ``payload_messages``.
    """

    dialect: Dialect = attrs.field(kw_only=True)
    conversation_start: int = attrs.field(init=False)
    """The index of the first message that is not an instruction, an event or grounding.

    Without one it is the number of messages.
    """
    first_valid_reasoning: int = attrs.field(default=0, kw_only=True)
    """The index of the first message whose reasoning is still valid."""
    system: list[Param] = attrs.field(factory=new_list)
    finished: int = 0
    """The number of turns that the adapter has finished. Nothing is added to them any more."""
    turn_losses: list[Loss] = attrs.field(factory=new_list)
    """The losses of finished turns. They are listed after the losses of messages."""
    # The last turn: its role, the index of its last message, its content, and the number of results
    # at its beginning.
    role: str = ""
    last_message_index: int = -1
    content: list[Param] = attrs.field(factory=new_list)
    result_count: int = 0
    calls: OpenCalls[str] = attrs.field(factory=new_calls)
    """The calls without a result: by the id in the prompt, the id in the payload."""
    uses: dict[str, int] = attrs.field(factory=new_dict)
    """How many calls of the prompt have each id; 0 for an id that only the payload has."""
    id_suffixes: dict[str, int] = attrs.field(factory=new_dict)
    """By a changed id that several calls would share, the last number that was added to it."""
    called_tools: dict[str, str] = attrs.field(factory=new_dict)
    """By the id of a call in the payload, the name of its tool in the payload."""
    pending: list[PendingInstruction] = attrs.field(factory=new_list)
    """The instructions after the last turn."""
    pending_is_open: bool = False
    """Whether the pending instructions are between calls and their results."""
    is_split: bool = attrs.field(init=False)
    """Whether each message stays a separate turn."""

    def __attrs_post_init__(self) -> None:
        self.messages = self.prompt.messages
        self.is_split = self.facts.wire.takes_neighbours and not self.prompt.merges
        spoken_indices = (
            index
            for index, message in enumerate(self.messages)
            if SIDES[message.role] and message.kind in SPOKEN_KINDS
        )
        self.conversation_start = next(spoken_indices, len(self.messages))

    def depends(self, stop: int) -> tuple[object, ...]:
        """Return all that the writing of the first ``stop`` messages depends on, except these."""
        indices = (min(self.conversation_start, stop), min(self.first_valid_reasoning, stop))
        return (*Request.depends(self, stop), self.dialect, *indices)

    def final_count(self) -> int:
        """Return how many of the first turns no later message changes: all but the last two."""
        return max(len(self.payload_messages) - 2, 0)

    def unshare(self, final_count: int) -> None:
        """Copy the turns after the first ``final_count``, which another request may share."""
        for index in range(final_count, len(self.payload_messages)):
            turn = self.payload_messages[index]
            self.content = [*turn["content"]]
            self.payload_messages[index] = {**turn, "content": self.content}


def finish_no_turns(request: Turns, stop: int) -> None:
    """Leave the turns as they are, for an adapter that has nothing to finish."""


def write_turns(
    request: T,
    cached_write: CachedWrite | None,
    write_message: Callable[[T, Location], list[Param]],
    finish_turns: Callable[[T, int], None] = finish_no_turns,
) -> None:
    """Write all messages as turns. ``write_message`` returns the params of a message.

    ``finish_turns`` finishes the turns before an index, because no later message adds to them.
    """
    spans = cached_write.spans(request) if cached_write else [(0, len(request.messages))]
    for start, stop in spans:
        for index in range(start, stop):
            _write_message(request, index, write_message)
        finish_turns(request, request.final_count())
    _finish(request)
    finish_turns(request, len(request.payload_messages))
    request.losses += request.turn_losses


def _write_message(
    request: T, index: int, write_message: Callable[[T, Location], list[Param]]
) -> None:
    """Write a message and add it to the system text, the turns or the pending instructions.

    Most messages consist of one text. Their param is made here, without ``write_message``.
    """
    message = request.messages[index]
    role, text = SIDES[message.role], message._plain
    leads = role is None and index < request.conversation_start and message.kind in SPOKEN_KINDS
    location = Location(index, message, message.role, leads)
    if role == request.role != "" and _is_joined(request, index):  # "" before the first turn
        request.hint(location, "joined_turns", *_JOINED_TURN)
    calls = request.calls
    # The message is of the model, and the last turn is not.
    begins_answer = role == "assistant" != request.role
    if begins_answer:
        # A result after a new turn of the model does not answer a call before that turn.
        request.calls = new_calls()
    if text and message._details is NO_DETAILS and not text.isspace():
        params = [{**request.dialect.text_keys, "text": text}]
        if request.notes is not None:
            request.note_plain(index, params[0])
    else:
        params = write_message(request, location)
    _add_message(request, location, params)
    if begins_answer and request.role != "assistant":
        # The message was empty, so there is no new turn.
        request.calls = calls


_JOINED_TURN = ("a turn after one of the same role", "the target joins them into one turn")
"""The subject and the reason of the hint about joined turns."""


def _is_joined(request: Turns, index: int) -> bool:
    """Return whether a message becomes one turn with the message before it, which is a hint."""
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
        request.pending_is_open = bool(request.calls)
    else:
        for param in params:
            if request.pending:
                _send_instructions(request, role)
            if role == "user" and request.dialect.is_result(param):
                _add_result(request, location.message_index, param)
            else:
                _add(request, location.message_index, role, param, is_open=bool(request.calls))


def _add_result(request: Turns, index: int, param: Param) -> None:
    """Add a result after the results at the beginning of the last user turn, or to a new turn.

    If results have their own turn, a text between a call and its result moves after the result.
    """
    request.last_message_index = index
    if request.role != "user":
        _begin_turn(request, "user", param)
        request.result_count = 1
    elif request.dialect.separate_results and not request.result_count:
        before = request.payload_messages[-2:-1]
        if before and before[0]["role"] == "user":
            before[0]["content"].append(param)
        else:
            request.payload_messages.insert(-1, {"role": "user", "content": [param]})
    else:
        request.content.insert(request.result_count, param)
        request.result_count += 1


def _add(request: Turns, index: int, role: str, param: Param, *, is_open: bool) -> None:
    """Add a param of the message at ``index`` to the last turn, or to a new turn.

    Files that were moved out of results come directly after the results. ``is_open`` says whether
    calls had no result at the location of the message.
    """
    if request.moved_files:
        _add_moved_files(request)
    is_after_results = request.dialect.separate_results and request.result_count > 0
    if (
        role != request.role
        or is_after_results
        or _stays_apart(request, index, role, is_open=is_open)
    ):
        _begin_turn(request, role, param)
    else:
        request.content.append(param)
    request.last_message_index = index


def _stays_apart(request: Turns, index: int, role: str, *, is_open: bool) -> bool:
    """Return whether a message stays a separate turn, although the turn before has the same role.

    The services require that results and the message after them are one turn. Instructions in a row
    are one turn, too.
    """
    if not request.is_split or role == "system" or index == request.last_message_index:
        return False
    # A message after a call or after its result stays in the turn of the result.
    after_result = request.messages[request.last_message_index].role == "tool"
    return role == "assistant" or not (is_open or after_result)


def _begin_turn(request: Turns, role: str, param: Param) -> None:
    """Begin a turn with a param.

    The first turn must be the user's, or have a compaction. If it does not, a user turn is added
    before it, with a hint.
    """
    is_first = not request.payload_messages
    if is_first and role != "user" and not compacts(request.facts.provider, param):
        opening = [{**request.dialect.text_keys, "text": OPENING}]
        request.payload_messages.append({"role": "user", "content": opening})
        request.losses.append(MODEL_FIRST)
    request.role, request.content, request.result_count = role, [param], 0
    request.payload_messages.append({"role": role, "content": request.content})


def _add_moved_files(request: Turns) -> None:
    """Add the files that were moved out of results to the user turn after the results."""
    for param in request.take_moved_files(request.dialect.text_keys):
        _add(request, request.last_message_index, "user", param, is_open=bool(request.calls))


def _finish(request: Turns) -> None:
    """Send the last instructions, and remove white space from a last turn of the model."""
    if request.moved_files:
        _add_moved_files(request)
    _send_instructions(request, "")
    if request.role != "assistant" or request.calls:
        return
    # The writer later puts params of ``first_kind`` before the others, so they will not be last.
    last = len(request.content) - 1
    while last > 0 and request.content[last].get("type") == request.dialect.first_kind:
        last -= 1
    param = request.content[last]
    text = str(param.get("text", ""))
    if text != text.rstrip() and request.dialect.signed_keys.isdisjoint(param):
        request.content[last] = trimmed = {**param, "text": text.rstrip()}
        request.note_change(param, trimmed)
        _move_marks(request, 0, {id(param): trimmed})
        request.lose_trailing()


def valid_reasoning_from(prompt: Prompt) -> int:
    """Return the index of the first message whose reasoning is still valid.

    Some models accept their reasoning only after the same bytes as before: Anthropic documents this
    for preserved thinking. For messages before this index, a budget or grounding changed the bytes.
    """
    messages = prompt.messages
    changed_until = prompt.untrimmed_from
    if _GROUNDING_KINDS.isdisjoint(map(_kind, messages)):
        return changed_until
    last_grounding = max(n for n, message in enumerate(messages) if message.kind in FLEETING)
    # The last question is a user's turn of the conversation that has no results.
    last_question = -1
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        has_results = any(block.type == "tool_result" for block in message.content)
        if message.role == "user" and message.kind in SPOKEN_KINDS and not has_results:
            last_question = index
            break
    if last_grounding > last_question or messages[last_question].kind == "trailed":
        return len(messages)
    return max(last_question, changed_until)


def _send_instructions(request: Turns, following: str) -> None:
    """Write the pending instructions. ``following`` is the role of the next turn, empty at the end.

    If the model takes instructions here, they become a system message, otherwise user text.
    """
    pending, request.pending = request.pending, []
    if not pending:
        return
    _add_moved_files(request)
    if following != "user" and _takes_instructions(request, pending):
        _send_as_system(request, pending)
        return
    replaced: dict[int, Param] = {}
    for location, params in pending:
        for param in _fenced(request, location, params, replaced):
            _add(request, location.message_index, "user", param, is_open=request.pending_is_open)
    _move_marks(request, pending[0][0].message_index, replaced)


def _takes_instructions(request: Turns, pending: Sequence[PendingInstruction]) -> bool:
    """Return whether the model takes instructions after the last turn.

    It takes them only after a user turn without open calls.
    """
    facts = request.facts
    is_in_conversation = pending[0][0].message_index >= request.conversation_start
    if not (facts.instructions and is_in_conversation and request.role == "user"):
        return False
    has_text = any("text" in param for _, params in pending for param in params)
    if (
        has_text
        and not facts.result_instructions
        and request.dialect.is_result(request.content[-1])
    ):
        return False
    return not request.pending_is_open


def _send_as_system(request: Turns, pending: Sequence[PendingInstruction]) -> None:
    """Write instructions as one system message in the conversation."""
    for location, _ in pending[1:]:
        if request.is_split or location.message.kind == "recorded_system":
            request.hint(location, "joined_turns", *_JOINED_TURN)
    for location, params in pending:
        for param in params:
            _add(request, location.message_index, "system", param, is_open=request.pending_is_open)


_MISPLACED = (
    "this model takes instructions only after a user message without open calls, and not before "
    "another one"
)


def _fenced(
    request: Turns, location: Location, params: list[Param], replaced: dict[int, Param]
) -> list[Param]:
    """Return the params of an instruction as user text in a ``developer`` tag.

    Events and grounding have a tag already. Content that is not text, such as a change of the
    tools, is lost. Each new param is added to ``replaced``, by the ``id()`` of the old param.
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
        replaced[id(param)] = fenced_param = {**param, "text": fenced("developer", param["text"])}
        request.note_change(param, fenced_param, fence="developer")
    return [replaced[id(param)] for param in params]


def _move_marks(request: Turns, first: int, replaced: Mapping[int, Param]) -> None:
    """Move cache marks to the params that replaced others, in messages from index ``first`` on.

    ``replaced`` has the new param by the ``id()`` of the old param.
    """
    for index in range(len(request.marks) - 1, -1, -1):
        mark = request.marks[index]
        if mark.message_index < first:
            break
        if id(mark.param) in replaced:
            request.marks[index] = mark._replace(param=replaced[id(mark.param)])


def write_marks(
    request: Turns, tools: list[Param], with_mark: Callable[[Param, Param], list[Param]]
) -> None:
    """Write the cache marks that the request may have: at most four, an hour before five minutes.

    ``with_mark`` returns the params that replace a param with a mark. Its second argument is the
    time to live as a dictionary, empty for the default.
    """
    turns = [
        (index, turn)
        for index, turn in enumerate(request.payload_messages)
        if is_list(turn["content"])
    ]
    params_in_order = chain(tools, request.system, *(turn["content"] for _, turn in turns))
    marked: dict[int, list[Param]] = {}
    for mark in choose_marks(request, params_in_order, ordered=True):
        marked[id(mark.param)] = params = with_mark(mark.param, ttl_of(mark.cache))
        request.note_change(mark.param, params[0])

    def with_marks(params: list[Param]) -> list[Param]:
        return [new for param in params for new in marked.get(id(param), (param,))]

    tools[:] = with_marks(tools)
    request.system = with_marks(request.system)
    for index, turn in turns:
        # Another request may share the turn, so it is replaced.
        if not marked.keys().isdisjoint(map(id, turn["content"])):
            request.payload_messages[index] = {**turn, "content": with_marks(turn["content"])}


# The ids of calls and the names of tools, as a service requires them.
#
# ``call_id`` and ``result_id`` are for providers with two sides. Others use ``fitting_id``.


def call_id(request: Turns, id: str, name: str = "") -> str:
    """Return the unique id that a call has in the payload, and keep it for the result."""
    payload_id = id
    is_short = len(id) <= request.dialect.longest_id
    if id in request.uses or not (is_short and id.isascii() and id.isidentifier()):
        payload_id = _unique(request, id)
    else:
        request.uses[id] = 1
    request.called_tools[payload_id] = name
    request.calls.add(id, payload_id)
    return payload_id


def result_id(request: Turns, id: str) -> str:
    """Return the id that a result has in the payload: that of the first open call with this id."""
    dialect = request.dialect
    return request.calls.answer(id) or mended(id, dialect.longest_id, dialect.refused)


def _unique(request: Turns, id: str) -> str:
    """Return a unique id. The n-th call with an id gets the ending ``_n``.

    The id depends on earlier calls only.
    """
    uses, longest = request.uses, request.dialect.longest_id
    stem = mended(id, longest, request.dialect.refused)
    count = uses.get(id, 0) + 1
    unique_id = stem if count == 1 else _numbered(stem, count, longest)
    while unique_id in uses:
        # Skip the numbers that an earlier search has used.
        count = max(count, request.id_suffixes.get(stem, 1)) + 1
        unique_id = _numbered(stem, count, longest)
        request.id_suffixes[stem] = count
    uses[unique_id] = 0
    uses[id] = count
    return unique_id


def _numbered(stem: str, count: int, longest: int) -> str:
    """Return a text with a number after it, in at most ``longest`` characters."""
    suffix = f"_{count}"
    return stem[: longest - len(suffix)] + suffix


def fitting_id(id: str, longest: int, shortest: int = 0) -> str:
    """Return an id with ``shortest`` to ``longest`` characters.

    An id that cannot be sent is replaced by its beginning and a digest of the complete id, so it
    stays unique.
    """
    if shortest <= len(id) <= longest and is_valid_unicode(id):
        return id
    from hashlib import sha256

    digest = sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    # The digest has 32 characters, and ``_`` is before it.
    return f"{utf8(id)[: max(longest - 33, 0)]}_{digest}"[-longest:]


def exact_id(id: str, length: int) -> str:
    """Return an id that has exactly ``length`` letters and digits, or the digest of another id."""
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
    refused: re.Pattern[str] = REFUSED,
) -> str:
    """Return the unique name that a tool has in the payload: ``_`` replaces refused characters.

    A name that may be sent stays the same. If several names become equal, all but the first get a
    number. Definitions get their names before calls. A changed name is a hint. ``refused`` matches
    a refused character. ``longest`` is the greatest number of characters, by default that of the
    provider.
    """
    payload_name = request.tool_names.get(name)
    if payload_name is None:
        longest = longest or request.facts.wire.longest_name
        payload_name = stem = mended(name, longest, refused)
        while payload_name != name and payload_name in request.taken_names:
            count = request.name_suffixes.get(stem, 1) + 1
            payload_name = _numbered(stem, count, longest)
            request.name_suffixes[stem] = count
        request.tool_names[name] = payload_name
        request.taken_names.add(payload_name)
    if payload_name != name:
        reason = "it has characters that are refused, is too long, or is taken"
        what = f"tool name {name!r}"
        request.hint(subject, "mended_name", what, f"{reason}: sent as {payload_name}")
    return payload_name
