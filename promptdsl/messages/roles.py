"""The roles of messages, and their kinds, which tell where a message comes from."""

from typing import Literal, TypeAlias, get_args

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool", "event", "ephemeral"]

ROLES: tuple[Role, ...] = get_args(Role)

Kind: TypeAlias = Literal[
    "written", "recorded", "recorded_system", "summary", "event", "request", "mixed", "trailed"
]
"""Where a message comes from: a written turn, a recorded message, a recorded system message after
the beginning of the conversation, the summary of a transcript, an event, a request-only turn, a
turn of the conversation merged with request-only content before it (``mixed``) or after it
(``trailed``)."""

KINDS: tuple[Kind, ...] = get_args(Kind)

CONVERSATION: tuple[Kind, ...] = ("written", "recorded", "summary", "mixed", "trailed")
"""The kinds that are part of the conversation, at least partly."""

SPOKEN_KINDS: frozenset[Kind] = frozenset({*CONVERSATION, "recorded_system"})
"""The kinds of messages that are part of the conversation: neither events nor request-only."""

RECORDED_KINDS: frozenset[Kind] = frozenset({"recorded", "recorded_system"})
"""The kinds of messages that are sent in the form they were recorded in."""

LEADING: tuple[Kind, ...] = ("written", "recorded")
"""The kinds of system messages that belong to the first one."""

FLEETING: tuple[Kind, ...] = ("request", "mixed", "trailed")
"""The kinds that are not part of the next request, at least partly."""
