"""Masks: one integer per node that says what the node is and what it holds.

A mask has two halves. The **surface** bits say what the node itself is: a turn, a section, text.
The **deep** bits say what can be found at the node or anywhere below it: media, tool calls, cache
marks. So one ``&`` tells whether a child is allowed, and whether a pass has anything to do:

>>> from promptdsl import Assistant, Timeline, ToolUse
>>> call = ToolUse("look", {}, id="a")
>>> prompt = Timeline(Assistant(call))
>>> bool(call.mask & CALL), bool(call.mask & CALL << SHIFT)
(True, True)
>>> bool(prompt.mask & CALL), bool(prompt.mask & CALL << SHIFT)
(False, True)

The bits that are left say how far a component is written, before it is a node. A mask has 30 bits
and no more: integers of up to 30 bits are the fast ones in CPython.
"""

# The surface: what a node is. The first six have a deep bit as well: the same, shifted by SHIFT.
MEDIA = 1 << 0
CALL = 1 << 1
"""A tool call or reasoning, which only an assistant turn holds."""
RESULT = 1 << 2
EVENT = 1 << 3
"""An event turn."""
REQUEST = 1 << 4
"""A request-only turn."""
DEVELOPER = 1 << 5
"""A developer turn, or a recording that is one instruction."""
TURN = 1 << 6
SECTION = 1 << 7
TEXT = 1 << 8
"""Text, or a part that is written as text."""
ITEM = 1 << 9
"""An item of a list or a checklist."""
EVENT_BLOCK = 1 << 10
"""An event block, which only an event turn holds."""
SYSTEM = 1 << 11
"""A system turn."""
NAMED = 1 << 12
"""A node with an id."""
SPOKEN = 1 << 13
"""A user or assistant turn without options."""
ROOT = 1 << 14
"""A whole prompt, which nothing holds."""

SHIFT = 15
SURFACE = (1 << SHIFT) - 1
LIFTED = (1 << 6) - 1
"""The surface bits that have a deep bit as well."""

# The deep bits without a surface bit: something at this node or below it is...
RECORDED = 1 << 21
"""... a recorded conversation."""
TOOL = 1 << 22
"""... a tool or an output schema."""
HOLLOW = 1 << 23
"""... a fragment, a note, a lazy, a template or empty: passes replace it."""
AUDIENCE = 1 << 24
"""... for one audience."""
CACHE = 1 << 25
"""... marked for caching."""

DEEP = LIFTED << SHIFT | RECORDED | TOOL | HOLLOW | AUDIENCE | CACHE

# How far a component is written.
PLACED = 1 << 26
"""It was put into an open block."""
OPEN = 1 << 27
"""Its own block was opened, and not yet closed without an error."""
CLOSED = 1 << 28
"""Its own block was left."""
BARE = 1 << 29
"""It has no arguments and had no block yet."""

FAILED = OPEN | CLOSED
"""Both: its own block was left by an error."""
BUSY = PLACED | OPEN


def bits(surface: int, below: int = 0) -> int:
    """Return the mask of a node from its surface bits and the masks below it, joined by ``|``."""
    return surface | (surface & LIFTED) << SHIFT | below & DEEP
