"""The rules that Chat and Responses share: payload parts, cache marks and roles.

First comes the request, then the parts of a message in the order of their writing: marked, joined
to texts, their marks chosen; then the messages: their order and roles; at the end, attachments.

Neighbouring texts become one part, unless a cache mark is between them. The blank line between two
texts is the same with and without a mark, so a mark changes no token. A mark with a time to live is
one that LiteLLM passes on to other providers. It may also be on a tool, a call or a result.
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
    OWN_JOINT,
    Location,
    Param,
    Request,
    joined_texts,
)

MARK = OPENAI.cache_mark_key
LASTING_MARK = "cache_control"
"""The key of a cache mark with a time to live, in Anthropic's format."""
APART = "apart"
"""A key that is never sent: the text with it is not joined with the text before it."""
JOINT = "\n\n"
"""The blank line between neighbouring texts."""


@attrs.define(eq=False)
class ChatLike(Request):
    """A request whose messages have the roles of OpenAI: of Chat, or of Responses.

    ``head`` is the index of the first message that is not an instruction, or the number of messages
    if all are. ``last_question`` is the index of the last message of a user in the conversation, or
    -1 if there is none.
    """

    head: int = attrs.field(init=False)
    last_question: int = attrs.field(init=False)
    placed: frozenset[int] = frozenset()
    """The indices of the instructions that the model behind a gateway takes where they are."""
    leading: list[Param] = attrs.field(factory=new_list)
    """The parts of leading instructions that wait to be sent as one message."""
    thoughts: list[tuple[ReasoningBlock, int]] = attrs.field(factory=new_list)
    """The reasoning of the answer that is being written, each with the index of its block."""

    def __attrs_post_init__(self) -> None:
        self.messages = messages = self.prompt.messages
        self.head, self.last_question = 0, -1
        facts = self.facts
        if not (facts.later_system is True and facts.several_systems):
            spoken = (n for n, message in enumerate(messages) if _speaks(message, facts))
            self.head = next(spoken, len(messages))
        if facts.reasoning_back == "turn":
            last_question = (n for n in range(len(messages) - 1, -1, -1) if _asks(messages[n]))
            self.last_question = next(last_question, -1)
        if facts.behind is not None and facts.instructions and facts.later_system is not True:
            self.placed = _placed(messages, after_results=facts.result_instructions)

    def depends(self, stop: int) -> tuple[object, ...]:
        """Return all that the entries of the first ``stop`` messages depend on, except these."""
        indices = (min(self.head, stop), min(self.last_question, stop))
        placed = self.placed and frozenset(number for number in self.placed if number < stop)
        return (*Request.depends(self, stop), *indices, placed)


def _speaks(message: Message, facts: ModelFacts) -> bool:
    """Return whether a message begins the conversation: it is not an instruction.

    Behind a gateway, an event does not begin the conversation either.
    """
    if message.role in ("system", "developer"):
        return False
    return facts.behind is None or message.kind in SPOKEN_KINDS


def _placed(messages: Sequence[Message], *, after_results: bool) -> frozenset[int]:
    """Return the indices of the instructions that the model takes where they are.

    These are the locations where Anthropic's adapter sends instructions (``two_sided.py``): after a
    user turn of the conversation, and before an answer or at the end.
    """
    placed: set[int] = set()
    waiting: list[int] = []
    has_begun = may_follow = False
    for index, message in enumerate(messages):
        if message.role in ("system", "developer"):
            waiting.append(index)
            continue
        if _is_blank(message):
            continue
        is_answer = message.role == "assistant"
        if may_follow and is_answer:
            placed.update(waiting)
        waiting.clear()
        has_begun |= message.kind in SPOKEN_KINDS
        may_follow = has_begun and not is_answer and (after_results or not _has_result(message))
    if may_follow:
        placed.update(waiting)
    return frozenset(placed)


def _is_blank(message: Message) -> bool:
    """Return whether a message has only white space, so that it is not sent."""
    return all(block.type == "text" and is_blank(block.text) for block in message.content)


def _has_result(message: Message) -> bool:
    return any(block.type == "tool_result" for block in message.content)


def _asks(message: Message) -> bool:
    """Return whether a message is a question of a user: part of the conversation, no results."""
    if message.role != "user" or message.kind not in SPOKEN_KINDS:
        return False
    types = {block.type for block in message.content}
    return "tool_result" not in types and (types > {"text"} or not is_blank(message.text))


_MARKS = frozenset({MARK, LASTING_MARK})
_TEXTS = ("text", "input_text", "output_text")


def marked(
    request: Request, location: Location, cache: str | None, part: Param | None
) -> Param | None:
    """Return the part of a block, with the cache mark of the block if a mark is allowed here."""
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
    """Return why a target does not take reasoning of another origin, empty if it does."""
    facts, origin = request.facts, block.origin
    provider = (facts.behind or facts).provider
    if origin in facts.answer_origins:
        return ""
    if origin is None:
        return "its server is unknown"
    return f"it comes from {origin}, and {provider} does not take it"


