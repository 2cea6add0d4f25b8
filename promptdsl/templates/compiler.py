"""The compiler of templates, which separates the text of a template from the values in it.

First come the operators and the filters, whose results have limits, then the pieces of the output
(:class:`Inserted`, :class:`Rope`), then the checks of the syntax tree. Last comes the compiler
itself, :class:`PieceCode`.
"""

import json
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sized
from decimal import Decimal
from fractions import Fraction
from functools import wraps
from itertools import groupby
from math import isfinite
from typing import Any, NamedTuple, TypeAlias, TypeGuard, cast

from jinja2 import Environment, Undefined, filters, nodes, tests
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import TemplateAssertionError, TemplateSyntaxError
from jinja2.meta import find_undeclared_variables
from jinja2.utils import htmlsafe_json_dumps, pass_environment

from promptdsl.foundation.errors import ContentError, TemplateError, nearest
from promptdsl.foundation.escaping import json_text, text_of
from promptdsl.templates.limits import (
    MAX_PIECES,
    MAX_TEXT,
    RUN,
    bounded,
    check_bits,
    check_count,
    check_length,
    counted,
)

# The text of a value, and the operators of templates. A result that is too large is refused.

_SEQUENCES: tuple[type[Sized], ...] = (str, list, tuple)
"""The types that ``*`` can repeat."""


def is_mapping(value: object) -> TypeGuard[dict[object, object]]:
    """Return whether a value is a mapping; in the variables all mappings are dictionaries."""
    return isinstance(value, dict)


def text(value: object, name: str | None = None) -> str:
    """Return the text of a value that a template outputs or changes.

    The text of an inline ``if`` without an ``else`` is empty. So is the text of ``None`` in a run
    with ``none_is_empty``. ``name`` is the name of the variable. Raises :class:`TemplateError`,
    with this name, for ``None`` in other runs, booleans, lists, mappings and objects.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Undefined):
        # An undefined value raises its error here, except that of an inline ``if``.
        return str(value)
    if value is None and RUN.get().none_is_empty:
        return ""
    what = name or "a value"
    if value is None or isinstance(value, bool):
        raise TemplateError(
            f"{what} is {value}, which is not text",
            fix='write the text for it: {{ "yes" if flag else "no" }}, {% if value is none %}',
        )
    try:
        return text_of(value)
    except ContentError as error:
        is_dict = is_mapping(value)
        if isinstance(value, Iterable):
            kind = "mapping" if is_dict else "list"
            problem, variable = f"{what} is a {kind}, which is not text", name or "value"
            fix = f'write {{{{ {variable}|join(", ") }}}} or {{{{ {variable}|tojson }}}}, '
            fix += "or loop over it"
        elif callable(value):
            problem = f"{what} is a function, which is not text"
            fix = f"call it: {{{{ {name or 'name'}() }}}}"
        else:
            problem, fix = error.what, "write the attribute or item of it that is text"
        raise TemplateError(problem, fix=fix) from None


def joined(values: Iterable[object], separator: object = "") -> str:
    """Return the texts of values as one text, with a separator between them."""
    texts = [text(value) for value in values]
    separator_text = text(separator)
    # The length is checked before the text is made.
    check_length(sum(map(len, texts)) + len(separator_text) * (len(texts) - 1))
    return bounded(separator_text.join(texts))


def replaced(value: object, old: object, new: object, count: int | None = None) -> str:
    """Return a text with ``old`` replaced by ``new``, ``count`` times or everywhere."""
    original, search, replacement = text(value), text(old), text(new)
    times = (
        original.count(search) if count is None or count < 0 else min(count, original.count(search))
    )
    check_length(len(original) + times * (len(replacement) - len(search)))
    return original.replace(search, replacement, times)


def percent(template: str, values: object) -> str:
    """Return ``template % values``; raises :class:`TemplateError` for a value without a text.

    The length of the result is not checked here: the caller does this.
    """
    if is_mapping(values):
        return template % _Printable(values)
    if isinstance(values, tuple):
        return template % tuple(map(_printable, cast("tuple[object, ...]", values)))
    return template % (_printable(values),)


class _Printable(dict[object, object]):
    """The values of a ``%`` format by name; each value is checked when the format reads it."""

    def __getitem__(self, name: object) -> object:
        return _printable(super().__getitem__(name))


def _printable(value: object) -> object:
    is_number = isinstance(value, int | float | Decimal | Fraction) and not isinstance(value, bool)
    return value if is_number else text(value)


def check_operands(operator: str, first: object, second: object) -> None:
    """Raise :class:`TemplateError` for a product or power whose result would be too large."""
    if operator == "*":
        for items, times in ((first, second), (second, first)):
            if isinstance(items, _SEQUENCES) and isinstance(times, int):
                check = check_length if isinstance(items, str) else check_count
                check(len(items) * times)
    if operator == "**" and isinstance(first, int | Fraction) and isinstance(second, int):
        base = max(abs(first.numerator), first.denominator)
        if base > 1:
            check_bits((base.bit_length() - 1) * abs(second))


# The filters and tests of templates: those of Jinja, with limits on the size of their results.
#
# Some filters of Jinja are left out, for these reasons:
#
# - ``safe`` marks text as safe, and ``random`` chooses at random
# - ``attr`` and ``pprint`` show objects of Python
# - ``escape``, ``urlencode``, ``urlize``, ``xmlattr`` and ``striptags`` are for HTML and addresses,
#   but here every value is encoded
# - ``center`` and ``wordwrap`` add characters, as many as the template says
#
# ``filesizeformat`` is not supported either.

Filter: TypeAlias = Callable[..., object]

_JINJA_FILTERS: Mapping[str, Filter] = filters.FILTERS
_JINJA_TESTS: Mapping[str, Any] = tests.TESTS  # Any: Jinja gives them no signature


def _bounded_filter(function: Filter, prepare: Filter | None = None) -> Filter:
    """Return a filter with a limit on its result; ``prepare`` converts the filtered value first."""
    # A filter with this attribute gets the environment or the context as its first argument.
    position = int(hasattr(function, "jinja_pass_arg"))

    @wraps(function)
    def filtered(*args: object, **options: object) -> object:
        values = [*args]
        if prepare is not None:
            values[position] = prepare(values[position])
        result = function(*values, **options)
        if isinstance(result, str):
            return bounded(str.__str__(result))
        if isinstance(result, Iterator):
            return list(counted(cast("Iterator[object]", result)))
        return bounded(result)

    return filtered


def _format(value: str, *values: object, **by_name: object) -> str:
    return percent(value, by_name or values)


@pass_environment
def _join(
    environment: Environment,
    items: Iterable[object],
    separator: object = "",
    attribute: str | int | None = None,
) -> str:
    read = filters.make_attrgetter(environment, attribute)
    return joined(map(read, items), separator)


def _json(value: object, indent: int | None = None) -> str:
    """Return the text that Jinja's ``tojson`` returns, to the byte: ASCII with sorted keys."""
    return htmlsafe_json_dumps(json.loads(json_text(value)), indent=indent, sort_keys=True)


