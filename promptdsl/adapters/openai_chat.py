"""OpenAI Chat Completions, and servers that speak it.

The rules are those of the service and of ``openai.types.chat``: a tool message for each result,
media in user turns only, names of limited charset, ids of at most 40 characters, no reasoning.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, cast

from promptdsl import blocks as b
from promptdsl.blocks import (
    EMPTY,
    Block,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    text_block,
    tool_result_block,
    tool_use_block,
)
from promptdsl.encoding import is_whole
from promptdsl.errors import DataError, nearest
from promptdsl.losses import Loss, LossKind, loss_of
from promptdsl.messages import NO_DETAILS, Details, Message, Role, message, spoken
from promptdsl.models import ModelFacts
from promptdsl.sources import MediaSource

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

Part: TypeAlias = dict[str, Any]

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
CALLS = frozenset({"function", "custom"})
SPOKEN = frozenset({"user", "assistant"})
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
DETAILS = ("auto", "low", "high", "original")
AUDIO_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
AUDIO_TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}
MARK = "prompt_cache_breakpoint"
MOST_MARKS = 4
LONGEST_ID = 40
SPEAKER = re.compile(r"[^\s<|\\/>\ud800-\udfff]{1,64}")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Payload(TypedDict):
    """Keyword arguments of ``client.chat.completions.create``, model and settings aside."""

    messages: "list[ChatCompletionMessageParam]"


def write(messages: Sequence[Message], facts: ModelFacts) -> tuple[Payload, tuple[Loss, ...]]:
    """Return the request's ``messages``, and everything Chat Completions cannot say of them."""
    draft = _Draft(facts)
    out, fitting = draft.messages, draft.tool_names
    for index, turn in enumerate(messages):
        role, text = turn.role, turn.plain
        # What conversations mostly consist of is written here, without a call.
        if (
            text
            and turn.details is NO_DETAILS
            and (role in SPOKEN or (role == "system" and not out))
        ):
            out.append({"role": role, "content": text})
            continue
        content = turn.content
        block = content[0] if len(content) == 1 and turn.details is NO_DETAILS else None
        if type(block) is ToolResultBlock and role == "tool" and len(block.content) == 1:
            said, id = block.content[0], block.tool_use_id
            short = len(id) <= LONGEST_ID and id.isascii() and not block.is_error
            if short and type(said) is TextBlock and said.cache is block.cache is None:
                out.append({"role": "tool", "tool_call_id": id, "content": said.text})
                continue
        elif type(block) is ToolUseBlock and role == "assistant" and block.name in fitting:
            id, arguments = block.id, block.arguments
            short = len(id) <= LONGEST_ID and id.isascii() and is_whole(arguments)
            if short and block.cache is None and block.extra is EMPTY:
                function = {"name": block.name, "arguments": arguments}
                call = {"id": id, "type": "function", "function": function}
                out.append({"role": "assistant", "content": None, "tool_calls": [call]})
                continue
        _add(draft, index, turn)
    if draft.marks:
        _settle_marks(draft, messages)
    return cast("Payload", {"messages": out}), tuple(draft.losses)


class _Draft:
    """A request being written; ``index`` and ``turn`` are the message at hand."""

    def __init__(self, facts: ModelFacts) -> None:
        self.facts = facts
        self.messages: list[dict[str, Any]] = []
        self.losses: list[Loss] = []
        self.marks: list[tuple[int, Message, Part, bool]] = []
        self.tool_names: set[str] = set()
        self.index: int
        self.turn: Message

    def lose(self, kind: LossKind, what: str, why: str) -> None:
        self.losses.append(loss_of(self.turn, kind, what, why))

    def clean(self, text: str, what: str) -> str:
        clean = re.sub("[\ud800-\udfff]", "\ufffd", text)
        if clean != text:
            self.lose("hint", f"a lone surrogate in {what}", "it has no UTF-8 form")
        return clean


