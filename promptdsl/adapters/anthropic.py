"""Anthropic Messages, both ways: the rules of ``anthropic.types`` and of the service's refusals.

Content always goes out as lists of blocks. The law: ``write(read(write(m))) == write(m)``.
"""

import base64
import json
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, NotRequired, TypeAlias, TypedDict, cast

import attrs

from promptdsl import blocks as b
from promptdsl.blocks import EMPTY, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.errors import DataError, nearest
from promptdsl.json_text import read_json, write_json
from promptdsl.losses import Loss, LossKind, loss_of
from promptdsl.messages import NO_DETAILS, ROLES, Message, message
from promptdsl.models import ModelFacts
from promptdsl.sources import MediaSource

if TYPE_CHECKING:
    from anthropic.types import MessageParam, TextBlockParam


class Payload(TypedDict):
    """What ``client.messages.create`` takes of a prompt; ``system`` is left out when empty."""

    system: "NotRequired[list[TextBlockParam]]"
    messages: "list[MessageParam]"


Param: TypeAlias = dict[str, Any]
TURNS: Mapping[str, str | None] = {
    **dict.fromkeys(ROLES),
    **{"user": "user", "tool": "user", "assistant": "assistant"},
}
SPOKEN = frozenset({"written", "recorded", "recorded_system"})
BASE64 = {
    "image": ("image/jpeg", "image/png", "image/gif", "image/webp"),
    "document": ("application/pdf",),
}
EXTRA = {
    "text": ("citations",),
    "image": ("transformations",),
    "document": ("context", "citations"),
    "tool_use": ("caller", "toolset_name"),
    "tool_result": ("toolset_name",),
}
THINKING = {"thinking": "thinking", "redacted_thinking": "data"}
STRINGS = {"text": ("text",), "tool_use": ("id", "name"), "tool_result": ("tool_use_id",)}
MISFIT = re.compile(r"[^a-zA-Z0-9_-]")
SURROGATE = re.compile("[\ud800-\udfff]")
ESCAPED = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
CLOSING = re.compile(r"<(?=\s*/\s*developer\b)", re.IGNORECASE)


def write(messages: Sequence[Message], facts: ModelFacts) -> tuple[Payload, tuple[Loss, ...]]:
    """Return the payload of system, developer, user, assistant and tool messages, and its losses.

    Raises :class:`DataError` for an unknown block that cannot be written as JSON.
    """
    stale = _stale(messages) if facts.binds_reasoning else 0
    request = _Request(messages, facts, _head(messages), stale)
    for index, said in enumerate(messages):
        role, text = TURNS[said.role], said.plain
        # What conversations mostly consist of is written with the fewest calls.
        if role and text and said.details is NO_DETAILS and not text.isspace():
            if request.calls:
                request.answering(role)
            request.add(role, {"type": "text", "text": text})
            continue
        request.index, request.message = index, said
        if role is None:
            request.instruct()
        else:
            request.say(role)
    return request.close(), tuple(request.losses)


def read(data: object) -> tuple[Message, ...]:
    """Return the messages of a payload, or of its list of messages, as recorded ones.

    Raises :class:`DataError` that names the index and the key of what cannot be read.
    """
    system: object = None
    if isinstance(data, Mapping):
        payload = cast("Mapping[str, object]", data)
        system, data = payload.get("system"), _entry(payload, "messages")
    if not isinstance(data, list | tuple):
        raise DataError(f"'messages' is a list, not {type(data).__name__}")
    leading = _located("system", _contents, system)
    found = [message("system", leading, kind="recorded")] if leading else []
    for index, item in enumerate(cast("Sequence[object]", data)):
        found += _located(f"messages[{index}]", _said, item)
    return tuple(found)


class _Mark(NamedTuple):
    param: Param
    cache: str
    place: int
    message: Message


