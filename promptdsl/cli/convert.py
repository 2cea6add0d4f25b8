"""Conversations that were recorded elsewhere, read as transcripts."""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from promptdsl import ModelFacts, ProviderId, Transcript, read_payload
from promptdsl.cli.arguments import file_text, json_value
from promptdsl.cli.errors import FileError, UsageError
from promptdsl.cli.options import PROVIDERS


def recorded(path: str, form: str, repair: str) -> tuple[Transcript, list[str]]:
    """Return the conversation in a file of one of the :data:`FORMS`, and what is left out.

    A file ``*.jsonl`` has a message in each line, others are JSON. Raises :class:`FileError` for
    what is not so, ``DataError`` for messages in another form.
    """
    text, told, data = file_text(path), Counter[str](), cast("Any", None)
    read, messages_of = AGENTS.get(form) or (_reader_of(form), None)
    try:
        if messages_of or path.endswith(".jsonl"):
            lines = enumerate(text.split("\n"), 1)
            data = [json_value(line, f"{path}: line {n}") for n, line in lines if line.strip()]
        else:
            data = json_value(text, path)
        if messages_of:
            data, told = messages_of(data)
            if not data:
                raise LookupError
    except UsageError as error:
        raise FileError(str(error)) from None
    except (AttributeError, LookupError, TypeError):
        raise FileError(f"{path} is no session of {form}") from None
    if isinstance(data, dict):
        told["tools"] = len(read_payload(cast("object", data), ProviderId(form)).tools)
    return read(data, repair=repair), [f"left out: {what}: {n}" for what, n in told.items() if n]


def _reader_of(form: str) -> Callable[..., Transcript]:
    """Return the function that reads the conversations of a provider, or of a server."""
    read: Callable[..., Transcript] | None = getattr(Transcript, f"from_{form}", None)
    if read is not None:
        return read
    server = ProviderId(form)
    return partial(getattr(Transcript, f"from_{ModelFacts(server).wire.form}"), origin=server)


def _claude_code(rows: list[Any]) -> tuple[list[Any], Counter[str]]:
    """Return the messages of a session: those on the way from its last row back to the first.

    A message comes in several rows, each with a block. Calls that run at once make branches, so a
    message counts whole, and so do the results of its calls.
    """
    told, parents, said, before = Counter[str](), dict[str, str](), list[Any](), ""
    known = {row.get("uuid") for row in rows if not row.get("isSidechain")} - {None}
    for row in rows:
        if row.get("isSidechain"):
            told["rows of a sidechain"] += 1
            continue
        # After a compaction, rows go on without a parent, or with one that is not there.
        parent = row.get("parentUuid") or row.get("logicalParentUuid")
        begins = parent or row.get("isCompactSummary") or row.get("compactMetadata")
        if parent not in known and begins:
            parent = before
        if row.get("uuid"):
            before = row["uuid"]
            parents[before] = parent
        if row.get("type") in ("user", "assistant"):
            content = row["message"]["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            said.append((row["uuid"], row["message"].get("id"), row["type"], blocks))
        else:
            told[f"rows of the type {row.get('type')!r}"] += 1
    way, at = set[str](), said[-1][0] if said else ""
    while at in parents and at not in way:
        way.add(at)
        at = parents[at]
    ids = {id for uuid, id, *_ in said if uuid in way} - {None}
    calls = {block.get("id") for _, id, _, blocks in said if id in ids for block in blocks} - {None}
    messages: dict[str, Any] = {}
    for uuid, id, role, blocks in said:
        if uuid in way or id in ids or calls & {block.get("tool_use_id") for block in blocks}:
            messages.setdefault(id or uuid, {"role": role, "content": []})["content"] += blocks
        else:
            told["rows of another branch"] += 1
    return [*messages.values()], told


def _codex(rows: list[Any]) -> tuple[list[Any], Counter[str]]:
    """Return the items of a session."""
    kinds = (row.get("type") for row in rows)
    told = Counter(f"rows of the type {kind!r}" for kind in kinds if kind != "response_item")
    return [row["payload"] for row in rows if row.get("type") == "response_item"], told


def _pi(rows: list[Any]) -> tuple[list[Any], Counter[str]]:
    """Return the messages of a session on the way from its last row back to the first."""
    told, way, messages = Counter[str](), list[Any](), list[Any]()
    known: dict[str, Any] = {row["id"]: row for row in rows if "parentId" in row}
    at = next(reversed(known), None)
    while at in known:
        row = known.pop(at)
        at, message = row["parentId"], row.get("message") or dict[str, Any]()
        if message.get("role") in ("user", "assistant", "toolResult"):
            way.append(message)
        else:
            told[f"rows of the type {message.get('role') or row['type']!r}"] += 1
    told["rows of another branch"] = len(known)
    for message in reversed(way):
        role, content = message["role"], message["content"]
        given: list[Any] = [{"type": "text", "text": content}] if type(content) is str else content
        blocks = [_PI[block["type"]](block) for block in given]
        if role == "toolResult":
            result = {"tool_use_id": message["toolCallId"], "is_error": message["isError"]}
            role, blocks = "user", [{"type": "tool_result", **result, "content": blocks}]
        messages.append({"role": role, "content": blocks})
    return messages, told


_PI: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "text": lambda it: {"type": "text", "text": it["text"]},
    "thinking": lambda it: {
        "type": "thinking",
        "thinking": it["thinking"],
        "signature": it.get("thinkingSignature", ""),
    },
    "toolCall": lambda it: {
        "type": "tool_use",
        "id": it["id"],
        "name": it["name"],
        "input": it["arguments"],
    },
    "image": lambda it: {
        "type": "image",
        "source": {"type": "base64", "media_type": it["mimeType"], "data": it["data"]},
    },
}
"""The blocks of pi in the form of Anthropic."""


AGENTS: Mapping[str, tuple[Callable[..., Transcript], Callable[..., Any]]] = {
    "claude-code": (Transcript.from_anthropic, _claude_code),
    "codex": (Transcript.from_openai_responses, _codex),
    "pi": (Transcript.from_anthropic, _pi),
}
FORMS = (*(name for name in PROVIDERS if hasattr(Transcript, f"from_{name}")), *AGENTS)
"""The forms that are read. A session of a coding agent has the messages of a provider."""