def _add(draft: _Draft, index: int, turn: Message) -> None:
    draft.index, draft.turn = index, turn
    parts = _parts(draft, turn.role, turn.content)
    if not parts:
        return
    if turn.role == "tool":
        draft.lose("content", "text beside a tool result", "it answers no call")
        return
    calls = [part for part in parts if part["type"] in CALLS]
    said = [part for part in parts if part["type"] not in CALLS]
    entry = {"role": _role(draft, turn.role), "content": _joined(said) if said else None}
    if calls:
        entry["tool_calls"] = calls
    if turn.name and draft.facts.names and SPEAKER.fullmatch(turn.name):
        entry["name"] = turn.name
    elif turn.name:
        draft.lose("hint", f"the name {turn.name!r}", "the target takes no such speaker's name")
    draft.messages.append(entry)


def _role(draft: _Draft, role: str) -> str:
    """Return the wire's role; a system message behind the leading run is a developer's."""
    leading = not draft.messages or draft.messages[-1]["role"] == "system"
    if role in SPOKEN or (role == "system" and leading):
        return role
    return "developer" if draft.facts.developer else "system"


def _parts(draft: _Draft, role: str, blocks: Sequence[Block]) -> list[Part]:
    written = [_WRITERS.get(type(block), _unsaid)(draft, role, block) for block in blocks]
    return [part for part in written if part is not None]


def _joined(parts: list[Part]) -> str | list[Part]:
    """Return texts without marks as one string, a blank line between them; else the parts."""
    plain = all(part["type"] == "text" and MARK not in part for part in parts)
    return "\n\n".join(part["text"] for part in parts) if plain else parts


def _unsaid(draft: _Draft, role: str, block: Block) -> None:
    kind: LossKind = "hint" if type(block) is b.ReasoningBlock else "content"
    what = block.data.get("type", "unknown") if isinstance(block, b.UnknownBlock) else block.type
    draft.lose(kind, f"a block of type {what!r}", f"a Chat {role} message has no word for it")


def _text(draft: _Draft, role: str, block: TextBlock) -> Part | None:
    key = "refusal" if role == "assistant" and block.extra.get("refusal") is True else "text"
    return _marked(draft, role, block, {"type": key, key: block.text} if block.text else None)


def _call(draft: _Draft, role: str, block: ToolUseBlock) -> Part | None:
    if role != "assistant":
        _unsaid(draft, role, block)
        return None
    name = block.name
    if TOOL_NAME.fullmatch(name):
        draft.tool_names.add(name)
    else:
        name = re.sub("[^a-zA-Z0-9_-]", "_", name)[:64] or "_"
        draft.lose("hint", f"the tool name {block.name!r}", f"sent as {name!r}, which is legal")
    custom = block.extra.get("custom") is True
    kind, key = ("custom", "input") if custom else ("function", "arguments")
    made = {"name": name, key: draft.clean(block.arguments, key)}
    call = {"id": _id(block.id), "type": kind, kind: made}
    return _marked(draft, role, block, call)


def _result(draft: _Draft, role: str, block: ToolResultBlock) -> None:
    if role not in ("tool", "user"):
        _unsaid(draft, role, block)
        return
    parts = _parts(draft, "result", block.content)
    if block.is_error:
        draft.lose("hint", "the error flag of a result", "Chat has none: the text says it")
        parts = parts or [{"type": "text", "text": block.error_type or "unknown"}]
        told = parts[0]["text"].lower().startswith("error:")
        parts[0]["text"] = parts[0]["text"] if told else f"Error: {parts[0]['text']}"
    _marked(draft, role, block, parts[-1] if parts else None)
    entry = {"role": "tool", "tool_call_id": _id(block.tool_use_id), "content": _joined(parts)}
    draft.messages.append(entry)


