"""Reads conversations that other programs recorded, and returns them as transcripts.

Read ``recorded_conversation`` first. For a session of a coding agent, a function finds the
messages: ``_claude_code``, ``_codex`` or ``_pi``.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from promptdsl import ModelFacts, ProviderId, Transcript, read_payload
from promptdsl.cli.commands import file_text, json_value
from promptdsl.cli.options import PROVIDERS
from promptdsl.cli.output import FileError, UsageError


def recorded_conversation(
    path: str, provider_format: str, repair: str
) -> tuple[Transcript, list[str]]:
    """Return the conversation in a file, and notes on what was left out.

    ``provider_format`` is one of the :data:`PROVIDER_FORMATS`, or a server. A file ``*.jsonl`` has
    a message in each line; any other file is JSON. ``repair`` says what happens to calls without
    results, as for ``Transcript.from_openai()``. Raises :class:`UsageError` for a file that cannot
    be read, :class:`FileError` for a file that is not JSON or not a session, and ``DataError`` for
    messages in another format.
    """
    text, left_out, data = file_text(path), Counter[str](), cast("Any", None)  # Any: JSON
    read, messages_of = AGENTS.get(provider_format) or (_reader_of(provider_format), None)
    try:
        if messages_of or path.endswith(".jsonl"):
            lines = enumerate(text.split("\n"), 1)
            data = [
                json_value(line, f"{path}: line {number}") for number, line in lines if line.strip()
            ]
        else:
            data = json_value(text, path)
        if messages_of:
            data, left_out = messages_of(data)
            if not data:
                raise LookupError  # a session has messages
    except UsageError as error:
        raise FileError(str(error)) from None
    except (AttributeError, LookupError, TypeError):
        raise FileError(f"{path} is not a session of {provider_format}") from None
    if isinstance(data, dict):
        # A payload may also have tools, which a transcript has not.
        left_out["tools"] = len(
            read_payload(cast("object", data), ProviderId(provider_format)).tools
        )
    notes = [f"left out: {what}: {count}" for what, count in left_out.items() if count]
    return read(data, repair=repair), notes


def _reader_of(provider_format: str) -> Callable[..., Transcript]:
    """Return the function that reads the conversations of a provider or a server."""
    read: Callable[..., Transcript] | None = getattr(Transcript, f"from_{provider_format}", None)
    if read is not None:
        return read
    server = ProviderId(provider_format)
    return partial(
        getattr(Transcript, f"from_{ModelFacts(server).wire.provider_format}"), origin=server
    )


def _claude_code(rows: list[Any]) -> tuple[list[Any], Counter[str]]:
    """Return the messages of a session of Claude Code, and the counts of rows that are left out.

    Each row names its parent, so the messages are those on the path from the last row back to the
    first. A message consists of several rows, each with a block. Calls that run at the same time
    are on branches: so all rows of a message are read, and all results of its calls.
    """
    left_out, parents = Counter[str](), dict[str, str]()
    # The row id, the message id, the role and the blocks of each row of a message.
    message_rows = list[Any]()
    previous_id = ""
    row_ids = {row.get("uuid") for row in rows if not row.get("isSidechain")} - {None}
    # First, find the parent of each row, and the rows of messages.
    for row in rows:
        if row.get("isSidechain"):
            left_out["rows of a sidechain"] += 1
            continue
        # After a compaction, rows have no parent, or a parent that is missing.
        parent = row.get("parentUuid") or row.get("logicalParentUuid")
        continues = parent or row.get("isCompactSummary") or row.get("compactMetadata")
        if parent not in row_ids and continues:
            parent = previous_id
        if row.get("uuid"):
            previous_id = row["uuid"]
            parents[previous_id] = parent
        if row.get("type") in ("user", "assistant"):
            blocks = _blocks(row["message"]["content"])
            message_rows.append((row["uuid"], row["message"].get("id"), row["type"], blocks))
        else:
            left_out[f"rows of the type {row.get('type')!r}"] += 1
    # Then go back from the last row. A damaged file may have a circle of parents.
    path = set[str]()
    uuid = message_rows[-1][0] if message_rows else ""
    while uuid in parents and uuid not in path:
        path.add(uuid)
        uuid = parents[uuid]
    # Last, join the rows on the path, those of the same messages, and those of their results.
    message_ids = {id for uuid, id, *_ in message_rows if uuid in path} - {None}
    path_blocks = [blocks for _, id, _, blocks in message_rows if id in message_ids]
    calls = {block.get("id") for blocks in path_blocks for block in blocks} - {None}
    messages: dict[str, Any] = {}
    for uuid, id, role, blocks in message_rows:
        is_of_message = uuid in path or id in message_ids
        if is_of_message or calls & {block.get("tool_use_id") for block in blocks}:
            messages.setdefault(id or uuid, {"role": role, "content": []})["content"] += blocks
        else:
            left_out["rows of another branch"] += 1
    return [*messages.values()], left_out


def _blocks(content: Any) -> Any:  # Any: JSON
    """Return the blocks of a message, whose content may be a text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _codex(rows: list[Any]) -> tuple[list[Any], Counter[str]]:
    """Return the items of a session of Codex, and the counts of rows that are left out."""
    left_out, items = Counter[str](), list[Any]()
    for row in rows:
        if row.get("type") == "response_item":
            items.append(row["payload"])
        else:
            left_out[f"rows of the type {row.get('type')!r}"] += 1
    return items, left_out