@attrs.define(eq=False)
class _Request:
    """One request while it is being written; ``index`` and ``message`` are the one at hand."""

    messages: Sequence[Message]
    facts: ModelFacts
    head: int  # where the conversation begins
    stale: int  # where reasoning begins that can be sent
    index: int = -1
    message: Message = attrs.field(init=False)
    losses: list[Loss] = attrs.field(factory=list[Loss])
    system: list[Param] = attrs.field(factory=list[Param])
    turns: list[Param] = attrs.field(factory=list[Param])
    role: str = ""
    content: list[Param] = attrs.field(factory=list[Param])
    results: int = 0
    # Of the calls not answered yet, the id sent; and those of an id that its turn uses again.
    calls: dict[str, str] = attrs.field(factory=dict[str, str])
    again: dict[str, deque[str]] = attrs.field(factory=dict[str, deque[str]])
    uses: dict[str, int] = attrs.field(factory=dict[str, int])
    names: set[str] = attrs.field(factory=set[str])
    marks: list[_Mark] = attrs.field(factory=list[_Mark])
    pending: list[tuple[int, Message]] = attrs.field(factory=list[tuple[int, Message]])
    open: bool = False  # whether the pending instructions stand in an unanswered batch

    def lose(self, kind: LossKind, what: str, why: str) -> None:
        self.losses.append(loss_of(self.message, kind, what, why))

    def instruct(self) -> None:
        if self.index < self.head and self.message.kind in SPOKEN:
            self.index = -1
            self.system += self.params()
        else:
            self.pending.append((self.index, self.message))
            self.open = bool(self.calls)

    def say(self, role: str) -> None:
        said, content = self.message, self.message.content
        block = content[0] if len(content) == 1 and said.details is NO_DETAILS else None
        if type(block) is ToolResultBlock and role == "user":
            self.add(role, self.tool_result(block))
        elif type(block) is ToolUseBlock and role == "assistant":
            self.answering(role)
            self.add(role, self.tool_use(block))
        else:
            before = self.calls, self.again
            self.answering(role)
            params = self.params()
            if not params:
                self.calls, self.again = before
            for param in params:
                self.add(role, param)

    def answering(self, role: str) -> None:
        if role == "assistant" and self.calls and self.role != role:
            self.calls, self.again = {}, {}

    def add(self, role: str, param: Param) -> None:
        if self.pending:
            self.settle(role)
        if role != self.role:
            self.role, self.content, self.results = role, [param], 0
            self.turns.append({"role": role, "content": self.content})
        elif param["type"] != "tool_result":
            self.content.append(param)
            return
        else:
            self.content.insert(self.results, param)
        self.results += param["type"] == "tool_result"

    def settle(self, following: str) -> None:
        run, self.pending = self.pending, []
        legal = self.role == "user" and following != "user" and not self.open
        native = legal and self.facts.instructions and run[0][0] >= self.head
        params: list[Param] = []
        for self.index, self.message in run:
            said = self.params()
            params += said if native or not said else self.fold(said)
        for param in params:
            self.add("system" if native else "user", param)

    def fold(self, params: list[Param]) -> list[Param]:
        why = "this model takes none here: sent in the user turn"
        if self.message.kind not in SPOKEN:
            self.lose("hint", f"{self.message.kind} turn as an instruction", why)
            return params
        self.lose("role", f"{self.message.role} message", why)
        for param in params:
            param["text"] = f"<developer>\n{CLOSING.sub('&lt;', param['text'])}\n</developer>"
        return params

    def close(self) -> Payload:
        if self.pending:
            self.settle("")
        if not self.turns:
            self.losses.append(Loss("hint", "messages", "there are none, a request needs one"))
        elif self.role == "assistant" and not self.calls:
            self.prefill(self.content[-1])
        if self.marks:
            self.place_marks()
        system = {"system": self.system} if self.system else {}
        return cast("Payload", {**system, "messages": self.turns})

    def prefill(self, param: Param) -> None:
        self.message = next(m for m in reversed(self.messages) if m.role == "assistant")
        text = param["text"] if param["type"] == "text" else ""
        if not self.facts.prefill:
            self.lose("hint", "trailing assistant turn", "this model refuses to continue one")
        elif text != text.rstrip():
            param["text"] = text.rstrip()
            self.lose("hint", "trailing white space", "refused at the end of an assistant turn")

    def place_marks(self) -> None:
        """Keep four: an hour before five minutes, of equals the last, which cover more."""
        sent = chain(self.system, *(turn["content"] for turn in self.turns))
        order = {id(param): place for place, param in enumerate(sent)}
        end = _passing(self.messages) if self.facts.cache_marks else -1
        marks = [mark for mark in self.marks if mark.place < end and mark.message.kind != "request"]
        marks.sort(key=lambda mark: order[id(mark.param)])
        hours = [place for place, mark in enumerate(marks) if mark.cache == "1h"]
        late = marks[hours[-1] + 1 :] if hours else marks
        for mark in [*late, *(marks[place] for place in hours)][-4:]:
            ttl = {} if mark.cache == "default" else {"ttl": mark.cache}
            mark.param["cache_control"] = {"type": "ephemeral", **ttl}
        full = "more than four, or behind request-only content"
        why = full if self.facts.cache_marks else "this model takes none"
        lost = [mark.message for mark in self.marks if "cache_control" not in mark.param]
        self.losses += [loss_of(said, "hint", "cache mark", why) for said in lost]

    # Blocks.

    def params(self) -> list[Param]:
        said = self.message
        if said.name is not None and said.role != "tool":
            self.lose("hint", f"name {said.name!r}", "a message has no speaker's name")
        return self.convert(said.content, said.role)

    def convert(self, content: Iterable[Any], place: str) -> list[Param]:
        writers, params = WRITERS[place], list[Param]()
        for block in content:
            known = _block(block.data) if block.type == "unknown" else block
            if known.type in writers:
                param = writers[known.type](self, known)
                params += [param] if param else []
            else:
                self.lose("content", f"{known.type} block", f"there is none in {place} content")
        return params

    def finish(self, param: Param, extra: Mapping[str, Any], cache: str | None) -> Param:
        kind = param["type"]
        for key, value in extra.items():
            cited = kind == "text" and self.message.role != "assistant"
            if value is not None and key in EXTRA[kind] and not cited:
                param[key] = _json(value)
            elif value is not None:
                self.lose("hint", f"key {key!r}", f"a {kind} block has none here")
        if cache:
            self.marks.append(_Mark(param, cache, self.index, self.message))
        return param

    def text(self, block: TextBlock) -> Param | None:
        if block.text and not block.text.isspace():
            return self.finish({"type": "text", "text": block.text}, block.extra, block.cache)
        if block.text or block.cache:
            self.lose("hint", "text block", "only white space, or empty under a cache mark")
        return None

    def media(self, block: b.ImageBlock | b.DocumentBlock) -> Param | None:
        source = _sent_source(block.type, block.source)
        if source is None:
            what = f"{block.type} ({block.source.kind}, {block.source.media_type})"
            self.lose("content", what, "not a source or a media type that is taken")
            return None
        param: Param = {"type": block.type, "source": source}
        for key, value in (("title", block.title), ("detail", block.detail)):
            if value and block.is_document and key == "title":
                param["title"] = _utf8(value)
            elif value:
                self.lose("hint", key, f"a {block.type} block has none")
        return self.finish(param, block.extra, block.cache)

    def tool_use(self, block: ToolUseBlock) -> Param:
        id, name, text = block.id, block.name, block.arguments
        if id in self.uses or not (id.isascii() and id.isidentifier()):
            id = self.unique(id)
        else:
            self.uses[id] = 1
        if block.id in self.calls:
            self.again.setdefault(block.id, deque()).append(id)
        else:
            self.calls[block.id] = id
        if name not in self.names:
            name = self.tool_name(name)
        value = read_json(text)
        if not isinstance(value, dict):
            value = {"arguments": _utf8(text)}
            self.lose("hint", f"arguments of {name}", "not a JSON object: sent as text in one")
        elif ("\\u" in text or not text.isascii()) and ESCAPED.search(text):
            value = _json(cast("object", value))
        param: Param = {"type": "tool_use", "id": id, "name": name, "input": value}
        plain = block.cache is None and block.extra is EMPTY
        return param if plain else self.finish(param, block.extra, block.cache)

    def unique(self, id: str) -> str:
        stem, count = _fit(id), self.uses.get(id, 0) + 1
        found = stem if count == 1 else f"{stem}_{count}"
        while found in self.uses:
            count += 1
            found = f"{stem}_{count}"
        self.uses[found] = 0
        self.uses[id] = count
        return found

    def tool_name(self, name: str) -> str:
        fit = _fit(name)[:128]
        if fit != name:
            self.lose("hint", f"tool name {name!r}", f"it has other letters: sent as {fit}")
        else:
            self.names.add(name)
        return fit

    def tool_result(self, block: ToolResultBlock) -> Param:
        given, content = block.tool_use_id, block.content
        id = self.calls.pop(given, None) or _fit(given)
        if self.again and (waiting := self.again.get(given)):
            self.calls[given] = waiting.popleft()
        inner = content[0] if len(content) == 1 and not block.is_error else None
        if type(inner) is TextBlock and inner.cache is block.cache is None:
            text, plain = inner.text, inner.extra is block.extra is EMPTY
            if plain and text and not text.isspace():
                said = [{"type": "text", "text": text}]
                return {"type": "tool_result", "tool_use_id": id, "content": said}
        param: Param = {"type": "tool_result", "tool_use_id": id}
        before = len(self.marks)
        params = self.convert(content, "error result" if block.is_error else "result")
        if block.is_error and not params:
            error = _utf8((block.error_type or "").strip())
            params = [{"type": "text", "text": error or "error"}]
        param |= {"content": params} if params else {}
        param |= {"is_error": True} if block.is_error else {}
        # A nested mark counts as one of four, and gateways refuse it: it goes on the result.
        marks = [block.cache, *(mark.cache for mark in self.marks[before:])]
        del self.marks[before:]
        cache = "1h" if "1h" in marks else next(filter(None, marks), None)
        return self.finish(param, block.extra, cache)

    def reasoning(self, block: b.ReasoningBlock) -> Param | None:
        mine = self.message.role == "assistant" and block.origin == "anthropic"
        if mine and self.index >= self.stale and block.encrypted:
            return {"type": "redacted_thinking", "data": block.encrypted}
        if mine and self.index >= self.stale and block.signature:
            return {"type": "thinking", "thinking": block.text, "signature": block.signature}
        self.lose("hint", "reasoning", "not signed by this provider, or bound to other bytes")
        return None

    def unknown(self, block: b.UnknownBlock) -> Param:
        param = _json(dict(block.data))
        return self.finish(param, {}, _cache(param.pop("cache_control", None)))


