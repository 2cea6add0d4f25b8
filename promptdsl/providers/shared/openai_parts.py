"""The rules that Chat and Responses share: payload parts, cache marks and roles.

First comes the request. Then come the parts of a message, in the order in which an adapter handles
them: it marks parts, joins texts, and chooses the marks to send. Then come the order and the roles
of messages, and attachments at the end.

Neighbouring texts become one part, unless a cache mark is between them. A mark changes no token,
because the blank line between two texts is the same with and without it. LiteLLM passes marks with
a time to live on to other providers. Such a mark may also be on a tool, a call or a result.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.records import OPENAI
from promptdsl.foundation.frozen import is_list, is_mapping, new_list
from promptdsl.foundation.unicode import is_blank
from promptdsl.messages import ReasoningBlock
from promptdsl.messages.details import RECORDED_KINDS, SPOKEN_KINDS
from promptdsl.messages.media_type import MediaSource, data_url, plain_type
from promptdsl.messages.message import Message
from promptdsl.providers.shared.blocks import fenced, file_name
from promptdsl.providers.shared.cache_marks import choose_marks, ttl_of
from promptdsl.providers.shared.request import (
    MODEL_FIRST,
    OPENING,
    OWN_SEPARATOR,
    Location,
    Param,
    Request,
    joined_texts,
)

MARK = OPENAI.cache_mark_key
LASTING_MARK = "cache_control"
"""The key of a cache mark with a time to live, in Anthropic's format."""
APART = "apart"
"""The key of a text part that is not joined with the text before it. The key is never sent."""
SEPARATOR = "\n\n"
"""The blank line between neighbouring texts."""


@attrs.define(eq=False)
class ChatLike(Request):
    """A request whose messages have the roles of OpenAI: of Chat, or of Responses.

    ``conversation_start`` is the index of the first message that is not an instruction, or the
    number of messages. It is 0 if the target takes several system messages, at any location.

    ``last_question`` is the index of the last question of the user. It is -1 without one, and if
    the age of reasoning does not matter for the target.
    """

    conversation_start: int = attrs.field(init=False)
    last_question: int = attrs.field(init=False)
    accepted_instructions: frozenset[int] = frozenset()
    """The indices of the instructions that the model behind a gateway takes at their location."""
    leading_parts: list[Param] = attrs.field(factory=new_list)
    """The parts of leading instructions, which are sent later as one message."""
    pending_reasoning: list[tuple[ReasoningBlock, int]] = attrs.field(factory=new_list)
    """The reasoning of the current answer, each with the index of its block."""

    def __attrs_post_init__(self) -> None:
        self.messages = messages = self.prompt.messages
        self.conversation_start, self.last_question = 0, -1
        facts = self.facts
        if not (facts.later_system is True and facts.several_systems):
            spoken_indices = (
                index for index, message in enumerate(messages) if _speaks(message, facts)
            )
            self.conversation_start = next(spoken_indices, len(messages))
        if facts.reasoning_back == "turn":
            questions = (
                index for index in range(len(messages) - 1, -1, -1) if _asks(messages[index])
            )
            self.last_question = next(questions, -1)
        if facts.behind is not None and facts.instructions and facts.later_system is not True:
            self.accepted_instructions = _accepted_instructions(
                messages, after_results=facts.result_instructions
            )

    def depends(self, stop: int) -> tuple[object, ...]:
        """Return all that the writing of the first ``stop`` messages depends on, except these."""
        indices = (min(self.conversation_start, stop), min(self.last_question, stop))
        accepted = self.accepted_instructions and frozenset(
            index for index in self.accepted_instructions if index < stop
        )
        return (*Request.depends(self, stop), *indices, accepted)


def _speaks(message: Message, facts: ModelFacts) -> bool:
    """Return whether a message can begin the conversation: it is not an instruction.

    Behind a gateway, it is no event and no grounding either.
    """
    if message.role in ("system", "developer"):
        return False
    return facts.behind is None or message.kind in SPOKEN_KINDS


