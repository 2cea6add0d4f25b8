"""Checks of the keys and details that are given for a message."""

from collections.abc import Iterable, Mapping

from promptdsl.foundation.errors import DataError, nearest
from promptdsl.foundation.escaping import is_rare
from promptdsl.foundation.frozen import EMPTY, Around, is_list, is_mapping, json_leaf, plain
from promptdsl.foundation.json import ABSENT
from promptdsl.messages.blocks import Block, ToolResultBlock
from promptdsl.messages.details import DETAIL_KEYS, Details
from promptdsl.messages.field_checks import kind_of, mapping, optional, string
from promptdsl.messages.roles import ROLES, Role

KEYS = frozenset({"role", "content", "kind", "files", *DETAIL_KEYS})


def checked_details(details: Mapping[str, object]) -> Details:
    """Return the checked details of a message; :class:`DataError` names the wrong key."""
    metadata, token_usage = details.get("metadata"), details.get("token_usage")
    extra = details.get("extra")
    return Details(
        id=optional(details.get("id"), "id"),
        name=optional(details.get("name"), "name"),
        metadata=EMPTY
        if metadata is None
        else plain(mapping(metadata, "metadata"), "metadata", _notes_leaf),
        tags=_tags(details.get("tags")),
        token_usage=None if token_usage is None else mapping(token_usage, "token_usage"),
        structured_output=details.get("structured_output", ABSENT),
        finish_reason=optional(details.get("finish_reason"), "finish_reason"),
        raw_finish_reason=optional(details.get("raw_finish_reason"), "raw_finish_reason"),
        extra=EMPTY if extra is None else plain(mapping(extra, "extra"), "extra"),
    )


def _notes_leaf(item: object, around: Around, key: object) -> object:
    # Metadata is JSON, and dates, times, ``Decimal`` and the like.
    return item if is_rare(item) else json_leaf(item, around, key)


def _tags(value: object) -> tuple[str, ...]:
    tags = () if value is None else value
    if not is_list(tags):
        raise DataError(f"'tags' is a list of strings, not {kind_of(value)}")
    return tuple(string(tag, f"tags[{number}]") for number, tag in enumerate(tags))


_MEANT = {
    **dict.fromkeys(("human", "customer", "person"), "user"),
    **dict.fromkeys(("ai", "bot", "model", "llm", "agent"), "assistant"),
    **dict.fromkeys(("function", "tool_result"), "tool"),
}
"""The role that is meant, by its name in other libraries."""


def checked_role(role: object) -> Role:
    """Return a role; :class:`DataError` for an unknown one."""
    if is_mapping(role):
        fix = "write Message.from_dict(data) for the dictionary of a message"
        raise DataError(f"'role' is a string, not {kind_of(role)}", fix=fix)
    name = string(role, "role")
    if name not in ROLES:
        meant = _MEANT.get(name.lower())
        fix = f"did you mean {meant!r}?" if meant else nearest(name[:60], ROLES)
        raise DataError(f"unknown role {name[:60]!r}", fix=fix)
    return ROLES[ROLES.index(name)]


def check_results(blocks: Iterable[Block]) -> None:
    """Raise :class:`DataError` for a block in a tool message that is not a result."""
    for block in blocks:
        if not isinstance(block, ToolResultBlock):
            raise DataError(
                f"a tool message contains tool results, not a {block.type!r} block",
                fix='write {"type": "tool_result", "tool_use_id": ..., "content": ...}, '
                "or Message.tool_result(tool_use_id, content)",
            )


def refuse_unknown_keys(data: Mapping[str, object], known: frozenset[str]) -> None:
    """Raise :class:`DataError` for a key that no message has."""
    for key in data:
        if not isinstance(key, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DataError(f"a key of a message is a string, not {type(key).__name__}")
        if key not in known:
            other = "did you mean 'content'?" if key == "text" else ""
            fix = foreign_format(data) or other or nearest(key[:60], KEYS)
            raise DataError(f"unknown key {key[:60]!r} in a message", fix=fix)


def foreign_format(data: Mapping[str, object]) -> str:
    """Return the advice for a message or reply of a provider, if one of its keys shows it."""
    from promptdsl.foundation.remedies import REPLY, is_reply

    if is_reply(data):
        return REPLY
    reader = next((reader for key, reader in READERS.items() if key in data), None)
    return f"read a list of these with History.{reader}(messages)" if reader else ""


READERS = {
    **dict.fromkeys(("tool_calls", "tool_call_id", "function_call", "refusal"), "from_openai"),
    "call_id": "from_openai_responses",
    "parts": "from_gemini",
}
"""By key of a provider's messages, the constructor of :class:`History` that reads them."""
