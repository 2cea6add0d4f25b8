"""The roles, kinds and details of a message, and the checks of what is given for them."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, get_args

import attrs

from promptdsl.foundation.errors import DataError, nearest
from promptdsl.foundation.json import frozen
from promptdsl.foundation.source import Position, Source
from promptdsl.messages import (
    EMPTY,
    Block,
    ToolResultBlock,
    mapping,
    optional,
    string,
)

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool", "event", "ephemeral"]
ROLES: tuple[Role, ...] = (
    "system",
    "developer",
    "user",
    "assistant",
    "tool",
    "event",
    "ephemeral",
)

Kind: TypeAlias = Literal[
    "written", "recorded", "recorded_system", "event", "request", "mixed", "trailed"
]
"""What a message was before roles were mapped: a written turn, a recorded one, a recorded system
message that stands after the conversation began, an event, a request-only turn, a turn of the
conversation merged with request-only content before it, or one that such content stands behind."""

KINDS: tuple[Kind, ...] = get_args(Kind)

CONVERSATION: tuple[Kind, ...] = ("written", "recorded", "mixed", "trailed")
"""What was said in the conversation, at least in part."""

LEADING: tuple[Kind, ...] = ("written", "recorded")
"""Of system messages: what belongs to the one that stands first."""

FLEETING: tuple[Kind, ...] = ("request", "mixed", "trailed")
"""What is not there the next time, at least in part."""

RawOrigin: TypeAlias = tuple[
    str, int, Position | Source | None, str | None, Mapping[str, Any], tuple[str, ...]
]
"""An :class:`Origin` before somebody asks for it: the head of its address and the number in
brackets (-1 for none), place, id, metadata, components."""


@attrs.frozen
class Origin:
    """One of the turns a message was made of: its address in the tree, and where it was written.

    ``components`` are the names of the components it was written by, the outermost first.
    """

    address: str
    source: Source | None
    id: str | None = None
    metadata: Mapping[str, Any] = EMPTY
    components: tuple[str, ...] = ()


@attrs.frozen
class Details:
    """What few messages have beside role and content. Most share one object of defaults."""

    id: str | None = None
    name: str | None = None
    metadata: Mapping[str, Any] = attrs.field(default=EMPTY, converter=frozen)
    token_usage: Mapping[str, Any] | None = attrs.field(default=None, converter=frozen)
    structured_output: Any = attrs.field(default=None, converter=frozen)  # pyright: ignore[reportUnknownVariableType]
    finish_reason: str | None = None


NO_DETAILS = Details()


def checked_role(role: object) -> Role:
    """Return a role; :class:`DataError` for any other value."""
    found = string(role, "role")
    if found not in ROLES:
        raise DataError(f"unknown role {found[:60]!r}", fix=nearest(found[:60], ROLES))
    return found


def checked_kind(kind: object) -> Kind:
    """Return a kind; :class:`DataError` for any other value."""
    found = string(kind, "kind")
    if found not in KINDS:
        raise DataError(f"unknown 'kind' {found[:60]!r}", fix=nearest(found[:60], KINDS))
    return found


def refuse_unknown_keys(given: Mapping[Any, object], known: frozenset[str]) -> None:
    """Raise :class:`DataError` for a key that no message has."""
    for key in given:
        if not isinstance(key, str):
            raise DataError(f"a key of a message is a string, not {type(key).__name__}")
        if key not in known:
            fix = foreign_form(given) or nearest(key[:60], KEYS)
            raise DataError(f"unknown key {key[:60]!r} in a message", fix=fix)


def foreign_form(given: Mapping[Any, object]) -> str:
    """Return how a message in the form of a provider is read, when a key of it tells which."""
    form = next((form for key, form in _FORMS.items() if key in given), None)
    return f"read a list of these with History.{form}(messages)" if form else ""


_FORMS = {
    **dict.fromkeys(("tool_calls", "tool_call_id", "function_call", "refusal"), "from_openai"),
    "call_id": "from_openai_responses",
    "parts": "from_gemini",
}
"""By key that no message of ours has, what reads the form that has it."""


def refuse_loose_blocks(blocks: tuple[Block, ...]) -> None:
    """Raise :class:`DataError` for anything beside results in a tool message."""
    loose = next((block for block in blocks if not isinstance(block, ToolResultBlock)), None)
    if loose is not None:
        raise DataError(
            f"a tool message holds tool results, not a {loose.type!r} block",
            fix='write {"type": "tool_result", "tool_use_id": ..., "content": ...}, '
            "or Message.tool_result(tool_use_id, content)",
        )


def details_of(given: dict[str, Any]) -> Details:
    """Return the details of these names; :class:`DataError` names the key of a wrong value."""
    checked = {key: _CHECKS[key](given[key], key) for key in _CHECKS if key in given}
    return Details(**{**given, **checked})


def _counts(value: Any, key: str) -> Mapping[str, Any] | None:
    return None if value is None else mapping(value, key)


def _notes(value: Any, key: str) -> Mapping[str, Any]:
    return EMPTY if value is None else mapping(value, key)


_CHECKS: Mapping[str, Callable[[Any, str], Any]] = {
    **dict.fromkeys(("id", "name", "finish_reason"), optional),
    "metadata": _notes,
    "token_usage": _counts,
}
DETAIL_KEYS = frozenset(field.name for field in attrs.fields(Details))
KEYS = frozenset({"role", "content", "kind", *DETAIL_KEYS})