# The names of the filters by what they change: texts, items one by one, or any value.
_TEXT_FILTERS = (
    *("capitalize", "indent", "lower", "string", "title", "trim", "truncate", "upper", "wordcount"),
)
_ITEM_FILTERS = (
    *("batch", "groupby", "list", "map", "max", "min", "reject", "rejectattr", "select"),
    *("selectattr", "slice", "sort", "sum", "unique"),
)
_VALUE_FILTERS = (
    *("abs", "count", "d", "default", "dictsort", "first", "float", "int", "items", "last"),
    *("length", "reverse", "round"),
)
FILTERS: Mapping[str, Filter] = {
    # A filter of items counts each item as a step.
    **{name: _bounded_filter(_JINJA_FILTERS[name], text) for name in _TEXT_FILTERS},
    **{name: _bounded_filter(_JINJA_FILTERS[name], counted) for name in _ITEM_FILTERS},
    **{name: _bounded_filter(_JINJA_FILTERS[name]) for name in _VALUE_FILTERS},
    "format": _bounded_filter(_format, text),
    "join": _bounded_filter(_join, counted),
    "replace": _bounded_filter(replaced),
    "tojson": _bounded_filter(_json),
}

# The tests that are left out are about objects of Python, or about the environment of Jinja.
TESTS: Mapping[str, Callable[..., bool]] = {
    name: test
    for name, test in _JINJA_TESTS.items()
    if name not in ("callable", "escaped", "filter", "sameas", "test")
}

_ENCODED = "leave it out: every value is encoded"
"""The advice for a filter that escapes."""
INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("e", "escape", "forceescape"), _ENCODED),
    "safe": "pass trusted(text) as the variable, and write {{ name }} without a filter",
}
"""The advice for some filters of Jinja that are left out."""


# The output of a template: pieces that are author text, and pieces that are values.


class Inserted(NamedTuple):
    """A value that a template inserted; it is not encoded yet.

    ``name`` is the variable that it came from, if any. For a volatile value it is its label.
    """

    text: str
    name: str | None = None
    is_volatile: bool = False


Piece: TypeAlias = str | Inserted
"""A piece of the collected output.

A ``str`` is author text: of the template, or marked by ``trusted()``. In an :data:`Output`, a plain
``str`` is a value.
"""