_TEXT: Mapping[str, Any] = {"text": _Request.text, "reasoning": _Request.reasoning}
_MEDIA = {"image": _Request.media, "document": _Request.media, "unknown": _Request.unknown}
_USER = {**_TEXT, **_MEDIA, "tool_result": _Request.tool_result}
WRITERS: Mapping[str, Mapping[str, Any]] = {
    "system": _TEXT,
    "developer": _TEXT,
    "user": _USER,
    "tool": _USER,
    "assistant": {**_TEXT, "tool_use": _Request.tool_use, "unknown": _Request.unknown},
    "result": {**_TEXT, **_MEDIA},
    "error result": _TEXT,
}


def _head(messages: Sequence[Message]) -> int:
    spoken = (n for n, m in enumerate(messages) if TURNS[m.role] and m.kind in SPOKEN)
    return next(spoken, len(messages))


def _asks(said: Message) -> bool:
    results = any(block.type == "tool_result" for block in said.content)
    return said.role == "user" and said.kind in SPOKEN and not results


def _stale(messages: Sequence[Message]) -> int:
    """Return the index before which reasoning is bound to bytes that no longer stand."""
    asked = max((n for n, m in enumerate(messages) if _asks(m)), default=-1)
    request = max((n for n, m in enumerate(messages) if m.kind == "request"), default=-1)
    return len(messages) if request > asked else asked if request >= 0 else 0


