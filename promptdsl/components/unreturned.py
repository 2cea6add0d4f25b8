"""Functions that write parts and return none, called where their result is content.

``System(rules())`` gets ``None`` if ``rules`` has no ``return``: its parts were written where it
was called, or nowhere. The function is found by the source of the call, and only for a ``None``.
"""

import ast
import dis
import linecache
import sys
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType, FunctionType

from promptdsl.components.scope import Component, innermost
from promptdsl.tree.group_nodes import ComponentNode
from promptdsl.tree.masks import HINTED, HOLLOW
from promptdsl.tree.node import Node, make
from promptdsl.tree.part_nodes import SectionNode
from promptdsl.tree.turn_nodes import RequestOnlyNode, RootNode, TurnNode

HOLDERS = (RootNode, TurnNode, RequestOnlyNode, SectionNode)
"""The nodes whose content is written by functions: in others, an empty part may be a choice."""


def unreturned(component: Node, args: tuple[object, ...]) -> list[Node]:
    """Return an empty part with a hint for the ``None`` of each such function among arguments."""
    code, opened = component.code, innermost()
    # The function of a Lazy runs in a detached(), as a render that reads no source file.
    is_lazy = opened is not None and opened[0] is None
    if not isinstance(code, CodeType) or not isinstance(component, HOLDERS) or is_lazy:
        return []
    names = _called_in(code, component.offset)[-len(args) :]
    calls = [name for name, arg in zip(names, args, strict=False) if name and arg is None]
    frame: FrameType | None = sys._getframe(1) if calls else None  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return [
        make(ComponentNode, mask=HOLLOW | HINTED, at=component, name=f"{name}()", by=None)
        for name in calls
        if frame is not None and _writes_only(frame.f_locals.get(name) or frame.f_globals.get(name))
    ]


@lru_cache(maxsize=256)
def _called_in(code: CodeType, offset: int) -> list[str | None]:
    """Return for each argument of a call the function that it is a call of, by name, or ``None``.

    The list is empty if the source of the call is not known, or an argument is unpacked.
    """
    first, last, start, end = next(islice(code.co_positions(), offset // 2, None))
    lines = linecache.getlines(code.co_filename)[(first or 1) - 1 : last or 0]
    if not lines or start is None or end is None:
        return []
    # Columns are those of UTF-8; that of the last line first, as it may be the first, too.
    written = [line.encode() for line in lines]
    written[-1] = written[-1][:end]
    written[0] = written[0][start:]
    try:
        call = ast.parse(b"(" + b"".join(written) + b")", mode="eval").body
    except SyntaxError:
        return []
    if not isinstance(call, ast.Call) or any(isinstance(arg, ast.Starred) for arg in call.args):
        return []
    called = [arg.func if isinstance(arg, ast.Call) else None for arg in call.args]
    return [name.id if isinstance(name, ast.Name) else None for name in called]


def _writes_only(function: object) -> bool:
    """Whether a function names components, and has no ``return`` with a value."""
    if not isinstance(function, FunctionType):
        return False
    code = function.__code__
    used = [function.__globals__.get(name) for name in code.co_names]
    if not any(isinstance(value, type) and issubclass(value, Component) for value in used):
        return False
    before: object = None
    for step in dis.get_instructions(code):
        if step.opname == "RETURN_CONST" and step.argval is not None:
            return False
        # After a jump, another value than that of the instruction before it may be returned.
        if step.opname == "RETURN_VALUE" and (before is not None or step.is_jump_target):
            return False
        before = step.argval if step.opname == "LOAD_CONST" else step
    return True
