"""How a component is written: its arguments, its options, its block, and its turning into a node.

A component has the slots of its node. While it is written its content may grow; when it is taken
into a tree its class is swapped to the node's, which refuses every change.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, cast

import attrs

from promptdsl.blocks import EMPTY
from promptdsl.encoding import text_of
from promptdsl.errors import (
    ContentError,
    OptionError,
    PlacementError,
    PromptError,
    ScopeError,
    nearest,
)
from promptdsl.rewriting import unique_ids
from promptdsl.scope import OPENED, check_owner, enter, fail, is_owner, join, leave, misplaced
from promptdsl.tree import (
    BARE,
    BUSY,
    CLOSED,
    DEEP,
    DEFAULTS,
    FAILED,
    FRAGMENT,
    NAMED,
    OPEN,
    PLACED,
    SPOKEN,
    SURFACE,
    TEXT,
    Fragment,
    Node,
    Options,
    Text,
    Value,
    bits,
    implied,
    label,
    make,
)

Content: TypeAlias = "str | int | float | Decimal | Fraction | Node | Template | None | bool"
"""What may be given as content. Of the booleans only ``False``, which is skipped."""

TEXT_BITS = bits(TEXT)
NOT_OPEN = ~OPEN
NOT_BARE = ~BARE
NOT_SPOKEN = ~SPOKEN
UNFIT = BARE | OPEN | NAMED
UNSETTLED = BUSY | BARE | TEXT
UNSETTLED = BUSY | BARE | TEXT
SHOWN = SURFACE | DEEP
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")
AUDIENCES = ("all", "model", "people")


class Template:
    """The shape of a t-string's value (``string.templatelib.Template``), known by its attributes."""

    strings: tuple[str, ...]
    interpolations: tuple[Any, ...]


class Written(Node):
    """What all components share: being mutable until they are nodes."""

    __slots__ = ()
    _accepts: ClassVar[frozenset[str]] = frozenset()
    _own: ClassVar[int] = 0

    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__

    def _keywords(self) -> frozenset[str]:
        """Return the names of the keywords this component takes."""
        return self._accepts


class Block(Written):
    """A component that holds others: as arguments, or written in its ``with`` block."""

    __slots__ = ()
    _forbids: ClassVar[int] = 0
    """What no child may be (surface bits) or hold (deep bits)."""
    _refuses: ClassVar[int] = 0
    """What can be refused the moment it is written here, because nothing could still move it away."""

    content: Any

    if TYPE_CHECKING:

        def __enter__(self) -> Self: ...

    else:
        __enter__ = enter

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        top = OPENED.get()
        if kind is not None or top is None or top[0] is not self:
            fail(self, leave(self, raised=kind is not None))
            return
        OPENED.set(top[1])
        try:
            seal(self, tuple(self.content), self.mask & NOT_OPEN | CLOSED)
        except PromptError:
            fail(self, top[1])
            raise

    def _advice(self, node: Node) -> str:
        return "write it outside of this block"

    def _inspect(self, content: tuple[Any, ...], mask: int) -> None:
        """Check what a mask cannot say, where something in the block has an id."""


def begin(component: Any, args: tuple[Any, ...], options: Mapping[str, Any]) -> None:
    """Fill a new block component from its arguments and options, and place it."""
    component.content = ()
    component.options = DEFAULTS
    component.mask = component._own | BARE
    if args or options:
        try:
            if options:
                component.options = options_of(component, options)
            if args:
                _fill(component, args, component.mask & NOT_BARE)
        except PromptError:
            retract(args)
            raise
    top = OPENED.get()
    if top is not None:
        join(component, top, component.mask)


def _fill(component: Any, args: tuple[Any, ...], own: int) -> None:
    if _are_finished(args):
        try:
            seal(component, args, own)
        except AttributeError:
            pass
        else:
            return
    seal(component, tuple(gather(component, args)), own)


def _are_finished(args: tuple[Any, ...]) -> bool:
    """Whether the arguments are components that need nothing done: no text, none placed or open.

    Something that only has a ``mask`` as they do is told apart by ``gather``.
    """
    mask = 0
    try:
        for arg in args:
            mask |= arg.mask
    except (AttributeError, TypeError):
        return False
    return not mask & UNSETTLED


