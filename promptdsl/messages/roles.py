"""The roles of messages, and their kinds: where a message came from before its role was mapped."""

from typing import Literal, TypeAlias, get_args

from promptdsl.foundation.errors import DataError, nearest
from promptdsl.messages.field_checks import one_of, string

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool", "event", "ephemeral"]

ROLES: tuple[Role, ...] = get_args(Role)

Kind: TypeAlias = Literal[
    "written", "recorded", "recorded_system", "event", "request", "mixed", "trailed"
]
"""Where a message comes from: a written turn, a recorded message, a recorded system message after
the beginning of the conversation, an event, a request-only turn, a turn of the conversation merged
with request-only content before it (``mixed``) or after it (``trailed``)."""

KINDS: tuple[Kind, ...] = get_args(Kind)

CONVERSATION: tuple[Kind, ...] = ("written", "recorded", "mixed", "trailed")
"""The kinds that are part of the conversation, at least partly."""

LEADING: tuple[Kind, ...] = ("written", "recorded")
"""The kinds of system messages that belong to the first one."""

FLEETING: tuple[Kind, ...] = ("request", "mixed", "trailed")
"""The kinds that are not part of the next request, at least partly."""


def checked_role(role: object) -> Role:
    """Return a role; :class:`DataError` for any other value."""
    name = string(role, "role")
    if name not in ROLES:
        raise DataError(f"unknown role {name[:60]!r}", fix=nearest(name[:60], ROLES))
    return name


def checked_kind(kind: object) -> Kind:
    """Return a kind; :class:`DataError` for any other value."""
    return one_of(KINDS, kind, "kind")