def _media(draft: _Draft, role: str, block: b.MediaBlock) -> Part | None:
    part = _MEDIA[block.type](block) if role == "user" and block.type in _MEDIA else None
    if part is None:
        _unsaid(draft, role, block)
        return None
    said = cast("dict[str, str]", part[part["type"]])
    for key, value in said.items():
        said[key] = draft.clean(value, key)
    why = f"Chat has no word for it on a part of type {part['type']!r}"
    if block.title is not None and "filename" not in said:
        draft.lose("hint", f"the title {block.title!r}", why)
    if block.detail is not None and "detail" not in said:
        draft.lose("hint", f"the detail {block.detail!r}", why)
    return _marked(draft, role, block, part)


def _image(block: b.MediaBlock) -> Part | None:
    source = block.source
    if source.kind not in ("url", "base64"):
        return None
    url = source.value if source.kind == "url" else _data_url(source)
    if url.startswith("data:") and _read_data(url).media_type not in IMAGE_TYPES:
        return None
    image = {"url": url}
    if block.detail in DETAILS:
        image["detail"] = block.detail
    return {"type": "image_url", "image_url": image}


def _audio(block: b.MediaBlock) -> Part | None:
    format = AUDIO_FORMATS.get(block.source.media_type or "")
    if block.source.kind != "base64" or format is None:
        return None
    return {"type": "input_audio", "input_audio": {"data": block.source.value, "format": format}}


def _document(block: b.MediaBlock) -> Part | None:
    source, name = block.source, block.title or "document.pdf"
    if source.kind == "file_id":
        return {"type": "file", "file": {"file_id": source.value}}
    if source.kind != "base64":
        return None
    return {"type": "file", "file": {"file_data": _data_url(source), "filename": name}}


def _data_url(source: MediaSource) -> str:
    return f"data:{source.media_type or 'application/pdf'};base64,{source.value}"


def _id(id: str) -> str:
    """Return an id of at most 40 characters; a longer one ends in a digest, so it stays unique."""
    clean = re.sub("[\ud800-\udfff]", "\ufffd", id)
    if clean == id and len(id) <= LONGEST_ID:
        return id
    return f"{clean[:7]}_{sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _marked(draft: _Draft, role: str, block: Any, part: Part | None) -> Part | None:
    """Return the part with its block's cache mark, where there may be one (never on an answer)."""
    if block.cache is None or (part and MARK in part):
        return part
    if part is None or role == "assistant" or not draft.facts.cache_marks:
        draft.lose("hint", "a cache mark", "the target takes none here")
        return part
    if block.cache == "1h":
        draft.lose("hint", "an hour to live", "a mark lives as long as the request says")
    part[MARK] = {"mode": "explicit"}
    draft.marks.append((draft.index, draft.turn, part, block.cache == "1h"))
    return part


def _settle_marks(draft: _Draft, messages: Sequence[Message]) -> None:
    """Keep the four marks that live longest and cover most, none behind unanswered requests."""
    answers = (i for i in reversed(range(len(messages))) if messages[i].role == "assistant")
    tail = range(next(answers, 0), len(messages))
    fresh = next((i for i in tail if messages[i].kind == "request"), len(messages))
    fitting = [mark for mark in reversed(draft.marks) if mark[0] < fresh]
    kept = {id(mark) for mark in sorted(fitting, key=lambda mark: not mark[3])[:MOST_MARKS]}
    for mark in draft.marks:
        if id(mark) not in kept:
            _, draft.turn, part, _ = mark
            del part[MARK]
            draft.lose("hint", "a cache mark", "over four, or behind a request not answered yet")
    for entry in draft.messages:
        if isinstance(entry["content"], list):
            entry["content"] = _joined(cast("list[Part]", entry["content"]))


_MEDIA = {"image": _image, "audio": _audio, "document": _document}
_WRITERS: dict[type, Callable[[_Draft, str, Any], Part | None]] = {
    TextBlock: _text,
    ToolUseBlock: _call,
    ToolResultBlock: _result,
    **dict.fromkeys((b.ImageBlock, b.AudioBlock, b.DocumentBlock), _media),
}