def _accepted_instructions(messages: Sequence[Message], *, after_results: bool) -> frozenset[int]:
    """Return the indices of the instructions that the model takes at their location.

    Anthropic's adapter sends instructions at the same locations (``two_sided.py``): after a user
    turn of the conversation, and before an answer or at the end.
    """
    accepted: set[int] = set()
    pending: list[int] = []
    has_started = may_follow = False
    for index, message in enumerate(messages):
        if message.role in ("system", "developer"):
            pending.append(index)
            continue
        if _is_blank(message):
            continue
        is_answer = message.role == "assistant"
        if may_follow and is_answer:
            accepted.update(pending)
        pending.clear()
        has_started |= message.kind in SPOKEN_KINDS
        may_follow = has_started and not is_answer and (after_results or not _has_result(message))
    if may_follow:
        accepted.update(pending)
    return frozenset(accepted)


def _is_blank(message: Message) -> bool:
    """Return whether a message has only white space. Such a message is not sent."""
    return all(block.type == "text" and is_blank(block.text) for block in message.content)


def _has_result(message: Message) -> bool:
    return any(block.type == "tool_result" for block in message.content)


def _asks(message: Message) -> bool:
    """Return whether a message is a question of the user, not an event, a result or blank."""
    if message.role != "user" or message.kind not in SPOKEN_KINDS:
        return False
    types = {block.type for block in message.content}
    return "tool_result" not in types and (types > {"text"} or not is_blank(message.text))


_MARKS = frozenset({MARK, LASTING_MARK})
"""The keys of cache marks on a part."""
_TEXTS = ("text", "input_text", "output_text")
"""The types of text parts: of Chat, and of Responses."""


def marked(
    request: Request, location: Location, cache: str | None, part: Param | None
) -> Param | None:
    """Return the part of a block, with the block's cache mark if the target takes a mark here.

    If it does not, a hint is recorded.
    """
    facts = request.facts
    if cache is None:
        return part
    is_refused = location.message.role == "assistant" and not facts.answer_marks
    is_refused |= not takes_lists(request, location)
    if part is None or is_refused or not facts.cache_marks:
        why = "the target takes no cache mark here"
        request.hint(location, "cache_mark", "cache mark", why)
        return part
    if cache == "1h" and not facts.lasting_marks:
        why = "the request sets how long cache marks live"
        request.hint(location, "cache_mark", "an hour to live", why)
    if MARK not in part:
        part[MARK] = {"mode": "explicit"}
        request.mark(location, part, cache)
    return part


def why_foreign(request: ChatLike, block: ReasoningBlock) -> str:
    """Return why the target does not take reasoning of this origin, empty if it does."""
    facts, origin = request.facts, block.origin
    provider = (facts.behind or facts).provider
    if origin in facts.answer_origins:
        return ""
    if origin is None:
        return "its server is unknown"
    return f"it comes from {origin}, and {provider} does not take it"


def is_current(request: ChatLike, location: Location) -> bool:
    """Return whether a message is new enough that the server takes its reasoning back.

    Some servers take back only the reasoning after the last question of the user.
    """
    return request.facts.reasoning_back != "turn" or location.message_index > request.last_question


_LIST_ROLES = {"developer": "system", "leading": "system", "result": "tool"}
"""By the role of a location, its name in ``ModelFacts.list_roles``, if that is another one."""


def takes_lists(request: Request, location: Location) -> bool:
    """Return whether a content may be a list of parts at this location."""
    return _LIST_ROLES.get(location.role, location.role) in request.facts.list_roles


def stay_apart(request: Request, location: Location) -> bool:
    """Return whether the texts of a message stay separate parts.

    They do in a recorded message that was not merged with others. In any other message they do if
    the author's setting or the server asks for it.
    """
    message, facts = location.message, request.facts
    if message.kind in RECORDED_KINDS and len(message._origins) < 2:
        return True
    if location.role == "result" and facts.model_wire.results_apart:
        # A result of Gemini is one text, which LiteLLM makes without blank lines.
        return False
    return not (request.prompt.join_texts and facts.joins_texts)


