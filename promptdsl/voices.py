"""How the strings of a part are taken: as written, as values, dedented, guarded."""

from collections.abc import Callable, Collection

import attrs

from promptdsl.encoding import (
    body,
    controls,
    guard,
    guard_end,
    guard_folded,
    guard_prefixes,
    inline,
    invisible,
    whole,
)
from promptdsl.indentation import dedent_parts
from promptdsl.losses import LossKind
from promptdsl.nodes import Fence
from promptdsl.tree import Child

Note = Callable[[LossKind, str, str], None]
"""Called for a loss: its kind, what, and why."""


@attrs.frozen
class Voice:
    """How the strings of a part are taken.

    ``joined``: parts stand in one text, a blank line between them; otherwise each is a block.
    ``instruction``: a text that starts with a newline is dedented. ``place`` is the encoding of
    values: ``inline``, ``body`` or ``plain``. ``values``: author text is a value too. ``guards``
    and ``literals`` are fences that no text may forge: tags, and delimiters that are no tags.
    """

    joined: bool
    instruction: bool
    place: str
    values: bool = False
    guards: frozenset[str] = frozenset()
    literals: frozenset[str] = frozenset()

    def in_section(self, *, fenced: bool) -> "Voice":
        """Return the voice inside a section: instructions, values encoded where it is a tag."""
        if self.joined and (self.instruction or self.values) and not fenced:
            return self
        place = "body" if fenced else self.place
        return attrs.evolve(self, joined=True, instruction=not self.values, place=place)

    def in_fence(self, fence: Fence) -> "Voice":
        """Return the voice inside a fence."""
        return attrs.evolve(
            self,
            # A prefix closes nothing: what stands behind it is as open as unfenced text.
            place="body" if fence.close else self.place,
            values=fence.values,
            literals=self.literals.union(fence.literals),
        )


INSTRUCTION = Voice(joined=True, instruction=True, place="inline")
FENCED = Voice(joined=True, instruction=False, place="inline")
SPEECH = Voice(joined=False, instruction=False, place="plain")


def text_in(parts: tuple[Child, ...], voice: Voice, names: Collection[str], note: Note) -> str:
    """Return one text of strings and values as it is sent inside fences of these folded names."""
    if voice.instruction and isinstance(parts[0], str) and parts[0][:1] in ("\n", "\r"):
        parts = dedent_parts(parts)
    fenced = voice.place == "body" or bool(names)
    encoded = [
        _value(part if isinstance(part, str) else part.text, fenced, note)
        if voice.place != "plain" and (voice.values or not isinstance(part, str))
        else written(part if isinstance(part, str) else part.text, note)
        for part in parts
    ]
    # Guarded as a whole: a value could complete a delimiter that the text before it begins.
    return guarded("".join(encoded), voice, names)


def written(text: str, note: Note) -> str:
    """Return text that goes out as it is; only a lone surrogate cannot."""
    text, changed = whole(text)
    if changed:
        note("content", "a lone surrogate", "it is no character, U+FFFD is sent")
    return text


def _value(text: str, fenced: bool, note: Note) -> str:
    notice(text, note)
    return body(text) if fenced else inline(text)


def notice(text: str, note: Note) -> None:
    """Report what a reader does not see in a value that is encoded."""
    if text.isprintable():
        return
    found = controls(text)
    if found:
        note("hint", f"control characters {', '.join(found)}", "sent as references")
    hidden = invisible(text)
    if hidden:
        note("hint", f"invisible characters {', '.join(hidden)}", "sent as they are")


def guarded(text: str, voice: Voice, names: Collection[str]) -> str:
    """Return text that can neither close a fence around it nor begin what the next completes."""
    if "<" in text and (names or voice.guards):
        if names:
            text = guard_folded(text, names, names)
        if voice.guards:
            text = guard(text, voice.guards)
        text = guard_end(text)
    return guard_prefixes(text, voice.literals) if voice.literals else text
