"""The roles of messages, and their kinds, which say where a message comes from."""

from typing import Literal, TypeAlias, get_args

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool", "event", "ephemeral"]

ROLES: tuple[Role, ...] = get_args(Role)

Kind: TypeAlias = Literal[
    "written", "recorded", "recorded_system", "summary", "event", "request", "mixed", "trailed"
]
"""Where a message comes from.

``written`` is a turn in code, ``recorded`` a recorded message, ``recorded_system`` a recorded
system message after the beginning of the conversation. ``summary`` is the summary of a transcript,
``event`` an event, ``request`` a grounding, which is in this request only. ``mixed`` and
``trailed`` are turns of the conversation that are merged with a grounding before or after them."""

KINDS: tuple[Kind, ...] = get_args(Kind)

CONVERSATION: tuple[Kind, ...] = ("written", "recorded", "summary", "mixed", "trailed")
"""The kinds of which at least a part belongs to the conversation."""

SPOKEN_KINDS: frozenset[Kind] = frozenset({*CONVERSATION, "recorded_system"})
"""The kinds that belong to the conversation: neither events nor groundings."""

RECORDED_KINDS: frozenset[Kind] = frozenset({"recorded", "recorded_system"})
"""The kinds of messages that are sent as they were recorded."""

LEADING: tuple[Kind, ...] = ("written", "recorded")
"""The kinds of system messages that are joined with the first one."""

FLEETING: tuple[Kind, ...] = ("request", "mixed", "trailed")
"""The kinds of which at least a part is not in the next request."""