def begin_turn(parts: list[Param], separator: str | None, *, apart: bool = False) -> None:
    """Note the white space before the last part if the part is the first text of a merged turn.

    ``separator`` is this white space, ``None`` if no turn begins here. After a text with a cache
    mark, the blank line stays. With ``apart``, the text stays a separate part.
    """
    if len(parts) < 2 or not _is_text(parts[-1]):
        return
    if apart:
        parts[-1][APART] = True
    elif separator is not None and MARK not in parts[-2]:
        parts[-1][OWN_SEPARATOR] = separator


def as_recorded(parts: list[Param], request: Request) -> list[Param]:
    """Return the parts of a message that is sent as recorded: its texts are not joined."""
    payload_parts: list[Param] = []
    for part in parts:
        payload_parts.append(_without_notes(part))
        request.note_change(part, payload_parts[-1])
    return payload_parts


def _without_notes(part: Param) -> Param:
    """Return a part without our own keys, which say how to join texts."""
    if APART not in part and OWN_SEPARATOR not in part:
        return part
    return {key: value for key, value in part.items() if key not in (APART, OWN_SEPARATOR)}


def content_of(request: Request, location: Location, parts: list[Param]) -> str | list[Param]:
    """Return the content of a message or a result: one text, or a list of parts if allowed."""
    if takes_lists(request, location) or not all(map(_is_text, parts)):
        return joined(parts, request)
    for part in parts:
        part.pop(APART, None)
    return finished_parts(parts, request, takes_lists=False)


def joined(parts: list[Param], request: Request) -> str | list[Param]:
    """Return the content that parts become.

    Parts with cache marks stay unchanged, until :func:`finish_marked_parts` has chosen the marks.
    """
    return parts if is_marked(parts) else finished_parts(parts, request)


def finished_parts(
    parts: list[Param], request: Request, *, takes_lists: bool = True
) -> str | list[Param]:
    """Return parts in which neighbouring texts are joined. A single text becomes a string.

    After a text with a cache mark, the next text begins with the blank line. A single text stays a
    list if it has a mark, or if the setting ``lone_text`` asks for a list.
    """
    payload_parts: list[Param] = []
    for run in _runs(parts):
        part = run[-1]
        if _is_text(part):
            texts = run
            if payload_parts and _is_text(payload_parts[-1]) and APART not in run[0]:
                texts = [{"text": ""}, *run]
            part = {**_without_notes(part), "text": joined_texts(SEPARATOR, texts, request.notes)}
        payload_parts.append(part)
    if not payload_parts:
        return ""
    stays_list = request.takes_lists and takes_lists and request.prompt.lone_text == "list"
    if (
        stays_list
        or len(payload_parts) > 1
        or not _is_text(payload_parts[0])
        or not _MARKS.isdisjoint(payload_parts[0])
    ):
        return payload_parts
    text: str = payload_parts[0]["text"]
    return text


def _is_text(part: Param) -> bool:
    return part["type"] in _TEXTS and isinstance(part.get("text"), str)


def _runs(parts: list[Param]) -> list[list[Param]]:
    """Return lists of parts. Texts up to a cache mark are one list, any other part is a list."""
    runs: list[list[Param]] = []
    for part in parts:
        if runs and _are_joined(runs[-1][-1], part):
            runs[-1].append(part)
        else:
            runs.append([part])
    return runs


def _are_joined(before: Param, part: Param) -> bool:
    """Return whether two neighbouring parts become one text."""
    are_texts = _is_text(before) and _is_text(part)
    return are_texts and APART not in part and _MARKS.isdisjoint(before)


def add_error_text(request: Request, parts: list[Param], error: str, *, kind: str) -> None:
    """Put ``Error:`` before the first part of type ``kind``, or add a text with the error."""
    text_part = next((part for part in parts if part["type"] == kind), None)
    if text_part is None:
        parts.insert(0, {"type": kind, "text": f"Error: {error}"})
    elif not text_part["text"].lower().startswith("error:"):
        text_part["text"] = f"Error: {text_part['text']}"
        request.note_change(text_part, text_part, lead=len("Error: "))


