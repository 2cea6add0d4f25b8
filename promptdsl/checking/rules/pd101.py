"""A text that an f-string, %, + or .format() puts into the author's text becomes an instruction,
with all tags and headings in it. The rule reports parameters that may be any text. It does not
report a parameter of a private function, one that is compared or assigned again, an attribute, or
the result of a function: these may be constant.
"""

import ast

from promptdsl.checking.constants import NUMBERS, Constants
from promptdsl.checking.finding import CheckRule, Problems
from promptdsl.checking.python_file import INSTRUCTIONS, AuthorCall, PythonFile

_PARTS = ("Section", "Text", "Item", "Heading", "Paragraph", "List", "Checklist")
_TURNS = (*INSTRUCTIONS, "Event")


def in_source(file: PythonFile) -> Problems:
    """Yield each argument of an instruction that is built with a variable."""
    constants = Constants(file)
    for call in file.calls:
        if call.name in (*_TURNS, *_PARTS) and call.turn in _TURNS:
            title = next(
                (keyword.value for keyword in call.node.keywords if keyword.arg == "title"), None
            )
            for text in (*call.node.args[call.name == "Section" :], title):
                way, built = _way(file, constants, call, text)
                if name := way and constants.variable(built, call.scope):
                    message = f"{way} puts `{name}` into an instruction, whatever its text is"
                    fix = f"Value({name}) next to the text"
                    yield text, message, f"write {f'title=Value({name})' if text is title else fix}"


def _way(
    file: PythonFile, constants: Constants, call: AuthorCall, text: ast.AST | None
) -> tuple[str, ast.AST]:
    """Return how an argument is built, and the code that does so; ``""`` if it is not built."""
    if isinstance(text, ast.Name):  # it may be built in lines before
        first, *more = constants.values(text.id, call.scope) or [text]
        added = [assignment.value for assignment in more if isinstance(assignment, ast.AugAssign)]
        if added and len(added) == len(more) and _is_text(first):
            return "+=", ast.Tuple(added)
        text = text if more else first
    match text:
        case (
            ast.Call(func=ast.Name(id="dedent"), args=[inner])
            | ast.Call(func=ast.Attribute(attr="dedent" | "cleandoc"), args=[inner])
            | ast.Call(func=ast.Attribute(attr="strip" | "lstrip" | "rstrip", value=inner))
        ):
            return _way(file, constants, call, inner)
        case ast.JoinedStr():
            way = "an f-string"
        case ast.BinOp(op=ast.Mod(), left=text_node) if _is_text(text_node):
            way = "%" * (not NUMBERS.search(ast.unparse(text_node)))
        case ast.BinOp(op=ast.Add()) if any(map(_is_text, ast.walk(text))):
            way = "+"
        case ast.Call(func=ast.Attribute(attr="format" | "format_map", value=text_node)):
            text_nodes = (
                constants.values(text_node.id, call.scope)
                if isinstance(text_node, ast.Name)
                else [text_node]
            )
            way = ".format()" * (
                not any(NUMBERS.search(ast.unparse(string)) for string in text_nodes)
            )
        case _:
            way = "trusted()" if text and file.public(text) == "trusted" else ""
    return way, text or file.tree


def _is_text(node: ast.AST) -> bool:
    is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_string or isinstance(node, ast.JoinedStr)


RULE = CheckRule(
    name="value built into an instruction",
    source="OWASP Top 10 for LLM Applications, LLM01 (2025).",
    wrong='def role(customer):\n    return System(f"You help {customer}.")\n',
    right='def role(customer):\n    return System("You help ", Value(customer), ".")\n',
)