def seal(component: Any, content: tuple[Any, ...], own: int) -> None:
    """Freeze the children of a component and set its content and mask, of which ``own`` is a part.

    Raises :class:`PlacementError` for a child that may not stand here.
    """
    mask = 0
    try:
        for child in content:
            mask |= child.mask
            child.__class__ = child._node
    except AttributeError:
        # A string has no mask, and a part that is frozen already refuses to be frozen again.
        mask = _freeze(content)
    if mask & (component._forbids | UNFIT):
        _check(component, content, mask)
    component.content = content
    component.mask = own | mask & (SHOWN if own & FRAGMENT else DEEP)


def _freeze(content: tuple[Any, ...]) -> int:
    """Turn the components of a content into nodes, and return what they are and hold."""
    mask = 0
    for child in content:
        if type(child) is str:
            mask |= TEXT_BITS
        else:
            mask |= child.mask
            if type(child) is not child._node:
                child.__class__ = child._node
    return mask


def _check(component: Any, content: tuple[Any, ...], mask: int) -> None:
    if mask & (component._forbids | BARE | OPEN):
        raise _offence(component, content)
    unique_ids(component, content)
    component._inspect(content, mask)


def _offence(component: Any, content: tuple[Any, ...]) -> PromptError:
    for child in content:
        mask = TEXT_BITS if type(child) is str else child.mask
        if mask & BARE:
            return bare(child)
        if mask & OPEN:
            return ScopeError(
                f"the {label(child)} in this {label(component)} is still open",
                fix="close its block first",
                at=(child.source, component.source),
            )
        if mask & component._forbids:
            return _misplaced(component, child)
    raise AssertionError("no child was at fault")


def _misplaced(component: Any, child: Any) -> PlacementError:
    if type(child) is str:
        return PlacementError(
            f"loose text cannot stand in a {label(component)}: {child[:40]!r}",
            fix=component._advice(make(Text)),
            at=(component.source,),
        )
    return misplaced(_culprit(child, component._forbids), component)


def _culprit(node: Node, forbidden: int) -> Node:
    """Return the node that brings what is forbidden: the node itself, or one inside it."""
    while isinstance(node, Fragment) or not node.mask & SURFACE & forbidden:
        scope = forbidden if isinstance(node, Fragment) else forbidden & DEEP
        inner = next((c for c in node.content if type(c) is not str and c.mask & scope), None)
        if inner is None:
            break
        node = inner
    return node


def bare(component: Node) -> ContentError:
    """Return the error for a component written with nothing in it."""
    return ContentError(
        f"this {label(component)} was written with no content and no block",
        fix=f"give it content, or open it: with {label(component)}(...):",
        at=(component.source,),
    )


# Arguments.


def gather(component: Any, args: tuple[Any, ...]) -> list[Any]:
    """Return the content that arguments make: neighbouring strings, numbers and values are one text."""
    content: list[Any] = []
    run: list[Any] = []
    busy: list[Any] = []
    values: list[Any] = []
    for arg in args:
        if type(arg) is str:
            run.append(arg)
        elif isinstance(arg, Node):
            if arg.mask & (BUSY | BARE):
                busy.append(arg)
            if arg._node is Value:
                run.append(arg)
                values.append(arg)
                continue
            if run:
                flush(component, run, content)
            content.append(arg)
        elif arg is not None and arg is not False:
            run.extend(inline(arg, component))
    flush(component, run, content)
    if busy:
        adopt(component, busy)
    for value in values:
        if type(value) is not Value:
            value.__class__ = Value
    return content


def flush(component: Any, run: list[Any], content: list[Any]) -> None:
    """Move a run of strings and values into the content, as one text."""
    if not run:
        return
    if all(type(part) is str for part in run):
        content.append("".join(run))
    elif len(run) == 1:
        content.append(run[0])
    else:
        content.append(make(Text, joined(run), mask=TEXT_BITS, at=component.at))
    run.clear()