def is_marked(parts: object) -> bool:
    """Return whether a list of parts has a cache mark. A text has none."""
    return is_list(parts) and any(is_mapping(part) and MARK in part for part in parts)


def _parts_at(message: Param, key: str) -> Any:  # Any: these may be a text, too
    """Return the parts under a key of a message. With an empty key, the message is the part."""
    if not key:
        return [message]
    return message.get(key)


def finish_marked_parts(
    request: Request, tools: list[Param], keys_of: Callable[[Param], Sequence[str]]
) -> None:
    """Remove the cache marks that a request may not have, and join the texts of marked parts.

    ``keys_of`` returns the keys of a payload message whose parts may have a mark.
    """
    if not request.marks:
        return
    messages, lasting = request.payload_messages, request.facts.lasting_marks
    locations = [
        (index, key)
        for index, message in enumerate(messages)
        for key in keys_of(message)
        if is_marked(_parts_at(message, key))
    ]
    parts = [
        *tools,
        *(part for index, key in locations for part in _parts_at(messages[index], key)),
    ]
    cache_by_part = {
        id(mark.param): mark.cache for mark in choose_marks(request, parts, ordered=lasting)
    }

    def with_chosen_mark(part: Param) -> Param:
        cache = cache_by_part.get(id(part))
        if cache and not lasting:
            return part
        new = dict(part)
        new.pop(MARK, None)
        if cache:
            new[LASTING_MARK] = {"type": "ephemeral", **ttl_of(cache)}
        request.note_change(part, new)
        return new

    tools[:] = map(with_chosen_mark, tools)
    for index, key in locations:
        # Another request may share the message, so it is replaced.
        payload_parts = [with_chosen_mark(part) for part in _parts_at(messages[index], key)]
        message = (
            {**messages[index], key: finished_parts(payload_parts, request)}
            if key
            else payload_parts[0]
        )
        request.note_change(messages[index], message)
        messages[index] = message


def first_of_conversation(messages: Sequence[Param]) -> int:
    """Return the index of the first message that is no instruction, or the number of messages."""
    for index, message in enumerate(messages):
        if message.get("role") not in ("system", "developer"):
            return index
    return len(messages)


_OF_MODEL = re.compile("reasoning|.*_call")
"""The types of items that the model writes, except messages."""


def open_conversation(request: Request, loss_index: int) -> None:
    """Send a text of a user first if the conversation begins with the model.

    Its hint is inserted at ``loss_index``, before the losses of messages.
    """
    messages = request.payload_messages
    first = first_of_conversation(messages)
    if first == len(messages):
        return
    role, kind = messages[first].get("role"), str(messages[first].get("type"))
    if role == "assistant" or _OF_MODEL.fullmatch(kind):
        content = finished_parts([{"type": "text", "text": OPENING}], request)
        messages.insert(first, {"role": "user", "content": content})
        request.losses.insert(loss_index, MODEL_FIRST)


def trim_answer(request: Request) -> None:
    """Remove the white space at the end of the last answer, unless it has an id or calls."""
    answer = request.payload_messages[-1] if request.payload_messages else {}
    if answer.get("role") != "assistant" or "tool_calls" in answer or "id" in answer:
        return
    content = answer["content"]
    if isinstance(content, str):
        trimmed: str | list[Param] = content.rstrip()
    elif content and _is_text(content[-1]):
        trimmed = [*content[:-1], {**content[-1], "text": content[-1]["text"].rstrip()}]
    else:
        return
    if trimmed != content:
        # Another request may share the answer, so it is replaced.
        request.payload_messages[-1] = {**answer, "content": trimmed}
        request.note_change(answer, request.payload_messages[-1])
        request.lose_trailing()