def read(data: object) -> tuple[Message, ...]:
    """Return the messages of a recorded conversation: a list of Chat messages, or what holds one.

    A system message behind the leading run becomes a developer's that remembers what it was. Raises
    :class:`DataError` with the message's index and the key that is wrong.
    """
    given = cast("Mapping[str, Any]", data).get("messages") if isinstance(data, Mapping) else data
    messages: list[Message] = []
    for index, item in enumerate(_list(given, "messages")):
        plain = _read_plain(cast("dict[str, Any]", item)) if type(item) is dict else None
        if plain is None:
            where = f"message {index}"
            plain = _read_message(where, _mapping(item, where), messages)
        messages.append(plain)
    return tuple(messages)


def _read_plain(entries: dict[str, Any]) -> Message | None:
    """Return the message of what most are: a role with one text, a tool's answer in one text."""
    role, text = entries.get("role"), entries.get("content")
    if text is None and role == "assistant" and len(entries) == 3:
        return _read_plain_call(entries.get("tool_calls"))
    if type(text) is not str or not text:
        return None
    if len(entries) == 2 and (role == "user" or role == "assistant"):
        return spoken(role, text, kind="recorded")
    id = entries.get("tool_call_id")
    if len(entries) == 3 and role == "tool" and type(id) is str:
        return message("tool", (tool_result_block(id, (text_block(text),)),), kind="recorded")
    return None


def _read_plain_call(calls: Any) -> Message | None:
    """Return the message of one call of a function and nothing else."""
    call = calls[0] if type(calls) is list and len(calls) == 1 else None
    function = call.get("function") if type(call) is dict and len(call) == 3 else None
    if type(function) is not dict or len(function) != 2 or call.get("type") != "function":
        return None
    id, name, arguments = call.get("id"), function.get("name"), function.get("arguments")
    if not type(id) is type(name) is type(arguments) is str:
        return None
    return message("assistant", (tool_use_block(id, name, arguments),), kind="recorded")


def _read_message(where: str, entries: Mapping[str, Any], before: list[Message]) -> Message:
    role, name = entries.get("role"), _optional(entries, "name", where)
    if role not in ROLES:
        raise DataError(f"{where}: unknown role {role!r}", fix=nearest(str(role), ROLES))
    content = _read_content(where, entries)
    if role in ("tool", "function"):
        id = _legacy_id(before) if role == "function" else _string(entries, "tool_call_id", where)
        return message("tool", (ToolResultBlock(id, content, name),), kind="recorded")
    if role == "assistant":
        content += _read_answer(where, entries, len(before))
    if role == "system" and before and before[-1].role != "system":
        return message("developer", content, kind="recorded_system", details=Details(name=name))
    details = NO_DETAILS if name is None else Details(name=name)
    return message(cast("Role", role), content, kind="recorded", details=details)


def _legacy_id(before: list[Message]) -> str:
    """Return the id of the call just made; results of the function role name none."""
    block = before[-1].content[-1] if before and before[-1].content else None
    return block.id if isinstance(block, ToolUseBlock) else "function_call"


def _read_content(where: str, entries: Mapping[str, Any]) -> tuple[Block, ...]:
    content = entries.get("content")
    if content is None and ("content" in entries or entries["role"] == "assistant"):
        return ()
    if isinstance(content, str):
        return (text_block(content),) if content else ()
    parts = enumerate(_list(content, f"{where}: content"))
    return tuple(_read_part(f"{where}: content[{index}]", part) for index, part in parts)


def _read_answer(where: str, entries: Mapping[str, Any], index: int) -> tuple[Block, ...]:
    """Return what only an assistant's message holds: a refusal, a spoken reply, calls."""
    blocks: list[Block] = []
    if entries.get("refusal"):
        blocks.append(TextBlock(_string(entries, "refusal", where), extra={"refusal": True}))
    if entries.get("audio"):
        blocks.append(b.UnknownBlock({"type": "chat_audio", "audio": entries["audio"]}))
    for number, call in enumerate(_list(entries.get("tool_calls") or (), f"{where}: tool_calls")):
        blocks.append(_read_call(f"{where}: tool_calls[{number}]", call))
    if entries.get("function_call"):
        legacy = {"id": f"function_call_{index}", "function": entries["function_call"]}
        blocks.append(_read_call(f"{where}: function_call", legacy))
    return tuple(blocks)


