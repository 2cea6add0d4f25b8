"""What writing does, said again with nested lists: who has what open, and which error is due."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from promptdsl import ContentError, Node, OptionError, PlacementError, PromptError, ScopeError
from tests.homes import Home

Due: TypeAlias = type[PromptError] | None
"""The error that an operation has to raise."""

FORBIDS = {
    "Root": {"text", "Text", "Root"},
    "Turn": {"Turn", "Root"},
    "Section": {"Turn", "Root"},
    "Fragment": set[str](),
    "Text": set[str](),
}
"""What may not stand in a block, fragments seen through."""

MAXIMUM_AT_ONCE = {"Turn", "Section"}
"""Blocks that refuse what they forbid the moment it is written."""


class Part:
    """A component: its kind, its id or none, and what it holds, as the model knows it."""

    def __init__(self, kind: str, id: str | None = None, entries: Sequence[Any] = ()) -> None:
        self.kind = kind
        self.id = id
        self.entries: list[Any] = list(entries)
        self.bare = False
        self.state = "new"
        self.frozen = False
        self.placed = False
        self.component: Any = None

    def __repr__(self) -> str:
        return f"<{self.kind} {self.id or ''} {self.state}>"


class Frame:
    """An open block, or a ``detached()``, and the writer it belongs to."""

    def __init__(self, part: Part | None, owner: "Writer") -> None:
        self.part = part
        self.owner = owner

    def __repr__(self) -> str:
        return f"<frame of {self.part}>"


def listed(part: Part | str) -> Any:
    """Return a part of the model as nested lists."""
    if isinstance(part, str):
        return part
    return [part.kind, part.id, [listed(entry) for entry in part.entries]]


def held(node: Node | str) -> Any:
    """Return a component or node as nested lists."""
    if isinstance(node, str):
        return node
    name = node._node.__name__.removesuffix("Node")
    return [name, node.options.id, [held(child) for child in node.content]]


def seen(entries: list[Any]) -> Iterator[tuple[str, str | None]]:
    """Yield the kind and id of what stands in a block, fragments seen through."""
    for entry in entries:
        if isinstance(entry, str):
            yield "text", None
        elif entry.kind == "Fragment":
            yield from seen(entry.entries)
        else:
            yield entry.kind, entry.id


def size(part: Part | str) -> int:
    """Return how many parts a part is made of."""
    return 1 if isinstance(part, str) else 1 + sum(map(size, part.entries))


def forbidden(block: Part, entry: Part | str) -> bool:
    """Return whether an entry may not stand in a block."""
    return any(kind in FORBIDS[block.kind] for kind, _ in seen([entry]))


def unfinished(part: Part) -> Due:
    """Return why a part cannot be used, if it cannot."""
    if part.state in ("open", "failed"):
        return ScopeError
    return ContentError if part.bare else None


def unfit(block: Part) -> Due:
    """Return why the content of a block is refused, if it is."""
    for entry in block.entries:
        if not isinstance(entry, str) and entry.bare:
            return ContentError
        if not isinstance(entry, str) and entry.state == "open":
            return ScopeError
        if forbidden(block, entry):
            return PlacementError
    # What fragments hold counts where they end up, not in a fragment around them.
    siblings = block.entries
    if block.kind == "Fragment":
        siblings = [entry for entry in siblings if getattr(entry, "kind", "") != "Fragment"]
    ids = [id for kind, id in seen(siblings) if kind == "Section"]
    return PlacementError if len(ids) != len(set(ids)) else None


def freeze(entries: Iterable[Any]) -> None:
    """Freeze the parts in a content: they cannot be opened any more."""
    for entry in entries:
        if isinstance(entry, Part):
            entry.frozen = True


class Writer:
    """Code that writes: where it runs, and the frames that are open there, the innermost last."""

    def __init__(self, home: Home, stack: tuple[Frame, ...] = ()) -> None:
        self.home = home
        self.stack = stack

    def __repr__(self) -> str:
        return f"<{type(self.home).__name__} in {self.stack}>"

    @property
    def block(self) -> Part | None:
        """The block that what is written here goes into, also one of another writer."""
        return self.stack[-1].part if self.stack else None

    @property
    def entries(self) -> list[Any] | None:
        """The content of the block that is open here, if this writer may write in it."""
        block = self.block
        mine = block is not None and self.stack[-1].owner is self and block.state == "open"
        return block.entries if block is not None and mine else None

    def write(self, part: Part, text: str | None, args: list[Part]) -> Due:
        """Write a component with a text and other parts as its arguments."""
        if part.kind == "Root" and self.block is not None:
            return self._refused(args, ScopeError)
        error = self._take(args)
        if error is not None:
            return self._refused(args, error)
        part.entries = [*([] if text is None else [text]), *args]
        part.bare = not part.entries
        return unfit(part) or self._join(part, placed=True)

    def misspell(self, args: list[Part]) -> Due:
        """Write a component whose id is none."""
        return self._refused(args, OptionError)

    def include(self, part: Part) -> Due:
        """Include a part in the open block."""
        if self.block is None:
            return ScopeError
        return self._take([part]) or self._join(part, placed=False)

    def _take(self, args: list[Part]) -> Due:
        """Freeze arguments, the newest entries of the open block among them."""
        error = next(filter(None, map(unfinished, args)), None)
        if error is not None:
            return error
        moving = {arg for arg in args if arg.placed and not arg.frozen}
        entries = self.entries or []
        if moving and set(entries[-len(moving) :]) != moving:
            return ScopeError
        if moving:
            del entries[-len(moving) :]
        for arg in moving:
            arg.placed = False
        freeze(args)
        return None

    def _refused(self, args: list[Part], error: type[PromptError]) -> Due:
        """Take out of the open block what was written as an argument of a call that failed."""
        entries = self.entries or []
        while entries and entries[-1] in args and entries[-1].placed and not entries[-1].frozen:
            entries.pop()
        return error

    def _join(self, part: Part, *, placed: bool) -> Due:
        if self.block is None:
            return None
        if self.stack[-1].owner is not self:
            return ScopeError
        if self.block.kind in MAXIMUM_AT_ONCE and forbidden(self.block, part):
            return PlacementError
        if self.entries is None:
            return ScopeError
        self.entries.append(part)
        part.placed = part.placed or placed
        return None

    def enter(self, part: Part) -> Due:
        """Open a component as a block."""
        if part.frozen or part.state != "new" or part.kind == "Text":
            return ScopeError
        if part.placed and not any(part in block.entries for block in self._around()):
            return ScopeError
        owner = self if self.block is None else self.stack[-1].owner
        part.state, part.bare = "open", False
        self.stack = (*self.stack, Frame(part, owner))
        return None

    def detach(self) -> None:
        """Open a ``detached()``."""
        self.stack = (*self.stack, Frame(None, self))

    def leave(self, frame: Frame, *, raised: bool) -> Due:
        """Close a block or a ``detached()``, in order or not."""
        if self.stack and self.stack[-1] is frame:
            self.stack = self.stack[:-1]
            return None if frame.part is None else self._close(frame.part, raised=raised)
        cut = self.stack.index(frame) if frame in self.stack else len(self.stack)
        lost = [frame, *self.stack[cut + 1 :]]
        self.stack = self.stack[:cut]
        for part in [inner.part for inner in lost if inner.part is not None]:
            self._fail(part)
        return None if raised else ScopeError

    def _close(self, part: Part, *, raised: bool) -> Due:
        error = None if raised else unfit(part)
        if not raised:
            freeze(part.entries)
        if raised or error is not None:
            self._fail(part)
        elif part.state == "open":
            part.state, part.frozen = "closed", part.kind == "Root"
        return error

    def _fail(self, part: Part) -> None:
        """Leave nothing of a block in the one it stands in; one that was used since stays."""
        if part.frozen:
            return
        part.state = "failed"
        for block in self._around() if part.placed else ():
            if block.state != "open":  # it was closed by another writer, and keeps what it has
                continue
            block.entries[:] = [entry for entry in block.entries if entry is not part]

    def _around(self) -> Iterator[Part]:
        """Yield the open blocks from the innermost on, as far as the next ``detached()``."""
        for frame in reversed(self.stack):
            if frame.part is None:
                return
            yield frame.part
