"""Strings of a part as text: dedented, encoded, and guarded against leaving the fences around.

A text may not forge the fences around it. ``tags`` are the folded names of the open tags around it:
of sections, of components in XML, of fences that are tags. :class:`TextState` counts them.
``rules.literals`` are the delimiters of other fences around it, such as ``[[event]]``. Only the
texts of a conversation with ``guard_conversation`` have ``rules.guards``: the tags of all fences of
the configuration. Their ``literals`` are all its other delimiters.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Literal

import attrs

from promptdsl.foundation.dedent import dedent_parts
from promptdsl.foundation.escaping import body, field, inline, title
from promptdsl.foundation.guards import guard, guard_end, guard_folded, guard_prefixes
from promptdsl.foundation.unicode import controls, invisible, whole
from promptdsl.messages.loss import LossKind
from promptdsl.tree.node import Child
from promptdsl.tree.part_nodes import TrustedTextNode, ValueNode

NoteLoss = Callable[[LossKind, str, str], None]
"""Called for a loss: its kind, the thing that is lost, and the reason."""

Encoding = Literal["inline", "body", "plain"]
"""How values are encoded: for Markdown, for a fence (and any open tag), or not at all."""


@attrs.frozen
class StringRules:
    """How the strings in a part become text.

    ``joined``: all parts form one text, with blank lines between them; otherwise each is a block.
    ``instruction``: a text that starts with a newline is dedented. ``values``: strings of the
    author are values, too. ``guards`` and ``literals`` are fences that no text may forge.
    """

    joined: bool
    instruction: bool
    encoding: Encoding
    values: bool = False
    guards: frozenset[str] = frozenset()
    literals: frozenset[str] = frozenset()

    def in_text(self, *, tagged: bool) -> "StringRules":
        """Return the rules for a part that is one text; in a tag its values are encoded."""
        if self.joined and not tagged:
            return self
        return attrs.evolve(self, joined=True, encoding="body" if tagged else self.encoding)


INSTRUCTION = StringRules(joined=True, instruction=True, encoding="inline")
FENCED = StringRules(joined=True, instruction=False, encoding="inline")
SPEECH = StringRules(joined=False, instruction=False, encoding="plain")


def text_in(
    parts: tuple[Child, ...],
    rules: StringRules,
    tags: Collection[str],
    note: NoteLoss,
    *,
    encode: Callable[[str], str] | None = None,
    one_line: bool = False,
) -> str:
    """Return strings and values as one text; ``tags`` are the folded names of the tags around.

    Values are encoded by ``encode``, by default as the rules require. With ``one_line`` every line
    end is a character reference.
    """
    if one_line:
        encode = field
    elif rules.instruction and isinstance(parts[0], str) and parts[0][:1] in ("\n", "\r"):
        parts = dedent_parts(parts)
    if encode is None:
        encode = body if rules.encoding == "body" or tags else inline
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            text, is_value = part, rules.values
        elif isinstance(part, ValueNode | TrustedTextNode):
            text, is_value = part.text, isinstance(part, ValueNode)
        else:
            continue
        if is_value and rules.encoding != "plain":
            texts.append(value(text, encode, note))
        else:
            text = written(text, note)
            texts.append(title(text) if one_line else text)
    # Guarded as a whole: a value could complete a delimiter that the text before it begins.
    return guarded("".join(texts), rules, tags)


LONE_SURROGATE: tuple[LossKind, str, str] = (
    "content",
    "a lone surrogate",
    "it is no character, U+FFFD is sent",
)
"""The loss of a lone surrogate in a text: its kind, the thing that is lost, and the reason."""


def written(text: str, note: NoteLoss) -> str:
    """Return text unchanged, except for U+FFFD in place of a lone surrogate, which is a loss."""
    if type(text) is str and text.isascii():
        return text
    text, changed = whole(text)
    if changed:
        note(*LONE_SURROGATE)
    return text


def value(text: str, encode: Callable[[str], str], note: NoteLoss) -> str:
    """Return a value encoded, and report its invisible characters."""
    notice((text,), note)
    return encode(text)


def notice(values: Iterable[str], note: NoteLoss) -> None:
    """Report the invisible characters of encoded values."""
    for text in values:
        if text.isprintable():
            continue
        characters = controls(text)
        if characters:
            note("hint", f"control characters {', '.join(characters)}", "sent as references")
        hidden = invisible(text)
        if hidden:
            note("hint", f"invisible characters {', '.join(hidden)}", "sent as they are")


def guarded(text: str, rules: StringRules, tags: Collection[str]) -> str:
    """Return text that cannot close a fence, even together with the text after it."""
    if "<" in text and (tags or rules.guards):
        if tags:
            text = guard_folded(text, tags, tags)
        if rules.guards:
            text = guard(text, rules.guards)
        text = guard_end(text)
    return guard_prefixes(text, rules.literals) if rules.literals else text