def _read_call(where: str, data: object) -> ToolUseBlock:
    call = _mapping(data, where)
    custom = call.get("type") == "custom"
    kind, key = ("custom", "input") if custom else ("function", "arguments")
    within = f"{where}: {kind}"
    made = _mapping(call.get(kind), within)
    name, arguments = _string(made, "name", within), _string(made, key, within)
    extra = {"custom": True} if custom else EMPTY
    id = _string(call, "id", where)
    return (
        ToolUseBlock(id, name, arguments, extra=extra)
        if custom
        else tool_use_block(id, name, arguments)
    )


def _read_part(where: str, data: object) -> Block:
    part = _mapping(data, where)
    kind = _string(part, "type", where)
    cache: b.Cache | None = "default" if part.get(MARK) else None
    if kind in ("text", "refusal"):
        extra = {"refusal": True} if kind == "refusal" else EMPTY
        return TextBlock(_string(part, kind, where), cache, extra)
    if kind not in _READERS:
        return b.UnknownBlock(dict(part))
    return _READERS[kind](f"{where}: {kind}", _mapping(part.get(kind), f"{where}: {kind}"), cache)


def _read_image(where: str, image: Mapping[str, Any], cache: b.Cache | None) -> b.ImageBlock:
    source = _read_data(url := _string(image, "url", where))
    if source.media_type not in IMAGE_TYPES:
        source = MediaSource("url", url, from_data=True)
    return b.ImageBlock(source, detail=_optional(image, "detail", where), cache=cache)


def _read_audio(where: str, audio: Mapping[str, Any], cache: b.Cache | None) -> b.AudioBlock:
    format = _string(audio, "format", where)
    media_type = AUDIO_TYPES.get(format, f"audio/{format}")
    source = MediaSource("base64", _string(audio, "data", where), media_type, from_data=True)
    return b.AudioBlock(source, cache=cache)


def _read_file(where: str, file: Mapping[str, Any], cache: b.Cache | None) -> b.DocumentBlock:
    if "file_id" in file:
        source = MediaSource("file_id", _string(file, "file_id", where), from_data=True)
    else:
        source = _read_data(_string(file, "file_data", where))
    return b.DocumentBlock(source, title=_optional(file, "filename", where), cache=cache)


def _read_data(url: str) -> MediaSource:
    """Return the source a data URL holds; what is none is taken for bare base64."""
    head, found, data = url.partition(";base64,")
    if not found or not head.startswith("data:"):
        return MediaSource("base64", url, from_data=True)
    return MediaSource("base64", data, head.removeprefix("data:"), from_data=True)


_READERS: dict[str, Callable[[str, Mapping[str, Any], b.Cache | None], Block]] = {
    "image_url": _read_image,
    "input_audio": _read_audio,
    "file": _read_file,
}


def _list(value: object, where: str) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise DataError(f"{where} is a list, not {type(value).__name__}")
    return cast("Sequence[object]", value)


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if type(value) is not dict and not isinstance(value, Mapping):
        raise DataError(f"{where} is a mapping, not {type(value).__name__}")
    return cast("Mapping[str, Any]", value)


def _string(entries: Mapping[str, Any], key: str, where: str) -> str:
    value = entries.get(key)
    if not isinstance(value, str):
        keys = ", ".join(map(str, entries))
        raise DataError(f"{where} needs {key!r}, a string", fix=f"it has {keys}")
    return value


def _optional(entries: Mapping[str, Any], key: str, where: str) -> str | None:
    return None if entries.get(key) is None else _string(entries, key, where)
