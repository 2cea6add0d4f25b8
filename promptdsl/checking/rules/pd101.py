"""What an f-string, %, + or .format() puts into the text of an author becomes an instruction, with
tags and headings of its own. Judged are parameters that may be any text: not of private functions,
not compared or assigned again. Attributes and what functions return may be known texts.
"""

import ast

from promptdsl.checking.constants import NUMBERS, Constants
from promptdsl.checking.finding import CheckRule, Found
from promptdsl.checking.python_file import INSTRUCTIONS, AuthorCall, PythonFile

_PARTS = ("Section", "Text", "Item", "Heading", "Paragraph", "List", "Checklist")
_TURNS = (*INSTRUCTIONS, "Event")


def find(file: PythonFile) -> Found:
    """Yield each argument of an author's text that is built of a variable."""
    constants = Constants(file)
    for call in file.calls:
        if call.name in (*_TURNS, *_PARTS) and call.turn in _TURNS:
            title = next((it.value for it in call.node.keywords if it.arg == "title"), None)
            for text in (*call.node.args[call.name == "Section" :], title):
                way, built = _way(file, constants, call, text)
                if name := way and constants.variable(built, call.scope):
                    message = f"{way} makes an instruction of `{name}`, whatever text that is"
                    fix = f"Value({name}) beside the text"
                    yield text, message, f"write {f'title=Value({name})' if text is title else fix}"


def _way(
    file: PythonFile, constants: Constants, call: AuthorCall, text: ast.AST | None
) -> tuple[str, ast.AST]:
    """Return how an argument is built, and where; ``""`` for one that is not."""
    if isinstance(text, ast.Name):  # it may be built on a line of its own
        match constants.values(text.id, call.scope):
            case [ast.expr() as value]:
                text = value
            case [value, *more] if _is_text(value):
                added = [it.value for it in more if isinstance(it, ast.AugAssign)]
                return "+=" * (len(added) == len(more)), ast.Tuple(added)
            case _:
                pass
    match text:
        case (
            ast.Call(func=ast.Name(id="dedent"), args=[inner])
            | ast.Call(func=ast.Attribute(attr="dedent" | "cleandoc"), args=[inner])
            | ast.Call(func=ast.Attribute(attr="strip" | "lstrip" | "rstrip", value=inner))
        ):
            return _way(file, constants, call, inner)
        case ast.IfExp(body=one, orelse=other):
            way, built = _way(file, constants, call, one)
            return (way, built) if way else _way(file, constants, call, other)
        case ast.JoinedStr():
            return "an f-string", text
        case (
            ast.BinOp(op=ast.Mod(), left=form)
            | ast.Call(func=ast.Attribute(attr="format", value=form))
        ) if NUMBERS.search(ast.unparse(form)):
            return "", text  # one of them may be a number
        case ast.BinOp(op=ast.Mod(), left=left) if _is_text(left):
            return "%", text
        case ast.BinOp(op=ast.Add()) if any(map(_is_text, ast.walk(text))):
            return "+", text
        case ast.Call(func=ast.Attribute(attr="format" | "format_map")):
            return ".format()", text
        case ast.Call() if file.public(text) == "trusted":
            return "trusted()", text
        case _:
            return "", text or file.tree


def _is_text(node: ast.AST) -> bool:
    is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_string or isinstance(node, ast.JoinedStr)


RULE = CheckRule(
    id="PD101",
    name="value built into an instruction",
    why=__doc__,
    source="OWASP Top 10 for LLM Applications, LLM01 (2025).",
    wrong='def role(customer):\n    return System(f"You help {customer}.")\n',
    right="""\
SHOP = "Oslo Books"

def role(customer):
    return System(f"You work for {SHOP}. You help ", Value(customer), ".")
""",
    in_source=find,
)
