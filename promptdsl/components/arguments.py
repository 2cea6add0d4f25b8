"""The arguments of a component: what they become, and moving in what was just written."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from promptdsl.components.refusals import refused
from promptdsl.components.scope import OPENED, check_owner, is_owner
from promptdsl.foundation.errors import ContentError, ScopeError
from promptdsl.foundation.escaping import is_number, text_of
from promptdsl.foundation.trusted import Trusted
from promptdsl.tree.masks import BARE, BUSY, FAILED, HOLLOW, ITEM, OPEN, PLACED, TEXT, bits
from promptdsl.tree.node import Node, label, make, named_label
from promptdsl.tree.part_nodes import ItemNode, TextNode, TrustedTextNode, ValueNode

if TYPE_CHECKING:
    from decimal import Decimal
    from fractions import Fraction

Content: TypeAlias = "str | int | float | Decimal | Fraction | Node | Template | bool | None"
"""What may be given as content. Of the booleans only ``False``, which is skipped."""

TEXT_BITS = bits(TEXT)


class Template:
    """What a t-string is (``string.templatelib.Template``), known by its attributes."""

    strings: tuple[str, ...]
    interpolations: tuple[Any, ...]


def bare(component: Node) -> ContentError:
    """Return the error for a component written with nothing in it."""
    return ContentError(
        f"this {label(component)} was written with no content and no block",
        fix=f"give it content, or open it: with {label(component)}(...):",
        at=(component.source,),
    )


def gather(component: Any, args: tuple[Any, ...]) -> list[Any]:
    """Return the content of arguments: neighbouring strings, numbers and values are one text."""
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
            if isinstance(arg, ValueNode):
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
        freeze(value)
    return content


def freeze(part: Any) -> Any:
    """Return the node of a part that needs nothing checked."""
    if type(part) is not part._node:
        part.__class__ = part._node
    return part


def gather_items(component: Any, args: tuple[Any, ...]) -> list[Any]:
    """Return the content of a list: what is no component is an item of its own."""
    content: list[Any] = []
    for arg in args:
        if isinstance(arg, Node):
            content.append(arg)
        elif arg is not None and arg is not False:
            content.append(item_of(tuple(inline(arg, component)), component))
    adopt(component, [arg for arg in content if arg.mask & (BUSY | BARE)])
    return [item_of((freeze(x),), component) if isinstance(x, ValueNode) else x for x in content]


def item_of(parts: tuple[Any, ...], component: Any) -> Any:
    """Return the node of an item of one text."""
    mask = bits(TEXT | ITEM) if any(parts) else bits(TEXT | ITEM) | HOLLOW
    content = (
        parts if len(parts) == 1 else (make(TextNode, parts, mask=TEXT_BITS, at=component.at),)
    )
    return make(ItemNode, content, mask=mask, at=component.at, done=None)


def flush(component: Any, run: list[Any], content: list[Any]) -> None:
    """Move a run of strings and values into the content, as one text."""
    if not run:
        return
    if all(type(part) is str for part in run):
        content.append("".join(run))
    elif len(run) == 1:
        content.append(run[0])
    else:
        content.append(make(TextNode, joined(run), mask=TEXT_BITS, at=component.at))
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
    if type(arg) is Trusted:
        return [make(TrustedTextNode, mask=TEXT_BITS, at=component.at, text=str.__str__(arg))]
    if isinstance(arg, str) or is_number(arg):
        try:
            return [text_of(arg)]
        except ContentError as error:
            raise error.located(component.source) from None
    strings = getattr(arg, "strings", None)
    values = getattr(arg, "interpolations", None)
    if isinstance(strings, tuple) and isinstance(values, tuple):
        return _template_parts(strings, values, component)  # pyright: ignore[reportUnknownArgumentType]
    raise refused(arg, component)


class _Nested(NamedTuple):
    """A template in a template, whose parts take its place."""

    strings: tuple[str, ...]
    values: tuple[Any, ...]


def _template_parts(strings: tuple[str, ...], values: tuple[Any, ...], component: Any) -> list[Any]:
    parts: list[Any] = []
    waiting: list[Any] = [_Nested(strings, values)]
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, str):
            parts.append(entry)
        elif isinstance(entry, _Nested):
            waiting += _interleaved(*entry)
        else:
            waiting += _inserted(entry, parts, component)
    return parts or [""]


def _interleaved(strings: tuple[str, ...], values: tuple[Any, ...]) -> list[Any]:
    """Return the parts of a template, last first; static text as a string."""
    parts: list[Any] = []
    for index, static in enumerate(strings):
        parts += [text_of(static)] if static else []
        parts += values[index : index + 1]
    return parts[::-1]


def _inserted(part: Any, parts: list[Any], component: Any) -> list[Any]:
    """Add the value of an interpolation to the parts; return what a template in it is made of."""
    value = part.value
    strings, values = getattr(value, "strings", None), getattr(value, "interpolations", None)
    plain = not part.conversion and not part.format_spec
    if isinstance(strings, tuple) and isinstance(values, tuple) and plain:
        return [_Nested(strings, values)]  # pyright: ignore[reportUnknownArgumentType]
    trusted = type(value) is Trusted and plain
    parts += inline(value, component) if trusted else [_interpolated(part, component)]
    return []


_CONVERSIONS: Mapping[str, Callable[[object], str]] = {"r": repr, "s": str, "a": ascii}


def _interpolated(part: Any, component: Any) -> ValueNode:
    value = part.value
    if isinstance(value, Node):
        raise ContentError(
            f"{named_label(value)} cannot stand inside a t-string",
            fix="pass it as an argument of its own",
            at=(component.source, value.source),
        )
    try:
        if part.conversion:
            value = _CONVERSIONS[part.conversion](value)
        if part.format_spec:
            value = format(value, part.format_spec)
    except (TypeError, ValueError) as error:
        raise ContentError(
            f"{_expression(part) or 'a value'} has no such form: {error}",
            fix="correct what stands behind its colon or exclamation mark",
            at=(component.source,),
        ) from None
    return value_node(value, component, _expression(part))


def _expression(part: Any) -> str | None:
    """Return what stands in the braces of an interpolation, without the blanks around it."""
    return (getattr(part, "expression", None) or "").strip() or None


def value_node(value: object, component: Any, label: str | None = None) -> ValueNode:
    """Return the node of a value.

    Raises :class:`ContentError` with the author's line for what is no text.
    """
    try:
        text = text_of(value)
    except ContentError as error:
        raise error.located(component.source) from None
    return make(ValueNode, mask=TEXT_BITS, at=component.at, text=text, label=label)


def adopt(component: Any, busy: list[Any]) -> None:
    """Move components just written into the open block to the one they are arguments of."""
    moving: dict[int, Any] = {}
    for arg in busy:
        check_finished(arg, component)
        if arg.mask & PLACED and arg._node is not type(arg):
            moving[id(arg)] = arg
    if not moving:
        return
    top = OPENED.get()
    entries: list[Any] | tuple[Any, ...] | None = None
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
    if arg.mask & FAILED == FAILED:
        raise ScopeError(
            f"the block of this {label(arg)} raised, so it was never finished",
            fix="write it again",
            at=(component.source, arg.source),
        )
    if arg.mask & OPEN and arg._node is not type(arg):
        raise ScopeError(
            f"this {label(arg)} is still open, it cannot be an argument yet",
            fix="close its block first",
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
    given = {id(node) for node in _parts_of(args) if node.mask & PLACED and not is_frozen(node)}
    top = OPENED.get()
    if not given or top is None or top[0] is None or not is_owner(top):
        return
    entries: Any = top[0].content
    if isinstance(entries, tuple):
        return
    while entries and id(entries[-1]) in given:
        del entries[-1]


def _parts_of(args: Iterable[Any]) -> Iterator[Node]:
    """Yield the components among arguments, those in a list or tuple too."""
    for arg in args:
        inside = cast("Iterable[object]", arg) if isinstance(arg, list | tuple) else (arg,)
        for node in inside:
            if isinstance(node, Node):
                yield node


def is_frozen(node: Any) -> bool:
    """Return whether a component is a node already."""
    return type(node) is node._node