def is_current(request: ChatLike, location: Location) -> bool:
    """Return whether the server takes back the reasoning of a message of this age."""
    return request.facts.reasoning_back != "turn" or location.number > request.last_question


_LIST_ROLES = {"developer": "system", "leading": "system", "result": "tool"}
"""The name in ``ModelFacts.list_roles`` of the role of a place, if it has another name there."""


def takes_lists(request: Request, location: Location) -> bool:
    """Return whether a content may be a list of parts at this location."""
    return _LIST_ROLES.get(location.role, location.role) in request.facts.list_roles


def stay_apart(request: Request, location: Location) -> bool:
    """Return whether the texts of a message stay separate parts: recorded so, or by a setting.

    The texts of merged messages are joined.
    """
    message, facts = location.message, request.facts
    if message.kind in RECORDED_KINDS and len(message._origins) < 2:
        return True
    if location.role == "result" and facts.model_wire.results_apart:
        # A result of Gemini is one text, which LiteLLM makes without blank lines.
        return False
    return not (request.prompt.join_texts and facts.joins_texts)


def begin_turn(parts: list[Param], joint: str | None, *, apart: bool = False) -> None:
    """Set ``joint``, the white space before the last part, if it is the first text of a turn.

    The turn was merged with the one before it. Texts with a cache mark between them keep the blank
    line. A text that is ``apart`` stays a separate part.
    """
    if len(parts) < 2 or not _is_text(parts[-1]):
        return
    if apart:
        parts[-1][APART] = True
    elif joint is not None and MARK not in parts[-2]:
        parts[-1][OWN_JOINT] = joint


def as_recorded(parts: list[Param], request: Request) -> list[Param]:
    """Return the parts of a message that is sent as it was recorded."""
    sent: list[Param] = []
    for part in parts:
        sent.append(_without_notes(part))
        request.note_change(part, sent[-1])
    return sent


def _without_notes(part: Param) -> Param:
    """Return a part without our keys for joining texts."""
    if APART not in part and OWN_JOINT not in part:
        return part
    return {key: value for key, value in part.items() if key not in (APART, OWN_JOINT)}


def content_of(request: Request, location: Location, parts: list[Param]) -> str | list[Param]:
    """Return the parts of a message or a result as its content: a text, or a list if allowed."""
    if takes_lists(request, location) or not all(map(_is_text, parts)):
        return joined(parts, request)
    for part in parts:
        part.pop(APART, None)
    return finished(parts, request, takes_lists=False)


def joined(parts: list[Param], request: Request) -> str | list[Param]:
    """Return parts as they are sent. Parts with marks wait until the marks are chosen."""
    return parts if is_marked(parts) else finished(parts, request)


def finished(
    parts: list[Param], request: Request, *, takes_lists: bool = True
) -> str | list[Param]:
    """Return parts with neighbouring texts joined. A single text is a string in most cases.

    The text after a text with a cache mark begins with the blank line.
    """
    sent: list[Param] = []
    for run in _runs(parts):
        part = run[-1]
        if _is_text(part):
            texts = run
            if sent and _is_text(sent[-1]) and APART not in run[0]:
                texts = [{"text": ""}, *run]
            part = {**_without_notes(part), "text": joined_texts(JOINT, texts, request.notes)}
        sent.append(part)
    if not sent:
        return ""
    stays_list = request.takes_lists and takes_lists and request.prompt.lone_text == "list"
    if stays_list or len(sent) > 1 or not _is_text(sent[0]) or not _MARKS.isdisjoint(sent[0]):
        return sent
    text: str = sent[0]["text"]
    return text


def _is_text(part: Param) -> bool:
    return part["type"] in _TEXTS and isinstance(part.get("text"), str)


def _runs(parts: list[Param]) -> list[list[Param]]:
    """Return the parts as lists: neighbouring texts up to a cache mark, each other part alone."""
    runs: list[list[Param]] = []
    for part in parts:
        if runs and _are_joined(runs[-1][-1], part):
            runs[-1].append(part)
        else:
            runs.append([part])
    return runs


def _are_joined(before: Param, part: Param) -> bool:
    """Return whether two neighbouring parts are sent as one text."""
    are_texts = _is_text(before) and _is_text(part)
    return are_texts and APART not in part and _MARKS.isdisjoint(before)


def add_error_text(request: Request, parts: list[Param], error: str, *, kind: str) -> None:
    """Put ``Error:`` before the first part of this kind, or add a text with the error."""
    text_part = next((part for part in parts if part["type"] == kind), None)
    if text_part is None:
        parts.insert(0, {"type": kind, "text": f"Error: {error}"})
    elif not text_part["text"].lower().startswith("error:"):
        text_part["text"] = f"Error: {text_part['text']}"
        request.note_change(text_part, text_part, lead=len("Error: "))


def is_marked(parts: object) -> bool:
    """Return whether parts that are not :func:`joined` yet have a cache mark."""
    return is_list(parts) and any(is_mapping(part) and MARK in part for part in parts)


