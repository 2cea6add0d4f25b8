"""Text from elsewhere that is built into instructions."""

import ast

from promptdsl.checking.constants import Constants, last
from promptdsl.checking.finding import CheckRule, Found
from promptdsl.checking.python_file import INSTRUCTIONS, AuthorCall, PythonFile

TEXTS = (
    *(*INSTRUCTIONS, "Section", "Text", "Item", "Heading", "Paragraph", "List", "Checklist"),
    "Event",
)


def find(file: PythonFile) -> Found:
    """Yield each argument of an author's text that is built of a variable."""
    constants = Constants(file)
    for call in file.calls:
        if call.name not in TEXTS or call.turn not in (*INSTRUCTIONS, "Event"):
            continue
        title = call.keyword("title")
        for text in (*call.node.args[call.name == "Section" :], title):
            if text and (way := _way(file, constants, call, text)):
                part = title is text
                name = constants.variable(way[1], call.scope)
                message = f"{way[0]} makes an instruction of `{name}`, whatever text that is"
                fix = (
                    f"write title=Value({name})" if part else f"write Value({name}) beside the text"
                )
                yield text, message, fix


def _way(
    file: PythonFile, constants: Constants, call: AuthorCall, text: ast.expr
) -> tuple[str, ast.expr] | None:
    """Return how an argument is built of a variable, and where; ``None`` for any other."""
    if isinstance(text, ast.Name):  # it may be built on a line of its own
        values = constants.values(text.id, call.scope)
        text = values[0] if len(values) == 1 else text
    way = ""
    match text:
        case ast.Call(func=func, args=[inner, *_]) if last(func) in ("dedent", "cleandoc"):
            return _way(file, constants, call, inner)
        case ast.Call(func=ast.Attribute(attr="strip" | "lstrip" | "rstrip", value=inner)):
            return _way(file, constants, call, inner)
        case ast.IfExp(body=one, orelse=other):
            return _way(file, constants, call, one) or _way(file, constants, call, other)
        case ast.JoinedStr():
            way = "an f-string"
        case ast.BinOp(op=ast.Mod(), left=left) if _is_text(left):
            way = "%"
        case ast.BinOp(op=ast.Add()) if any(map(_is_text, ast.walk(text))):
            way = "+"
        case ast.Call(func=ast.Attribute(attr="format" | "format_map")):
            way = ".format()"
        case ast.Call() if file.public(text) == "trusted":
            way = "trusted()"
        case _:
            pass
    return (way, text) if way and constants.variable(text, call.scope) else None


def _is_text(node: ast.AST) -> bool:
    is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_string or isinstance(node, ast.JoinedStr)


RULE = CheckRule(
    id="PD101",
    name="value built into an instruction",
    why=(
        "What an f-string, %, + or .format() puts into the text of an author becomes an "
        "instruction, with tags and headings of its own. Constants, numbers and texts of a Literal "
        "may be there. What a function returns is not known, so it is no finding."
    ),
    source="OWASP Top 10 for LLM Applications, LLM01 (2025).",
    wrong='def role(customer):\n    return System(f"You help {customer}.")\n',
    right=(
        'SHOP = "Oslo Books"\n\ndef role(customer):\n'
        '    return System(f"You work for {SHOP}. You help ", Value(customer), ".")\n'
    ),
    in_source=find,
)
