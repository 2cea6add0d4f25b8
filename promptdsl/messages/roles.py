"""The roles of messages, and the kinds: what a message was before its role was mapped."""

from typing import Literal, TypeAlias, get_args

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
"""The kinds that were said in the conversation, at least in part."""

LEADING: tuple[Kind, ...] = ("written", "recorded")
"""The kinds of system messages that belong to the first one."""

FLEETING: tuple[Kind, ...] = ("request", "mixed", "trailed")
"""The kinds that are gone in the next request, at least in part."""
