"""The signs of a snapshot: ``⟦...⟧`` for invisible characters, and for values that change.

``⟦CR⟧`` and ``⟦U+200B⟧`` are characters, ``⟦⟦⟧`` is a literal ``⟦``, ``⟦date⟧`` and ``⟦uuid-1⟧``
are values. Each ``⟦`` in a snapshot begins a sign, so two different texts never look equal.
"""

import json
import re

from promptdsl.foundation import terminal_width as widths
from promptdsl.foundation import unicode
from promptdsl.foundation.unicode import INVISIBLE, UNSEEN, pattern

visible, visible_json = unicode.visible, unicode.visible_json
columns, cut_to, terminal_width = widths.columns, widths.cut_to, widths.terminal_width
"""Public here for the commands: they import nothing from ``foundation``."""
OPEN, CLOSE = "⟦", "⟧"
GOES_ON = "⟦+⟧"
"""The sign at the end of a line before a mark: the text continues without a line end."""

NAMES = {
    "⟦": "⟦", "\r": "CR", "\n": "LF", "\t": "TAB", " ": "SP", "\xa0": "NBSP", "\0": "NUL",
    "\x1b": "ESC", "\u200b": "ZWSP", "\u200c": "ZWNJ", "\u200d": "ZWJ", "\ufeff": "BOM",
    "\u2028": "LS", "\u2029": "PS",
}  # fmt: skip
_NONCHARACTERS = r"\ufdd0-\ufdef" + "".join(
    rf"\U{plane:04x}fffe\U{plane:04x}ffff" for plane in range(1, 17)
)
_BLANKS = r"\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u2800"
_UNSEEN = pattern(f"[{UNSEEN}]")
_ALWAYS = pattern(
    rf"[⟦\x00-\x08\x0b-\x1f\x7f-\x9f{_BLANKS}\ud800-\udfff\ufffe\uffff{_NONCHARACTERS}]"
)
_TRAILING = re.compile(r"[ \t\u3000]+(?=\n|\Z)")
_PLAIN_NAME = re.compile(r"[a-z](?:[a-z0-9_ .:-]*[a-z0-9_])?")
_NUMBERED = re.compile(r"-[0-9]+\Z")


def escape(character: str) -> str:
    """Return the sign of a character, such as ``⟦CR⟧`` or ``⟦U+202E⟧``."""
    return f"⟦{NAMES.get(character) or f'U+{ord(character):04X}'}⟧"


def shown(text: str, *, one_line: bool = False) -> str:
    r"""Return text with signs for invisible characters, except for blanks at line ends.

    Joiners and selectors that belong to a spelling, as in emoji, are kept.

    >>> shown("a\rb\u200b ⟦date⟧")
    'a⟦CR⟧b⟦ZWSP⟧ ⟦⟦⟧date⟧'
    """
    if one_line and ("\n" in text or "\t" in text):
        # In two steps: literal brackets must be escaped before signs are written.
        lines = [shown(line) for line in re.split(r"([\n\t])", text)]
        return "".join(escape(line) if line in ("\n", "\t") else line for line in lines)
    if text.isascii() and text.isprintable():
        return text
    text = _ALWAYS.sub(lambda match: escape(match[0]), text)
    if text.isascii() or not _UNSEEN.search(text):
        return text
    return INVISIBLE.sub(lambda match: escape(match[1]) if match[1] else match[0], text)


def printable(text: str) -> str:
    r"""Return lines of a file from anybody, with signs for invisible characters.

    The signs in these lines are kept.

    >>> printable("Today is ⟦date⟧.\x1b[2J")
    'Today is ⟦date⟧.⟦ESC⟧[2J'
    """
    return "⟦".join(map(shown, text.split("⟦")))


def ended(text: str) -> str:
    r"""Return text with signs for the blanks at the end of each line.

    >>> ended("a  \nb")
    'a⟦SP⟧⟦SP⟧\nb'
    """
    return _TRAILING.sub(lambda match: "".join(map(escape, match[0])), text)


def alias(name: str, number: int = 0) -> str:
    """Return the sign for a value that changes, with its number if there are several values.

    A name that could be misread as another sign is written as a JSON string.

    >>> alias("date"), alias("uuid", 2), alias("CR"), alias("uuid-2")
    ('⟦date⟧', '⟦uuid-2⟧', '⟦"CR"⟧', '⟦"uuid-2"⟧')
    """
    if not _PLAIN_NAME.fullmatch(name) or _NUMBERED.search(name):
        name = json.dumps(name).replace("\x7f", "\\u007f")
    return f"⟦{name}-{number}⟧" if number else f"⟦{name}⟧"