class Rope(str):
    """The text of a macro, a block or ``{% set %}``, with the pieces that it was made of.

    If a template outputs it unchanged, its pieces are output. The result of an operation on it is a
    plain string, which is a value.
    """

    __slots__ = ("pieces",)
    pieces: tuple[Piece, ...]

    def __new__(cls, pieces: Iterable[Piece]) -> "Rope":
        """Return the rope of these pieces."""
        all_pieces = tuple(pieces)
        texts = [piece.text if isinstance(piece, Inserted) else piece for piece in all_pieces]
        rope = super().__new__(cls, "".join(texts))
        rope.pieces = all_pieces
        return rope


Output: TypeAlias = tuple[str] | Inserted | str
"""An output of compiled code: author text in a tuple, a value, a rope, or a plain string.

The code yields author text only in a tuple or a rope. So a plain string is a value, which is
encoded. Only :func:`collect` reads outputs, and makes pieces of them.
"""


def collect(outputs: Iterable[Output]) -> Rope:
    """Return the outputs of a template as one rope, with neighbouring author texts joined.

    Raises :class:`TemplateError` if they have too many characters or pieces.
    """
    pieces: list[Piece] = []
    length = 0
    for output in outputs:
        if isinstance(output, Rope):
            pieces += output.pieces
            length += len(output)
        elif isinstance(output, Inserted | str):
            # A plain string is a value.
            value = output if isinstance(output, Inserted) else Inserted(output)
            pieces.append(value)
            length += len(value.text)
        else:
            pieces += output
            length += len(output[0])
        if length > MAX_TEXT or len(pieces) > MAX_PIECES:
            # ``check_length`` has the same limits, so it raises the error.
            try:
                check_length(length, len(pieces))
            except TemplateError as error:
                # The code of the template is a generator. An error that it raises has a line of the
                # template, so the error is thrown into the generator, which raises it again.
                if isinstance(outputs, Generator):
                    outputs.throw(error)
                raise
    RUN.get().write(length, len(pieces))
    # Empty pieces are left out. Volatile ones stay, because they may have a text in the next run.
    joined_pieces: list[Piece] = []
    not_empty = [
        piece
        for piece in pieces
        if piece and (type(piece) is not Inserted or piece.text or piece.is_volatile)
    ]
    for kind, group in groupby(not_empty, key=type):
        if kind is Inserted:
            joined_pieces += group
        else:
            joined_pieces.append("".join(cast("Iterable[str]", group)))
    return Rope(joined_pieces)


# The checks of the syntax tree, and the compiler, which separates text and values.

# Jinja names the methods of a visitor after its nodes.
# ruff: noqa: N802


_INCLUDING = (nodes.Include, nodes.Extends, nodes.Import, nodes.FromImport)
"""The statements that name another template."""
SYNTAX_FIX = "the mistake may be on an earlier line"


def syntax_fix(problem: str) -> str:
    """Return the advice for a syntax error of Jinja; ``problem`` is its message."""
    if problem.endswith("got '='"):
        return "write == to compare two values"
    if problem in ("unexpected '}'", "expected token 'end of print statement', got '}'"):
        return "a variable is {{ name }}, with two braces at each end"
    return SYNTAX_FIX


class RefusedTemplate(TemplateAssertionError):
    """The checks refuse a template: for example, it uses a filter that does not exist.

    See :func:`checked_tree` and :func:`check_names`. ``fix`` is the advice.
    """

    fix = ""


def advice(name: str, names: Iterable[str]) -> str:
    """Return the advice for a filter or test that does not exist."""
    return INSTEAD.get(name) or nearest(name, names)


def checked_tree(
    environment: Environment, source: str, name: str | None, lines_before: int = 0
) -> nodes.Template:
    """Return the syntax tree of a template, in which each turn of a loop counts as a step.

    ``lines_before`` is the number of lines in its file before ``source``. A section of a library
    can be included only by a qualified name that is written in the template, and not by the value
    of a variable.

    Raises an error of Jinja, with its line, for a syntax error, and for an unknown filter or test.
    It also refuses a number that is infinite, because Python code has no literal for it, and
    ``{% autoescape %}``, because with it values that are marked as safe would be author text.
    """
    tree = _parsed(environment, source, name, lines_before)
    kinds = (nodes.For, nodes.Filter, nodes.Test, nodes.Const, nodes.ScopedEvalContextModifier)
    for node in [*tree.find_all(kinds)]:
        problem = fix = ""
        match node:
            case nodes.For():
                # Jinja writes the name of an attribute of the environment into the code unchanged,
                # so a call in the name becomes a call in the code: ``environment.step()``. It
                # returns true. In a condition it comes first, so that each turn counts, also one
                # that the condition leaves out.
                step = nodes.EnvironmentAttribute("step()", lineno=node.lineno)
                if node.test is None:
                    node.body.insert(0, nodes.ExprStmt(step, lineno=node.lineno))
                else:
                    node.test = nodes.And(step, node.test, lineno=node.lineno)
            case nodes.Filter() | nodes.Test():
                is_filter = isinstance(node, nodes.Filter)
                names: Collection[str] = environment.filters if is_filter else environment.tests
                if node.name not in names:
                    problem = f"there is no {'filter' if is_filter else 'test'} {node.name!r}"
                    fix = advice(node.name, names)
            case nodes.Const(value=float(number)) if not isfinite(number):
                problem = "a number is too large"
            case nodes.ScopedEvalContextModifier():
                problem = "autoescape is not supported: every value is encoded"
            case _:
                pass
        if problem:
            error = RefusedTemplate(problem, node.lineno, name)
            error.fix = fix or SYNTAX_FIX
            raise error
    return tree