def _parts_at(entry: Param, key: str) -> Any:  # Any: these may be a text, too
    """Return the parts under a key of an entry. With an empty key the entry itself is the part."""
    if not key:
        return [entry]
    return entry.get(key)


def finish_marked_parts(
    request: Request, tools: list[Param], keys_of: Callable[[Param], Sequence[str]]
) -> None:
    """Keep the cache marks that a request may have, and join texts whose mark is not kept.

    ``keys_of`` returns the keys of an entry whose parts may have a mark.
    """
    if not request.marks:
        return
    entries, lasting = request.entries, request.facts.lasting_marks
    locations = [
        (index, key)
        for index, entry in enumerate(entries)
        for key in keys_of(entry)
        if is_marked(_parts_at(entry, key))
    ]
    parts = [*tools, *(part for index, key in locations for part in _parts_at(entries[index], key))]
    kept = {id(mark.param): mark.cache for mark in choose_marks(request, parts, ordered=lasting)}

    def with_chosen_mark(part: Param) -> Param:
        cache = kept.get(id(part))
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
        # The entry may be shared with another request, so it is replaced.
        sent = [with_chosen_mark(part) for part in _parts_at(entries[index], key)]
        entry = {**entries[index], key: finished(sent, request)} if key else sent[0]
        request.note_change(entries[index], entry)
        entries[index] = entry


def first_spoken(entries: Sequence[Param]) -> int:
    """Return the index of the first entry that is no instruction, or the number of entries."""
    for index, entry in enumerate(entries):
        if entry.get("role") not in ("system", "developer"):
            return index
    return len(entries)


_OF_MODEL = re.compile("reasoning|.*_call")
"""The types of items that the model writes, except messages."""


def open_conversation(request: Request, losses: int) -> None:
    """Send a text of a user first if the conversation begins with the model.

    The hint about it is inserted at the index ``losses``, before the losses of messages.
    """
    entries = request.entries
    first = first_spoken(entries)
    if first == len(entries):
        return
    role, kind = entries[first].get("role"), str(entries[first].get("type"))
    if role == "assistant" or _OF_MODEL.fullmatch(kind):
        content = finished([{"type": "text", "text": OPENING}], request)
        entries.insert(first, {"role": "user", "content": content})
        request.losses.insert(losses, MODEL_FIRST)


def trim_answer(request: Request) -> None:
    """Remove the white space at the end of the last answer, unless the answer has an id."""
    entry = request.entries[-1] if request.entries else {}
    if entry.get("role") != "assistant" or "tool_calls" in entry or "id" in entry:
        return
    content = entry["content"]
    if isinstance(content, str):
        trimmed: str | list[Param] = content.rstrip()
    elif content and _is_text(content[-1]):
        trimmed = [*content[:-1], {**content[-1], "text": content[-1]["text"].rstrip()}]
    else:
        return
    if trimmed != content:
        # The entry may be shared with another request, so it is replaced.
        request.entries[-1] = {**entry, "content": trimmed}
        request.note_change(entry, request.entries[-1])
        request.lose_trailing()


_WHY_FENCED = "takes no system message after the first, so the text is sent in a user message"
_WHY_MISPLACED = "the model takes no system message here, so the text is sent in a user message"
_MAYBE = (
    "some servers refuse a system message after the first: name the server, such as "
    "provider='mistral', or register later_system"
)


def sent_role(request: ChatLike, location: Location, parts: list[Param]) -> str:
    """Return the role in which a user, system or developer message is sent.

    ``parts`` are the parts of its text. A server may take only one system message, the first. Then
    a later instruction is sent as user text in a tag. Events and grounding have a tag already.
    """
    role, facts, message = _native_role(request, location), request.facts, location.message
    # At a gateway, events and grounding are not leading instructions.
    is_behind = facts.behind is not None
    leads = location.number < request.head and (message.kind in SPOKEN_KINDS or not is_behind)
    if role == "user" or leads or facts.later_system is True:
        return role
    if is_behind and (message.kind in RECORDED_KINDS or location.number in request.placed):
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
    """Return the bytes and the name of a document, ``None`` if the source has no bytes."""
    media_type = plain_type(source.media_type) or "application/pdf"
    if source.kind != "base64" or "," in media_type:
        return None
    data = f"data:{media_type};base64,{source.value}"
    return {"file_data": data, "filename": file_name(title, media_type)}


_ADDRESS = re.compile(r"\s*[a-z][a-z0-9+.-]{1,15}://", re.IGNORECASE)


def read_file_data(text: str, media_type: str | None = None) -> MediaSource:
    """Return the source of a file's data: a data URL, bare base64, or an address.

    Some servers take an address there (OpenRouter, recorded in August 2026).
    """
    if _ADDRESS.match(text):
        return MediaSource("url", text.strip(), media_type, from_data=True)
    return data_url(text) or MediaSource("base64", text, media_type, from_data=True)


def read_picture(url: str) -> MediaSource:
    """Return the source of a picture: its bytes where a data URL has them, else its address."""
    source = data_url(url)
    if source and plain_type(source.media_type) in _IMAGE_TYPES:
        return source
    return MediaSource("url", url, from_data=True)
