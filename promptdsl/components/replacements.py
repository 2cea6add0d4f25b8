"""Replacements: what is used in the place of components, sections and constants at one point."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

import attrs

from promptdsl.foundation.source import Source
from promptdsl.tree.group_nodes import ComponentNode, FragmentNode
from promptdsl.tree.masks import HOLLOW, NAMED, SECTION, bits
from promptdsl.tree.node import Child, Node, implied, label, make
from promptdsl.tree.part_nodes import SectionNode
from promptdsl.tree.rewrite import copied, covering, rewrite, with_content

Function: TypeAlias = Callable[..., object]
Key: TypeAlias = "str | Function | Node"
"""A name, a component or a constant."""
Check: TypeAlias = Callable[[Node, Source | None], None]
KeptOverrides: TypeAlias = tuple[tuple[Key, Function | Node], ...]
"""Replacements as plain data: keys and what replaces them, the innermost first."""


@attrs.define(eq=False)
class Replacement:
    """A function or a part, what it replaces, and the line of its ``override()``.

    ``used`` is whether it replaced anything, or may still do so. ``check`` raises for a child of a
    node that may not be there; a function that replaces a component needs none.
    """

    key: Key
    by: Function | Node
    line: Source | None = None
    used: bool = False
    check: Check | None = None


class Replacements:
    """The replacements at one point, the innermost first.

    ``around`` are those around the ``override`` block that added some, which is ``opened_by``.
    """

    def __init__(
        self,
        entries: tuple[Replacement, ...] = (),
        *,
        around: "Replacements | None" = None,
        opened_by: object = None,
    ) -> None:
        self.entries = entries
        self.around = around
        self.opened_by = opened_by
        self.searched: dict[int, Node] = {}
        """The nodes below which nothing is to be replaced, by identity."""

    def begin(self) -> None:
        """Let written and placed parts be looked at, if there are replacements of parts."""
        if any(isinstance(entry.by, Node) for entry in self.entries):
            of_parts.append(self)

    def end(self) -> None:
        """Undo :meth:`begin`."""
        if self in of_parts:
            of_parts.remove(self)

    def of_component(
        self, keys: tuple[str | Function, ...], *, has_children: bool
    ) -> Replacement | None:
        """Return the innermost replacement of a component: of its function, or of its names.

        A part has no place for children.
        """
        for entry in self.entries:
            named = isinstance(entry.key, str) and entry.key in keys
            fits = not (has_children and isinstance(entry.by, Node))
            if fits and (named or any(entry.key is key for key in keys)):
                return entry
        return None

    def of_part(self, part: Node) -> Replacement | None:
        """Return the innermost replacement of a section or a constant that is not replaced yet."""
        if written_as(part) is not part:
            return None
        is_section = isinstance(part, SectionNode)
        for entry in self.entries:
            if entry.key is part:
                return entry
            if is_section and isinstance(entry.by, Node) and entry.key == part.options.id:
                return entry
        return None

    def without(self, replacement: Replacement) -> "Replacements":
        """Return the replacements while one of them is written, which gets the next one."""
        return Replacements(tuple(entry for entry in self.entries if entry is not replacement))

    def placed(self, part: Node) -> Node:
        """Return a part with its sections and constants replaced; it may be one itself."""
        found = False
        seen: list[Node] = []
        waiting = [part]
        while waiting:
            node = waiting.pop()
            if self._stands_in(node):
                self.searched[id(node)] = node
            if id(node) not in self.searched:
                seen.append(node)
                found = found or self.of_part(node) is not None
                waiting += [child for child in node.content if not isinstance(child, str)]
        if found:
            return rewrite(part, self._replaced, within=-1, leave=self.searched)
        self.searched.update((id(node), node) for node in seen)
        return part

    def _stands_in(self, node: Node) -> bool:
        """Return whether a node is a replacement already, in which nothing is replaced again."""
        is_replacement = isinstance(node, ComponentNode) and written_as(node) is not node
        return is_replacement and any(entry.line == node.source for entry in self.entries)

    def _replaced(self, part: Node) -> Node:
        for check in {entry.check for entry in self.entries if entry.check}:
            check(part, None)
        replacement = self.of_part(part)
        return part if replacement is None else replaced(part, replacement)


OVERRIDES: ContextVar[Replacements | None] = ContextVar("promptdsl_overrides", default=None)

C = TypeVar("C", bound=Child)

of_parts: list[Replacements] = []
"""The replacements of parts in force, in any thread: without any, nobody looks at parts."""


def replaced(part: Node, replacement: Replacement) -> Node:
    """Return the node in the place of a section or constant.

    A section takes the place of a section; any other part becomes its content. The outline names
    the replacement.
    """
    replacement.used = True
    by = replacement.by
    assert isinstance(by, Node)
    assert replacement.check is not None
    is_section = isinstance(part, SectionNode)
    inner = by.content if is_section and isinstance(by, SectionNode) else (by,)
    name = part.options.id or label(part).lower()
    mask = with_content(make(FragmentNode, (), mask=HOLLOW), inner).mask
    note = make(ComponentNode, inner, mask=mask, at=replacement.line, name=name, by=label(by))
    # Not a field, so make() does not set it.
    object.__setattr__(note, "running", copied(part, part.content, part.mask))
    if not isinstance(part, SectionNode):
        return note
    source = by if isinstance(by, SectionNode) else part
    mask = bits(SECTION | NAMED, covering((note,))) | implied(source.options)
    made = make(
        SectionNode, (note,), mask=mask, at=part, options=source.options, title=source.title
    )
    replacement.check(made, replacement.line)
    return made


def written_as(part: Node) -> Node:
    """Return a part as it was written, before it was replaced."""
    note = part.content[0] if isinstance(part, SectionNode) and len(part.content) == 1 else part
    kept = getattr(note, "running", None) if isinstance(note, ComponentNode) else None
    return kept if isinstance(kept, Node) else part


def placed(content: Sequence[C]) -> Sequence[C | Node]:
    """Return the parts of a content with their sections and constants replaced."""
    inside = OVERRIDES.get()
    if inside is None:
        return content
    return [inside.placed(child) if isinstance(child, Node) else child for child in content]


@contextmanager
def replacing(replacements: Replacements | None) -> Generator[None]:
    """Let these replacements replace components while a block runs."""
    token = OVERRIDES.set(replacements)
    if replacements is not None:
        replacements.begin()
    try:
        yield
    finally:
        OVERRIDES.reset(token)
        if replacements is not None:
            replacements.end()


def moved(
    inside: Replacements, own: Replacements | None, around: Replacements | None
) -> Replacements:
    """Return the replacements of ``around`` and those that ``inside`` adds to ``own``."""
    added = len(inside.entries) - (0 if own is None else len(own.entries))
    outer = () if around is None else around.entries
    return Replacements(inside.entries[: max(added, 0)] + outer)


def kept_overrides() -> KeptOverrides:
    """Return the replacements at this point as data that can be compared, printed and pickled."""
    current = OVERRIDES.get()
    if current is None:
        return ()
    for entry in current.entries:
        entry.used = True
    return tuple((entry.key, entry.by) for entry in current.entries)


def restored(kept: KeptOverrides, check: Check) -> Replacements:
    """Return the replacements of :func:`kept_overrides`."""
    return Replacements(tuple(Replacement(key, by, used=True, check=check) for key, by in kept))
