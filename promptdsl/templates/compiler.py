"""The code a template is compiled to: static text and what is put in are told apart in it."""

# Jinja names the methods of a visitor after its nodes.
# ruff: noqa: N802

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, NoReturn

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import TemplateAssertionError

from promptdsl.foundation.errors import nearest
from promptdsl.templates.filters import ELSEWHERE


class Unknown(TemplateAssertionError):
    """A template asks for a filter or test there is none of; ``fix`` says what to do."""

    fix = ""


class BoundedCode(CodeGenerator):
    """Code that counts the steps of its loops and joins no texts by itself."""

    def visit_For(self, node: nodes.For, frame: Frame) -> None:
        """Count each item: in the condition of the loop, where it has one, else in its body."""
        step = nodes.EnvironmentAttribute("step()", lineno=node.lineno)
        if node.test is None:
            node.body.insert(0, nodes.ExprStmt(step, lineno=node.lineno))
        else:
            node.test = nodes.And(step, node.test, lineno=node.lineno)
        super().visit_For(node, frame)

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        """Write what joins texts with ``~``."""
        self.write("environment.joined((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_Filter(self, node: nodes.Filter, frame: Frame) -> None:
        """Write a filter, if there is one of its name."""
        self._check("filter", node, self.environment.filters)
        super().visit_Filter(node, frame)

    def visit_Test(self, node: nodes.Test, frame: Frame) -> None:
        """Write a test, if there is one of its name."""
        self._check("test", node, self.environment.tests)
        super().visit_Test(node, frame)

    def _check(self, kind: str, node: nodes.Filter | nodes.Test, known: Mapping[str, Any]) -> None:
        if node.name not in known:
            error = Unknown(
                f"there is no {kind} {node.name!r}", node.lineno, self.name, self.filename
            )
            error.fix = advice(node.name, known)
            raise error

    def visit_Const(self, node: nodes.Const, frame: Frame) -> None:
        """Write a constant; Python has no word for a number that is infinite."""
        if isinstance(node.value, float) and not isfinite(node.value):
            self.fail("a number is too large", node.lineno)
        super().visit_Const(node, frame)

    def _output_child_to_const(
        self, node: nodes.Expr, frame: Frame, finalize: CodeGenerator._FinalizeInfo
    ) -> str:
        if isinstance(node, nodes.TemplateData):
            return node.data
        raise nodes.Impossible

    def visit_ScopedEvalContextModifier(
        self, node: nodes.ScopedEvalContextModifier, frame: Frame
    ) -> NoReturn:
        """Refuse ``{% autoescape %}``: what it marks as safe would be author text."""
        self.fail("autoescape is not known: values are encoded for their place", node.lineno)


def advice(name: str, known: Iterable[str]) -> str:
    """Return what to do about a filter or test that is not known."""
    return ELSEWHERE.get(name) or nearest(name, known)


class PieceCode(BoundedCode):
    """Code that yields author text in a tuple, and gives every other output to ``put``."""

    def _output_const_repr(self, group: Iterable[Any]) -> str:
        return repr(("".join(group),))

    def _output_child_pre(
        self, node: nodes.Expr, frame: Frame, finalize: CodeGenerator._FinalizeInfo
    ) -> None:
        self.write("environment.put(")

    def _output_child_post(
        self, node: nodes.Expr, frame: Frame, finalize: CodeGenerator._FinalizeInfo
    ) -> None:
        name = _dotted(node)
        self.write(")" if name is None else f", {name!r})")

    def visit_Call(self, node: nodes.Call, frame: Frame, forward_caller: bool = False) -> None:
        """Write a call; that of a ``{% call %}`` is output, though not written as such."""
        self.write("environment.put(" if forward_caller else "")
        super().visit_Call(node, frame, forward_caller=forward_caller)
        self.write(")" if forward_caller else "")

    def visit_FilterBlock(self, node: nodes.FilterBlock, frame: Frame) -> None:
        """Write a ``{% filter %}``, of which the output is a value."""
        inner = frame.inner()
        inner.symbols.analyze_node(node)
        self.enter_frame(inner)
        self.buffer(inner)
        self.blockvisit(node.body, inner)
        self.start_write(frame, node)
        self.write("environment.put(")
        self.visit_Filter(node.filter, inner)
        self.write(")")
        self.end_write(frame)
        self.leave_frame(inner)


class EventCode(BoundedCode):
    """Code that yields text: the fields of an event are encoded before it gets them."""

    def _output_child_pre(
        self, node: nodes.Expr, frame: Frame, finalize: CodeGenerator._FinalizeInfo
    ) -> None:
        self.write("environment.text(")


def _dotted(node: nodes.Expr) -> str | None:
    """Return the name of a variable, such as ``user.name``; ``None`` for other expressions."""
    parts: list[str] = []
    while isinstance(node, nodes.Getattr):
        parts.append(node.attr)
        node = node.node
    return ".".join([node.name, *reversed(parts)]) if isinstance(node, nodes.Name) else None
