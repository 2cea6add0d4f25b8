"""The checks of what is given for a message: its role and kind, its details, its keys."""

from collections.abc import Callable, Mapping
from typing import Any

from promptdsl.foundation.errors import DataError, nearest
from promptdsl.foundation.frozen import EMPTY
from promptdsl.messages.blocks import Block, ToolResultBlock
from promptdsl.messages.details import DETAIL_KEYS, Details
from promptdsl.messages.field_checks import mapping, optional, string
from promptdsl.messages.roles import KINDS, ROLES, Kind, Role

KEYS = frozenset({"role", "content", "kind", *DETAIL_KEYS})


def checked_role(role: object) -> Role:
    """Return a role; :class:`DataError` for any other value."""
    name = string(role, "role")
    if name not in ROLES:
        raise DataError(f"unknown role {name[:60]!r}", fix=nearest(name[:60], ROLES))
    return name


def checked_kind(kind: object) -> Kind:
    """Return a kind; :class:`DataError` for any other value."""
    name = string(kind, "kind")
    if name not in KINDS:
        raise DataError(f"unknown 'kind' {name[:60]!r}", fix=nearest(name[:60], KINDS))
    return name


def checked_details(given: dict[str, Any]) -> Details:
    """Return the details of these names; :class:`DataError` names the key of a wrong value."""
    checked = {key: _CHECKS[key](given[key], key) for key in _CHECKS if key in given}
    return Details(**{**given, **checked})


def _metadata(value: Any, key: str) -> Mapping[str, Any]:
    return EMPTY if value is None else mapping(value, key)


def _token_usage(value: Any, key: str) -> Mapping[str, Any] | None:
    return None if value is None else mapping(value, key)


_CHECKS: Mapping[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("id", "name", "finish_reason"), optional),
    "metadata": _metadata,
    "token_usage": _token_usage,
}


def refuse_unknown_keys(given: Mapping[Any, object], known: frozenset[str]) -> None:
    """Raise :class:`DataError` for a key that no message has."""
    for key in given:
        if not isinstance(key, str):
            raise DataError(f"a key of a message is a string, not {type(key).__name__}")
        if key not in known:
            fix = foreign_form(given) or nearest(key[:60], KEYS)
            raise DataError(f"unknown key {key[:60]!r} in a message", fix=fix)


def foreign_form(given: Mapping[Any, object]) -> str:
    """Return how to read a message in the form of a provider, when one of its keys tells which."""
    form = next((form for key, form in _FORMS.items() if key in given), None)
    return f"read a list of these with History.{form}(messages)" if form else ""


_FORMS = {
    **dict.fromkeys(("tool_calls", "tool_call_id", "function_call", "refusal"), "from_openai"),
    "call_id": "from_openai_responses",
    "parts": "from_gemini",
}
"""By key of a provider's messages, the constructor of :class:`History` that reads them."""


def refuse_loose_blocks(blocks: tuple[Block, ...]) -> None:
    """Raise :class:`DataError` for any block but a result in a tool message."""
    loose = next((block for block in blocks if not isinstance(block, ToolResultBlock)), None)
    if loose is not None:
        raise DataError(
            f"a tool message holds tool results, not a {loose.type!r} block",
            fix='write {"type": "tool_result", "tool_use_id": ..., "content": ...}, '
            "or Message.tool_result(tool_use_id, content)",
        )