_WHY_FENCED = "takes no system message after the first, so the text is sent in a user message"
_WHY_MISPLACED = "the model takes no system message here, so the text is sent in a user message"
_MAYBE = (
    "some servers refuse a system message after the first: name the server, such as "
    "provider='mistral', or register later_system"
)


def role_of(request: ChatLike, location: Location, parts: list[Param]) -> str:
    """Return the role that a user, system or developer message has in the payload.

    Some servers take only one system message, the first. A later instruction then becomes user text
    in a tag: this changes the texts in ``parts``. Events and grounding have a tag already.
    """
    role, facts, message = _native_role(request, location), request.facts, location.message
    # Behind a gateway, events and grounding are not leading instructions.
    is_gateway = facts.behind is not None
    leads = location.message_index < request.conversation_start and (
        message.kind in SPOKEN_KINDS or not is_gateway
    )
    if role == "user" or leads or facts.later_system is True:
        return role
    if is_gateway and (
        message.kind in RECORDED_KINDS or location.message_index in request.accepted_instructions
    ):
        return role
    if facts.later_system is None:
        request.hint(location, "later_instruction", f"{message.role} message", _MAYBE)
        return role
    if message.kind in SPOKEN_KINDS:
        reason = _WHY_MISPLACED if facts.instructions else f"{facts.provider} {_WHY_FENCED}"
        request.hint(location, "fenced_turn", f"{message.role} message", reason)
        for part in parts:
            if _is_text(part):
                part["text"] = fenced("developer", part["text"])
                request.note_change(part, part, fence="developer")
    return "user"


def _native_role(request: Request, location: Location) -> str:
    """Return the role of a message, without the rules about later instructions.

    If the model takes no instructions, the role is ``user``, which is a loss.
    """
    message, facts = location.message, request.facts
    if message.role == "user":
        return "user"
    if not facts.system:
        reason = (
            "this model takes neither system nor developer messages, so the text is sent in a user "
            "message"
        )
        request.lose(location, "role", f"{message.role} message", reason)
        return "user"
    # A recorded system message is sent as a system message, at its location.
    system = message.role == "system" or message.kind == "recorded_system"
    has_role = facts.developer or (facts.behind is not None and message.kind == "recorded")
    return "system" if system or not has_role else "developer"


_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})

IMAGE_DETAILS = ("auto", "low", "high", "original")


def picture_url(source: MediaSource) -> str | None:
    """Return the address of a picture, ``None`` if its source or media type is not taken."""
    media_type = plain_type(source.media_type)
    if source.kind == "base64" and media_type in _IMAGE_TYPES:
        return f"data:{media_type};base64,{source.value}"
    is_web = source.value[:8].lower().startswith(("http://", "https://"))
    return source.value if source.kind == "url" and is_web else None


def file_data(source: MediaSource, title: str | None) -> Param | None:
    """Return the bytes and the name of a document as keys of a part, ``None`` without bytes."""
    media_type = plain_type(source.media_type) or "application/pdf"
    if source.kind != "base64" or "," in media_type:
        return None
    data_url_text = f"data:{media_type};base64,{source.value}"
    return {"file_data": data_url_text, "filename": file_name(title, media_type)}


_ADDRESS = re.compile(r"\s*[a-z][a-z0-9+.-]{1,15}://", re.IGNORECASE)


def read_file_data(text: str, media_type: str | None = None) -> MediaSource:
    """Return the source of a file's data: a data URL, base64 without a prefix, or an address.

    Some servers take an address there (OpenRouter, recorded in August 2026).
    """
    if _ADDRESS.match(text):
        return MediaSource("url", text.strip(), media_type, from_data=True)
    return data_url(text) or MediaSource("base64", text, media_type, from_data=True)


def read_picture(url: str) -> MediaSource:
    """Return the source of a picture: the bytes in a data URL, or the address."""
    source = data_url(url)
    if source and plain_type(source.media_type) in _IMAGE_TYPES:
        return source
    return MediaSource("url", url, from_data=True)