def _pi(rows: list[Any]) -> tuple[list[Any], Counter[str]]:
    """Return the messages of a session of pi, and the counts of rows that are left out.

    Each row names its parent, so the messages are those on the path from the last row back to the
    first.
    """
    left_out, path, messages = Counter[str](), list[Any](), list[Any]()
    # A row is removed when it is read: so a circle of parents ends.
    unread: dict[str, Any] = {row["id"]: row for row in rows if "parentId" in row}
    id = next(reversed(unread), None)
    while id in unread:
        row = unread.pop(id)
        id, message = row["parentId"], row.get("message") or dict[str, Any]()
        if message.get("role") in ("user", "assistant", "toolResult"):
            path.append(message)
        else:
            left_out[f"rows of the type {message.get('role') or row['type']!r}"] += 1
    left_out["rows of another branch"] = len(unread)
    for message in reversed(path):
        role = message["role"]
        blocks: list[Any] = [
            _PI_BLOCKS[block["type"]](block) for block in _blocks(message["content"])
        ]
        if role == "toolResult":
            result = {"tool_use_id": message["toolCallId"], "is_error": message["isError"]}
            role, blocks = "user", [{"type": "tool_result", **result, "content": blocks}]
        messages.append({"role": role, "content": blocks})
    return messages, left_out


_PI_BLOCKS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "text": lambda block: {"type": "text", "text": block["text"]},
    "thinking": lambda block: {
        "type": "thinking",
        "thinking": block["thinking"],
        "signature": block.get("thinkingSignature", ""),
    },
    "toolCall": lambda block: {
        "type": "tool_use",
        "id": block["id"],
        "name": block["name"],
        "input": block["arguments"],
    },
    "image": lambda block: {
        "type": "image",
        "source": {"type": "base64", "media_type": block["mimeType"], "data": block["data"]},
    },
}
"""Functions that make a block of Anthropic from a block of pi, by the type of the block."""


AGENTS: Mapping[str, tuple[Callable[..., Transcript], Callable[..., Any]]] = {
    "claude-code": (Transcript.from_anthropic, _claude_code),
    "codex": (Transcript.from_openai_responses, _codex),
    "pi": (Transcript.from_anthropic, _pi),
}
"""The sessions of coding agents, by their names: the function that reads the messages, and the
function that finds them in the rows of a session."""
PROVIDER_FORMATS = (*(name for name in PROVIDERS if hasattr(Transcript, f"from_{name}")), *AGENTS)
"""The formats that can be read: those of providers, and those of coding agents."""