def _parsed(
    environment: Environment, source: str, name: str | None, lines_before: int
) -> nodes.Template:
    """Return the syntax tree of a template, with the line numbers of its file.

    A qualified name that it includes is replaced by the section of this name.
    """
    try:
        tree = environment.parse(source, name, name or "<template>")
    except TemplateSyntaxError as error:
        error.lineno += lines_before
        raise
    for node in tree.find_all(nodes.Node):
        # The operands of a comparison have no line: it stays None.
        node.lineno = node.lineno and node.lineno + lines_before
    for node in tree.find_all(_INCLUDING):
        target = cast("nodes.Include", node).template
        if isinstance(target, nodes.List | nodes.Tuple):
            target.items = [_section_at(item) for item in target.items]
        else:
            cast("nodes.Include", node).template = _section_at(target)
    return tree


def _section_at(target: nodes.Expr) -> nodes.Expr:
    """Return an expression for the section of a library if a target is a qualified name.

    Any other target is returned unchanged.
    """
    match target:
        case nodes.Const(value=str(name)) if ":" in name:
            # The code becomes ``environment.section('...')``; see the step in ``checked_tree``.
            return nodes.EnvironmentAttribute(f"section({name!r})", lineno=target.lineno)
        case _:
            return target


def check_names(tree: nodes.Template, inputs: Collection[str], name: str | None) -> None:
    """Raise an error of Jinja for the first name in a template that is not one of its inputs."""
    unknown = find_undeclared_variables(tree) - {*inputs}
    for node in tree.find_all(nodes.Name):
        if node.name in unknown:
            error = RefusedTemplate(f"{node.name!r} is not an input", node.lineno, name)
            close = nearest(node.name, inputs) if inputs else "this template has no inputs"
            # If ``close`` is a question, no semicolon follows its question mark.
            error.fix = f"{close}; or declare it in the front matter".replace("?;", "?")
            raise error


def names_in(tree: nodes.Template) -> frozenset[str] | None:
    """Return all names in a template, also those in its branches.

    Returns ``None`` if it shares its variables with another template, which may use other names.
    """
    for node in tree.find_all(_INCLUDING):
        if not isinstance(node, nodes.Import | nodes.FromImport) or node.with_context:
            return None
    return frozenset(node.name for node in tree.find_all(nodes.Name))


class PieceCode(CodeGenerator):
    """The compiler: its code yields each :data:`Output` of a template.

    The text of the template is in a tuple. The code passes any other output to ``put`` of the
    environment, which returns an output: a value, unless it is unchanged author text.
    """

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        """Write the code of the operator ``~``, which joins texts; its result has a limit."""
        self.write("environment.joined((")
        for operand in node.nodes:
            self.visit(operand, frame)
            self.write(", ")
        self.write("))")

    def _output_child_to_const(
        self, node: nodes.Expr, frame: Frame, finalize: CodeGenerator._FinalizeInfo
    ) -> str:
        # A constant in an expression is a value, not text of the template.
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
        # If the expression is a variable, such as ``user.name``, its name is passed, too.
        names: list[str] = []
        while isinstance(node, nodes.Getattr):
            names.append(node.attr)
            node = node.node
        if isinstance(node, nodes.Name):
            self.write(f", {'.'.join([node.name, *reversed(names)])!r}")
        self.write(")")

    def visit_Call(self, node: nodes.Call, frame: Frame, forward_caller: bool = False) -> None:
        """Write the code of a call. Jinja does not treat a ``{% call %}`` as output; this does."""
        start, end = ("environment.put(", ")") if forward_caller else ("", "")
        self.write(start)
        super().visit_Call(node, frame, forward_caller=forward_caller)
        self.write(end)

    def visit_FilterBlock(self, node: nodes.FilterBlock, frame: Frame) -> None:
        """Write the code of a ``{% filter %}``, whose output is a value."""
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