def joined(run: Iterable[Any]) -> tuple[Any, ...]:
    """Return the parts of a text with neighbouring strings joined."""
    parts: list[Any] = []
    for part in run:
        if type(part) is str and parts and type(parts[-1]) is str:
            parts[-1] += part
        else:
            parts.append(part)
    return tuple(parts)


def inline(arg: object, component: Any) -> list[Any]:
    """Return the parts of one text that an argument stands for, or raise :class:`ContentError`."""
    numeric = isinstance(arg, int | float | Decimal | Fraction) and not isinstance(arg, bool)
    if numeric or isinstance(arg, str):
        try:
            return [text_of(arg)]
        except ContentError as error:
            raise error.located(component.source) from None
    strings = getattr(arg, "strings", None)
    interpolations = getattr(arg, "interpolations", None)
    if isinstance(strings, tuple) and isinstance(interpolations, tuple):
        return _template_parts(
            cast("tuple[str, ...]", strings), cast("tuple[Any, ...]", interpolations), component
        )
    raise refused(arg, component)


def _template_parts(strings: tuple[str, ...], values: tuple[Any, ...], component: Any) -> list[Any]:
    parts: list[Any] = []
    for index, static in enumerate(strings):
        if static:
            parts.append(text_of(static))
        if index < len(values):
            parts.append(_interpolated(values[index], component))
    return parts


def _interpolated(part: Any, component: Any) -> Value:
    value = part.value
    if isinstance(value, Node):
        raise ContentError(
            f"a {label(value)} cannot stand inside a t-string",
            fix="pass it as an argument of its own",
            at=(component.source, value.source),
        )
    if part.conversion:
        value = {"r": repr, "s": str, "a": ascii}[part.conversion](value)
    if part.format_spec:
        value = format(value, part.format_spec)
    return value_node(value, component, getattr(part, "expression", None))


def value_node(value: object, component: Any, label: str | None = None) -> Value:
    """Return the node of a value; :class:`ContentError` with the author's line for what is no text."""
    try:
        text = text_of(value)
    except ContentError as error:
        raise error.located(component.source) from None
    return make(Value, mask=TEXT_BITS, at=component.at, text=text, label=label)


def refused(arg: object, component: Any) -> ContentError:
    """Return the error for something that is not content."""
    kind = type(arg).__name__
    fix = f"write str(...) of the {kind}, or Value(str(...)) when it comes from elsewhere"
    if isinstance(arg, bool):
        fix = "write str(flag) to print it; `flag and Text(...)` leaves something out"
    elif arg is None:
        fix = "leave it out, or write an empty string"
    elif isinstance(arg, list | tuple | set | frozenset | Iterator):
        fix = "unpack it: *items"
    elif isinstance(arg, Mapping):
        fix = "write json.dumps(value) to show it as JSON, or pass its items one by one"
    elif callable(arg):
        fix = "call it"
    shown = "True" if arg is True else f"a {kind}"
    return ContentError(
        f"{shown} cannot be content of a {label(component)}", fix=fix, at=(component.source,)
    )


def adopt(component: Any, busy: list[Any]) -> None:
    """Move components that were just written into the open block to the one they are arguments of."""
    moving: dict[int, Any] = {}
    for arg in busy:
        check_finished(arg, component)
        if arg.mask & PLACED and arg._node is not type(arg):
            moving[id(arg)] = arg
    if not moving:
        return
    top = OPENED.get()
    entries = None
    if top is not None and top[0] is not None:
        check_owner(component, top)
        entries = top[0].content
    tail = entries[-len(moving) :] if type(entries) is list else []
    if {id(entry) for entry in tail} != moving.keys():
        raise _not_newest(component, next(iter(moving.values())))
    del cast("list[Any]", entries)[-len(moving) :]
    for arg in moving.values():
        arg.mask &= ~PLACED


def check_finished(arg: Any, component: Any) -> None:
    """Raise when an argument is still open, failed, or was never given any content."""
    if arg.mask & OPEN and arg._node is not type(arg):
        raise ScopeError(
            f"this {label(arg)} is still open, it cannot be an argument yet",
            fix="close its block first",
            at=(component.source, arg.source),
        )
    if arg.mask & FAILED:
        raise ScopeError(
            f"the block of this {label(arg)} raised, so it was never finished",
            fix="write it again",
            at=(component.source, arg.source),
        )
    if arg.mask & BARE and arg._node is not type(arg):
        raise bare(arg)


