"""A clock, a random number, a uuid or the order of a set changes an instruction from one request to
the next. Providers cache the beginning of a prompt, so all that follows is paid for again, and no
snapshot of it stays the same.
"""

import ast
import re

from promptdsl.checking.finding import CheckRule, Found
from promptdsl.checking.python_file import INSTRUCTIONS, PythonFile

_CHANGING = re.compile(
    r"datetime\.(datetime\.(now|utcnow|today)|date\.today)|uuid\.uuid[14]|os\.urandom|secrets\.\w+"
    r"|time\.(time|time_ns|ctime|monotonic|localtime|gmtime|perf_counter)"
    r"|random\.(random|rand\w+|choices?|sample|uniform)"
)
_IN_ORDER = ("sorted", "len", "min", "max", "sum", "any", "all", "set", "frozenset")


def find(file: PythonFile) -> Found:
    """Yield each call in an instruction that returns something else each time."""
    for call in file.calls:
        if call.turn in INSTRUCTIONS and (call.name[:1].isupper() or call.name == "trusted"):
            yield from _changing(file, [*call.node.args, *(it.value for it in call.node.keywords)])


def _changing(file: PythonFile, waiting: list[ast.AST]) -> Found:
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Lambda) or file.public(node):
            continue  # what is called later, and what is looked at by itself
        if isinstance(node, ast.Call) and _CHANGING.fullmatch(file.dotted(node.func)):
            code = ast.unparse(node)
            message = f"{code} gives an instruction another text in each request"
            fix = f'write Ephemeral(...) at the end, or Volatile({code}, label="...")'
            yield node, f"{message}, so no cache serves it", fix
        elif unordered := _set_in(node):
            message = "the order of a set differs from one process to the next"
            yield unordered, f"{message}, and the text with it", "write sorted(...) around it"
        elif not (isinstance(node, ast.Call) and getattr(node.func, "id", "") in _IN_ORDER):
            waiting += ast.iter_child_nodes(node)


def _set_in(node: ast.AST) -> ast.expr | None:
    """Return the set that a call of ``join``, a star or a loop goes through."""
    match node:
        case (
            ast.Call(func=ast.Attribute(attr="join"), args=[ast.expr() as each])
            | ast.Starred(value=each)
            | ast.comprehension(iter=each)
        ):
            is_made = isinstance(each, ast.Call) and getattr(each.func, "id", "") == "set"
            is_shown = isinstance(each, ast.Set) and len(each.elts) > 1
            return each if is_made or is_shown or isinstance(each, ast.SetComp) else None
        case _:
            return None


RULE = CheckRule(
    id="PD102",
    name="clock or chance in an instruction",
    why=__doc__,
    source="OpenAI, Prompt caching: static content first (2026).",
    wrong='from datetime import date\n\nSystem("You help. Today is ", str(date.today()), ".")\n',
    right="""\
from datetime import date

Timeline(System("You help."), Ephemeral("Today is ", str(date.today())))
""",
    in_source=find,
)
