"""The mask of a node: an integer whose bits say what the node is, and which nodes are below it.

A mask has two halves. The **surface** bits describe the node itself: a turn, a section, text. The
**deep** bits describe the node and all nodes below it: media, tool calls, cache marks. So one ``&``
is enough to know whether a child is allowed, or whether a pass has work to do. The call has both
bits of ``CALL``, the prompt around it only the deep bit:

>>> from promptdsl import Assistant, Timeline, ToolUse
>>> call = ToolUse("look", {}, id="a")
>>> prompt = Timeline(Assistant(call))
>>> bool(call._mask & CALL), bool(call._mask & CALL << SHIFT)
(True, True)
>>> bool(prompt._mask & CALL), bool(prompt._mask & CALL << SHIFT)
(False, True)

Four other bits are the state of a component before it is frozen. A mask has at most 30 bits,
because CPython is fastest with integers of up to 30 bits.
"""

# The surface bits. The first six also have a deep bit: the same bit, shifted by SHIFT.
MEDIA = 1 << 0
"""An attachment."""
CALL = 1 << 1
"""A tool call or reasoning, only in an assistant turn."""
RESULT = 1 << 2
"""A tool result."""
EVENT = 1 << 3
"""An event turn."""
REQUEST = 1 << 4
"""A grounding, or other content for this request only."""
DEVELOPER = 1 << 5
"""A developer turn, or a recorded conversation that is a single instruction."""
TURN = 1 << 6
"""A turn."""
SECTION = 1 << 7
"""A section."""
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
"""A complete prompt, which cannot be a child."""

SHIFT = 15
"""The distance from a surface bit to its deep bit."""
SURFACE = (1 << SHIFT) - 1
"""All surface bits."""
LIFTED = (1 << 6) - 1
"""The surface bits that also have a deep bit."""

# The deep bits without a surface bit: the node or a node below it is...
RECORDED = 1 << 21
"""... a recorded conversation."""
TOOL = 1 << 22
"""... a tool or an output schema."""
OPAQUE = 1 << 23
"""... a node that the passes have to look at.

Most passes do not visit a node without this bit, so a render is faster. A node has the bit if a
pass replaces it, removes it or reports it: a fragment, a note, a lazy, a template, an empty node,
or a text with a hint."""
AUDIENCE = 1 << 24
"""... a node for one audience only."""
CACHE = 1 << 25
"""... a node with a cache mark."""

DEEP = LIFTED << SHIFT | RECORDED | TOOL | OPAQUE | AUDIENCE | CACHE
"""All deep bits."""

# The state of a component before it is frozen.
PLACED = 1 << 26
"""It joined the open block."""
OPEN = 1 << 27
"""Its ``with`` block was opened. The bit stays if an error ended the block."""
CLOSED = 1 << 28
"""Its ``with`` block ended."""
UNWRITTEN = 1 << 29
"""It is empty: it has no arguments, and nothing was written in its block."""

# All 30 bits are used, so some states are two bits together. No state has two meanings: a block
# that ended without an error has no bit OPEN. A text has no block, so for a text CLOSED means a
# hint.
FAILED = OPEN | CLOSED
"""An error ended its block. A component with one of the two bits cannot be opened again."""
HINTED = UNWRITTEN | CLOSED
"""A hint reports it: its block is empty, or two sentences of its text touch.

The node also has the bit OPAQUE."""
PLACED_OR_OPEN = PLACED | OPEN
"""It joined an open block, or its own block is open: a component around it may still take it."""
COMPACTED = RECORDED | ITEM
"""A run of recorded messages that contains a provider's compaction.

The two bits have no other meaning together, because a run is never an item."""


def bits(surface: int, below: int = 0) -> int:
    """Return the mask of a node: its surface bits, their deep bits, and the deep bits of children.

    ``below`` is the bits of its children.
    """
    return surface | (surface & LIFTED) << SHIFT | below & DEEP
