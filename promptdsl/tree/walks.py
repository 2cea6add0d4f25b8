"""Comparing, printing and saving trees of any depth: a stack takes the place of recursion."""

# Nodes are ``Any`` here: their class calls these functions, so it cannot be imported.
# pyright: reportPrivateUsage=false
from collections.abc import Iterator
from types import CodeType
from typing import Any

import attrs

from promptdsl.foundation.source import Source


def are_equal(left: Any, right: Any) -> bool:
    """Return whether two trees have the same content, options and fields."""
    pairs = [(left, right)]
    while pairs:
        one, two = pairs.pop()
        if one is two:
            continue
        if isinstance(one, str) or isinstance(two, str):
            if one != two:
                return False
            continue
        fields = one._node._fields
        if (
            one._node is not two._node
            or len(one.content) != len(two.content)
            or one.options != two.options
            or any(getattr(one, name) != getattr(two, name) for name in fields)
        ):
            return False
        pairs.extend(zip(one.content, two.content, strict=True))
    return True


def printed(root: Any) -> Iterator[str]:
    """Yield the pieces of what ``repr`` prints of a tree."""
    stack: list[Any] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, _Raw):
            yield item
        elif isinstance(item, str):
            yield repr(item)
        else:
            yield f"{item._name()}("
            stack.append(_Raw(")"))
            for index in range(len(item.content) - 1, -1, -1):
                stack.append(item.content[index])
                if index:
                    stack.append(_Raw(", "))
            fields = _printed_fields(item)
            if fields:
                stack.append(_Raw(fields + (", " if item.content else "")))


class _Raw(str):
    """Text that is printed without quotes."""

    __slots__ = ()


def _printed_fields(node: Any) -> str:
    """Return the options and fields of a node that are not their defaults, as keywords."""
    options: attrs.AttrsInstance = node.options
    said = [(f.name, getattr(options, f.name), f.default) for f in attrs.fields(type(options))]
    shown = [(name, value) for name, value, default in said if value != default]
    defaults = node._node._defaults
    for name in node._node._fields:
        value = getattr(node, name, None)
        hidden = (
            value is None
            or name in ("role", "kind")
            or (name in defaults and value == defaults[name])
            or (name == "equipment" and not value)
        )
        if not hidden:
            shown.append((name, value))
    return ", ".join([f"{name}={value!r}" for name, value in shown])


def records(root: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the nodes of a tree in document order as plain records, to be saved one by one."""
    sources: dict[tuple[int, int], Source | None] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        at = node.code
        if isinstance(at, CodeType):
            # One line writes many nodes: it is looked up once, and saved once.
            key = (id(at), node.offset)
            at = sources[key] if key in sources else sources.setdefault(key, node.source)
        children = tuple([child if isinstance(child, str) else None for child in node.content])
        fields = {name: getattr(node, name) for name in node._node._fields}
        yield node._node, children, node.mask, at, node.options, fields
        waiting += [child for child in reversed(node.content) if not isinstance(child, str)]
