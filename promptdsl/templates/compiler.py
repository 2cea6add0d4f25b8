"""The compiler of templates, which separates the text of a template from the values in it."""

# Jinja names the methods of a visitor after its nodes.
# ruff: noqa: N802

from collections.abc import Collection, Iterable
from math import isfinite
from typing import cast

from jinja2 import Environment, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import TemplateAssertionError, TemplateSyntaxError
from jinja2.meta import find_undeclared_variables

from promptdsl.foundation.errors import nearest
from promptdsl.templates.filters import INSTEAD

_INCLUDING = (nodes.Include, nodes.Extends, nodes.Import, nodes.FromImport)
SYNTAX_FIX = "the mistake may be on an earlier line"


def syntax_fix(problem: str) -> str:
    """Return the advice for a problem that Jinja found in the syntax of a template."""
    if problem.endswith("got '='"):
        return "to compare two values, write == with two signs"
    if problem in ("unexpected '}'", "expected token 'end of print statement', got '}'"):
        return "a variable is {{ name }}, with two braces at each end"
    return SYNTAX_FIX


class UnknownFilter(TemplateAssertionError):
    """A template uses a filter, a test or a name that does not exist; ``fix`` is the advice."""

    fix = ""


def advice(name: str, known: Iterable[str]) -> str:
    """Return the advice for a filter or test that does not exist."""
    return INSTEAD.get(name) or nearest(name, known)


def checked_tree(
    environment: Environment, source: str, name: str | None, lines_before: int = 0
) -> nodes.Template:
    """Return the syntax tree of a template, in which each turn of a loop counts as a step.

    ``lines_before`` is the number of lines in its file before its source. A section of a library
    can be included only by a qualified name that is written in the template. The value of a
    variable cannot name one.

    Raises an error of Jinja, with its line, for a syntax error, an unknown filter or test, and an
    infinite number, which has no literal in Python. Also for ``{% autoescape %}``, which would turn
    values that are marked as safe into author text.
    """
    tree = _parsed(environment, source, name, lines_before)
    kinds = (nodes.For, nodes.Filter, nodes.Test, nodes.Const, nodes.ScopedEvalContextModifier)
    for node in [*tree.find_all(kinds)]:
        problem = fix = ""
        match node:
            case nodes.For():
                step = nodes.EnvironmentAttribute("step()", lineno=node.lineno)
                if node.test is None:
                    node.body.insert(0, nodes.ExprStmt(step, lineno=node.lineno))
                else:
                    node.test = nodes.And(step, node.test, lineno=node.lineno)
            case nodes.Filter() | nodes.Test():
                is_filter = isinstance(node, nodes.Filter)
                known: Collection[str] = environment.filters if is_filter else environment.tests
                if node.name not in known:
                    problem = f"there is no {'filter' if is_filter else 'test'} {node.name!r}"
                    fix = advice(node.name, known)
            case nodes.Const(value=float(number)) if not isfinite(number):
                problem = "a number is too large"
            case nodes.ScopedEvalContextModifier():
                problem = "autoescape is not supported: every value is encoded"
            case _:
                pass
        if problem:
            error = UnknownFilter(problem, node.lineno, name)
            error.fix = fix or SYNTAX_FIX
            raise error
    return tree


def _parsed(
    environment: Environment, source: str, name: str | None, lines_before: int
) -> nodes.Template:
    """Return the syntax tree of a template, with the lines of its file, and with its sections."""
    try:
        tree = environment.parse(source, name, name or "<template>")
    except TemplateSyntaxError as error:
        error.lineno += lines_before
        raise
    for node in tree.find_all(nodes.Node):
        # The operands of a comparison have no line.
        node.lineno = node.lineno and node.lineno + lines_before
    for node in tree.find_all(_INCLUDING):
        target = cast("nodes.Include", node).template
        if isinstance(target, nodes.List | nodes.Tuple):
            target.items = [_section_at(item) for item in target.items]
        else:
            cast("nodes.Include", node).template = _section_at(target)
    return tree


def _section_at(target: nodes.Expr) -> nodes.Expr:
    """Return the section of a library for a qualified name; any other name is unchanged."""
    match target:
        case nodes.Const(value=str(name)) if ":" in name:
            return nodes.EnvironmentAttribute(f"section({name!r})", lineno=target.lineno)
        case _:
            return target


def check_names(tree: nodes.Template, inputs: Collection[str], name: str | None) -> None:
    """Raise an error of Jinja for the first name in a template that is not one of its inputs."""
    unknown = find_undeclared_variables(tree) - {*inputs}
    for node in tree.find_all(nodes.Name):
        if node.name in unknown:
            error = UnknownFilter(f"{node.name!r} is not an input", node.lineno, name)
            close = nearest(node.name, inputs) if inputs else "this template has no inputs"
            error.fix = f"{close}; or declare it in the front matter".replace("?;", "?")
            raise error


def names_in(tree: nodes.Template) -> frozenset[str] | None:
    """Return all names in a template, also those in its branches.

    Return ``None`` for a template that shares its variables with another one, which may use them.
    """
    for node in tree.find_all(_INCLUDING):
        if not isinstance(node, nodes.Import | nodes.FromImport) or node.with_context:
            return None
    return frozenset(node.name for node in tree.find_all(nodes.Name))


class PieceCode(CodeGenerator):
    """Code that yields author text in a tuple, and passes every other output to ``put``."""

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        """Write the operator ``~``, which joins texts, with a bounded result."""
        self.write("environment.joined((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def _output_child_to_const(
        self, node: nodes.Expr, frame: Frame, finalize: CodeGenerator._FinalizeInfo
    ) -> str:
        # A constant in an expression is a value and not text of the template.
        if isinstance(node, nodes.TemplateData):
            return node.data
        raise nodes.Impossible

    def _output_const_repr(self, group: Iterable[object]) -> str:
        return repr(("".join(map(str, group)),))

    def _output_child_pre(
        self, node: nodes.Expr, frame: Frame, finalize: CodeGenerator._FinalizeInfo
    ) -> None:
        self.write("environment.put(")

    def _output_child_post(
        self, node: nodes.Expr, frame: Frame, finalize: CodeGenerator._FinalizeInfo
    ) -> None:
        # A variable, such as ``user.name``, is named.
        names: list[str] = []
        while isinstance(node, nodes.Getattr):
            names.append(node.attr)
            node = node.node
        if isinstance(node, nodes.Name):
            self.write(f", {'.'.join([node.name, *reversed(names)])!r}")
        self.write(")")

    def visit_Call(self, node: nodes.Call, frame: Frame, forward_caller: bool = False) -> None:
        """Write a call; a ``{% call %}`` is an output, which Jinja does not treat as one."""
        start, end = ("environment.put(", ")") if forward_caller else ("", "")
        self.write(start)
        super().visit_Call(node, frame, forward_caller=forward_caller)
        self.write(end)

    def visit_FilterBlock(self, node: nodes.FilterBlock, frame: Frame) -> None:
        """Write a ``{% filter %}``: its output is a value."""
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