def _not_newest(component: Any, arg: Any) -> ScopeError:
    return ScopeError(
        f"this {label(arg)} already stands in another place of a block",
        fix="write it in the argument list itself, or build it under `with detached():`",
        at=(component.source, arg.source),
    )


def retract(args: Iterable[Any]) -> None:
    """Take what was written in an argument list back out of the open block: the call failed.

    That is what stands last in the block. What the author wrote there before stays.
    """
    given = {
        id(node)
        for arg in args
        for node in (cast("Iterable[Any]", arg) if isinstance(arg, list | tuple) else (arg,))
        if isinstance(node, Node) and node.mask & PLACED
    }
    top = OPENED.get()
    if not given or top is None or top[0] is None or not is_owner(top):
        return
    entries = top[0].content
    while entries and id(entries[-1]) in given:
        del entries[-1]


def finish(component: Any) -> Node:
    """Return the node of a component, freezing it at its first use."""
    if component._node is not type(component):
        check_finished(component, component)
        component.__class__ = component._node
    return cast("Node", component)


# Options.


def unknown_option(component: Any, name: str, accepts: Iterable[str], at: object) -> OptionError:
    """Return the error for a keyword a component does not take."""
    return OptionError(
        f"{label(component)}() takes no {name!r}", fix=nearest(name, accepts), at=(at,)
    )


def refuse_options(component: Any, given: Mapping[str, Any], known: Iterable[str] = ()) -> None:
    """Raise :class:`OptionError` for the first keyword of a component that takes none of them."""
    for name in given:
        raise unknown_option(component, name, known, component.source)


def options_of(component: Any, given: Mapping[str, Any]) -> Options:
    """Return the options of a component and note in its mask what they imply.

    Raises :class:`OptionError` for an unknown name or a value an option cannot take.
    """
    for name, value in given.items():
        if name not in component._accepts:
            raise unknown_option(component, name, component._keywords(), component.source)
        problem = _CHECKS[name](value)
        if problem:
            raise OptionError(
                f"{label(component)}({name}={value!r})", fix=problem, at=(component.source,)
            )
    options = attrs.evolve(
        DEFAULTS, **{name: _KEEP.get(name, _same)(v) for name, v in given.items()}
    )
    # What has options of its own is not plain speech any more.
    component.mask = component.mask & NOT_SPOKEN | implied(options)
    return options


def _same(value: Any) -> Any:
    return value


_KEEP: Mapping[str, Callable[[Any], Any]] = {
    "metadata": lambda value: dict(value) if value else EMPTY,
    "tags": tuple,
}


def check_id(value: object) -> str:
    """Return what is wrong with an id, or an empty string."""
    if isinstance(value, str) and NAME.match(value):
        return ""
    return "an id starts with a letter or _, then letters, digits, _ . -"


def _optional_id(value: object) -> str:
    return "" if value is None else check_id(value)


def _optional_text(value: object) -> str:
    return "" if value is None or isinstance(value, str) else "write a string"


def _a_mapping(value: object) -> str:
    return "" if value is None or isinstance(value, Mapping) else "write a mapping"


def _some_tags(value: object) -> str:
    good = isinstance(value, list | tuple | set | frozenset) and all(
        isinstance(tag, str) for tag in cast("Iterable[object]", value)
    )
    return "" if good else 'write a tuple of strings: tags=("a", "b")'


def _an_audience(value: object) -> str:
    return "" if value in AUDIENCES else "one of 'all', 'model', 'people'"


def _a_bool(value: object) -> str:
    return "" if isinstance(value, bool) else "write True or False"


_CHECKS: Mapping[str, Callable[[object], str]] = {
    "id": _optional_id,
    "name": _optional_text,
    "metadata": _a_mapping,
    "tags": _some_tags,
    "audience": _an_audience,
    "cache": _a_bool,
    "merge": _a_bool,
}
