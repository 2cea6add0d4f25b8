"""Masks: bits that say what a node is and what is below it."""

# The functions below are what the methods of a node would be, if methods could not recurse.
# pyright: reportPrivateUsage=false

# A mask has 30 bits, because whole numbers of up to 30 bits are the fast ones.
# What a node is, at its own level; the first eight are also looked for below a node.
MEDIA = 1 << 0
CALL = 1 << 1
"""What only a model says: a call, and reasoning."""
RESULT = 1 << 2
EVENT = 1 << 3
REQUEST = 1 << 4
RECORDED = 1 << 5
FRAGMENT = 1 << 6
DEVELOPER = 1 << 7
TURN = 1 << 8
SECTION = 1 << 9
TEXT = 1 << 10
HAPPENING = 1 << 11
SYSTEM = 1 << 12
NAMED = 1 << 13
SPOKEN = 1 << 14
SURFACE = (1 << 15) - 1
ROOT = TURN | HAPPENING
"""No place takes both, so a root stands nowhere."""

# What stands at a node or anywhere below it.
SHIFT = 15
LIFTED = (1 << 8) - 1
AUDIENCE = 1 << 23
CACHE = 1 << 24
DEEP = LIFTED << SHIFT | AUDIENCE | CACHE

# What state a component is in, before it is a node.
PLACED = 1 << 25
OPEN = 1 << 26
CLOSED = 1 << 27
FAILED = 1 << 28
BARE = 1 << 29
BUSY = PLACED | OPEN | FAILED


def bits(surface: int, below: int = 0) -> int:
    """Return the mask of a node that is ``surface`` and holds what ``below`` (a mask) tells."""
    return surface | (surface & LIFTED) << SHIFT | below & DEEP


HOLLOW = FRAGMENT << SHIFT
"""Something in here stands for others or is empty: it has to be dissolved before passes look."""

ITEM = EVENT
"""Of what is no turn: an item, which stands in a list only."""

TOOL = DEVELOPER
"""Of what is no turn: a tool or an output, which is sent beside the messages."""

NOTE = HOLLOW | AUDIENCE
"""A note is nothing at its own level, and is dissolved like a fragment."""