def _passing(messages: Sequence[Message]) -> int:
    """Return the index of the first request-only message that no assistant turn follows."""
    answered = max((n for n, m in enumerate(messages) if m.role == "assistant"), default=-1)
    passing = (n for n, m in enumerate(messages) if n > answered and m.kind == "request")
    return next(passing, len(messages))


def _sent_source(kind: str, source: MediaSource) -> Param | None:
    value, media_type = _utf8(source.value), source.media_type
    if source.kind == "url":
        return {"type": "url", "url": value}
    if source.kind == "file_id":
        return {"type": "file", "file_id": value}
    if source.kind == "base64" and media_type in BASE64[kind]:
        return {"type": "base64", "media_type": media_type, "data": value}
    if source.kind == "base64" and (kind, media_type) == ("document", "text/plain"):
        return _plain_text(value)
    return None


def _plain_text(data: str) -> Param | None:
    try:
        text = base64.b64decode(data).decode()
    except ValueError:
        return None
    return {"type": "text", "media_type": "text/plain", "data": text}


def _fit(name: str) -> str:
    return MISFIT.sub("_", name) or "_"


def _utf8(text: str) -> str:
    return text if text.isascii() else SURROGATE.sub("\ufffd", text)


def _json(value: object) -> Any:
    """Return a copy of a JSON value, with U+FFFD for lone surrogates: UTF-8 has none."""
    write_json(value)
    return read_json(_utf8(json.dumps(value, ensure_ascii=False)))


