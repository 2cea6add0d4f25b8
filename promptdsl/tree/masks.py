"""The mask of a node: an integer with the kind of the node and of the nodes below it.

A mask has two halves. The **surface** bits describe the node itself: a turn, a section, text. The
**deep** bits describe the node and all nodes below it: media, tool calls, cache marks. So one ``&``
tells whether a child is allowed, and whether a pass has work to do:

>>> from promptdsl import Assistant, Timeline, ToolUse
>>> call = ToolUse("look", {}, id="a")
>>> prompt = Timeline(Assistant(call))
>>> bool(call._mask & CALL), bool(call._mask & CALL << SHIFT)
(True, True)
>>> bool(prompt._mask & CALL), bool(prompt._mask & CALL << SHIFT)
(False, True)

The other bits are the state of a component before it is frozen. A mask has at most 30 bits,
because CPython is fastest with integers of up to 30 bits.
"""

# The surface bits. Each of the first six also has a deep bit: the same bit, shifted by SHIFT.
MEDIA = 1 << 0
CALL = 1 << 1
"""A tool call or reasoning, only in an assistant turn."""
RESULT = 1 << 2
EVENT = 1 << 3
"""An event turn."""
REQUEST = 1 << 4
"""A request-only turn."""
DEVELOPER = 1 << 5
"""A developer turn, or a recording of a single instruction."""
TURN = 1 << 6
SECTION = 1 << 7
TEXT = 1 << 8
"""Text, or a part that becomes text."""
ITEM = 1 << 9
"""An item of a list or a checklist."""
EVENT_BLOCK = 1 << 10
"""An event block, only in an event turn."""
SYSTEM = 1 << 11
"""A system turn."""
NAMED = 1 << 12
"""A node with an id."""
SPOKEN = 1 << 13
"""A user or assistant turn without options."""
ROOT = 1 << 14
"""A whole prompt, which cannot be a child."""

SHIFT = 15
SURFACE = (1 << SHIFT) - 1
LIFTED = (1 << 6) - 1
"""The surface bits that also have a deep bit."""

# The deep bits without a surface bit: the node or a node below it is...
RECORDED = 1 << 21
"""... a recorded conversation."""
TOOL = 1 << 22
"""... a tool or an output schema."""
HOLLOW = 1 << 23
"""... a fragment, note, lazy or template, or empty, or a text with a hint: passes look at it."""
AUDIENCE = 1 << 24
"""... for a single audience."""
CACHE = 1 << 25
"""... marked for caching."""

DEEP = LIFTED << SHIFT | RECORDED | TOOL | HOLLOW | AUDIENCE | CACHE

# The state of a component.
PLACED = 1 << 26
"""It was put into an open block."""
OPEN = 1 << 27
"""Its own block was opened, and not closed without an error."""
CLOSED = 1 << 28
"""Its own block was left."""
BARE = 1 << 29
"""It has no arguments, and nothing was written in its block, if that was opened."""

# All 30 bits are taken, so two states are pairs: a block that ends well is not open any more, and a
# text, which has no block, is closed only with a hint.
FAILED = OPEN | CLOSED
"""An error left its own block."""
HINTED = BARE | CLOSED
"""A hint tells of it: its block ended and is empty, or two sentences of its text touch. Such a node
is hollow, too."""
BUSY = PLACED | OPEN
COMPACTED = RECORDED | ITEM
"""A run of recorded messages in which a provider's compaction stands: such a run is no item."""


def bits(surface: int, below: int = 0) -> int:
    """Return the mask of a node from its surface bits and the joined masks of its children."""
    return surface | (surface & LIFTED) << SHIFT | below & DEEP