# Reading.


def _located(place: str, reader: Any, data: object) -> Any:
    try:
        return reader(data)
    except DataError as error:
        raise DataError(f"{place}: {error.what}", fix=error.fix) from None


def _mapping(data: object) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        # The SDK's own response objects may stand in its lists of messages.
        to_dict = getattr(data, "to_dict", None)
        if to_dict is None:
            raise DataError(f"a dictionary is needed, not {type(data).__name__}")
        data = to_dict()
    return dict(cast("Mapping[str, Any]", data))


def _entry(entries: Mapping[str, Any], key: str, types: type = object) -> Any:
    if not isinstance(entries.get(key), types) or key not in entries:
        raise DataError(f"{key!r} is needed", fix=nearest(key, map(str, entries)))
    return entries[key]


def _said(data: object) -> list[Message]:
    entries = _mapping(data)
    role = _entry(entries, "role", str)
    content = _contents(_entry(entries, "content"))
    if role == "system":
        return [message("developer", content, kind="recorded_system")]
    if role == "assistant":
        return [message("assistant", content, kind="recorded")]
    if role != "user":
        raise DataError(f"unknown 'role' {role!r}", fix="one of user, assistant, system")
    heads = list(takewhile(lambda block: block.type == "tool_result", content))
    said = [message("tool", (block,), kind="recorded") for block in heads]
    rest = content[len(heads) :]
    return [*said, message("user", rest, kind="recorded")] if rest or not heads else said


def _contents(value: object, *, reader: Any = None) -> tuple[b.Block, ...]:
    if not isinstance(value, list | tuple):
        return b.contents(value)
    items = enumerate(cast("Sequence[object]", value))
    return tuple(_located(f"content[{n}]", reader or _block, item) for n, item in items)


def _block(data: object) -> b.Block:
    entries = _mapping(data)
    if _entry(entries, "type", str) != "tool_result":
        return _flat_block(data)
    content = _contents(entries.pop("content", None), reader=_flat_block)
    return attrs.evolve(cast("ToolResultBlock", _flat_block(entries)), content=content)


def _flat_block(data: object) -> b.Block:
    entries = _mapping(data)
    kind = _entry(entries, "type", str)
    if kind in THINKING:
        return _reasoning(kind, entries)
    source = _read_source(entries.get("source"))
    if kind not in EXTRA or (kind in BASE64 and source is None) or "content" in entries:
        return b.UnknownBlock(entries)
    for key in STRINGS.get(kind, ()):
        _entry(entries, key, str)
    entries["source"] = source
    entries["cache"] = _cache(entries.pop("cache_control", None))
    return b.block_from_dict({key: value for key, value in entries.items() if value is not None})


def _reasoning(kind: str, entries: dict[str, Any]) -> b.Block:
    text = _entry(entries, THINKING[kind], str)
    if kind == "redacted_thinking":
        return b.ReasoningBlock("", encrypted=text, origin="anthropic")
    return b.ReasoningBlock(text, entries.get("signature"), origin="anthropic")


def _read_source(source: object) -> Param | None:
    match source:
        case {"type": "file", "file_id": str(id)}:
            return {"type": "file_id", "file_id": id}
        case {"type": "text", "data": str(text)}:
            data = base64.b64encode(_utf8(text).encode()).decode()
            return {"type": "base64", "data": data, "media_type": "text/plain"}
        case {"type": "base64", "data": str(data), "media_type": str(media_type)}:
            return {"type": "base64", "data": data, "media_type": media_type}
        case {"type": "url", "url": str(url)}:
            return {"type": "url", "url": url}
        case _:
            return None


def _cache(control: object) -> str | None:
    ttl = None if control is None else _mapping(control).get("ttl", "default")
    if ttl not in {None, "default", "5m", "1h"}:
        raise DataError(f"unknown 'ttl' {ttl!r}", fix="'5m' or '1h'")
    return cast("str | None", ttl)
