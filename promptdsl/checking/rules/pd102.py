"""A clock, a random number, a uuid or the order of a set changes an instruction from one request to
the next. Providers cache the beginning of a prompt, so all tokens after the change are billed in
full, and a snapshot differs in each run.
"""

import ast
import re

from promptdsl.checking.constants import Constants, Scope
from promptdsl.checking.finding import CheckRule, Problems
from promptdsl.checking.python_file import INSTRUCTIONS, PythonFile

_CHANGING = re.compile(
    r"datetime\.(datetime\.(now|utcnow|today)|date\.today)|uuid\.uuid[14]|os\.urandom|secrets\.\w+"
    r"|time\.(time|time_ns|ctime|monotonic|localtime|gmtime|perf_counter)"
    r"|random\.(random|rand\w+|choices?|sample|uniform)"
)
_IN_ORDER = ("sorted", "len", "min", "max", "sum", "any", "all", "set", "frozenset")


def in_source(file: PythonFile) -> Problems:
    """Yield each call in an instruction that returns another value each time."""
    constants = Constants(file)
    for call in file.calls:
        if call.turn in INSTRUCTIONS and (call.name[:1].isupper() or call.name == "trusted"):
            # An id, metadata or a priority is not sent; all variables of a template are.
            is_sent = call.name.startswith("Template")
            sent = [
                keyword.value for keyword in call.node.keywords if is_sent or keyword.arg == "title"
            ]
            for argument in [*call.node.args[call.name == "Section" :], *sent]:
                yield from _changing(file, constants, call.scope, argument)


def _changing(file: PythonFile, constants: Constants, scope: Scope, node: ast.AST) -> Problems:
    waiting, seen = [node], set[str]()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Lambda | ast.BoolOp | ast.IfExp) or file.public(node):
            continue  # code that may not run, and calls that are checked on their own
        if isinstance(node, ast.Call) and _CHANGING.fullmatch(name := file.dotted(node.func)):
            if not (name.startswith("random.") and "random.seed(" in ast.unparse(file.tree)):
                message = f"{ast.unparse(node)} changes the instruction in each request"
                yield (
                    node,
                    f"{message}, so it is never read from a cache",
                    "write Ephemeral(...) at the end",
                )
        elif unordered := _set_in(node, constants, scope):
            message = "the order of a set differs from one process to the next"
            yield unordered, f"{message}, so the text differs, too", "write sorted(...) around it"
        elif isinstance(node, ast.Name):
            values = constants.values(node.id, scope[:1])
            if len(values) == 1 and node.id not in seen:
                waiting += values
            seen.add(node.id)
        elif not (isinstance(node, ast.Call) and getattr(node.func, "id", "") in _IN_ORDER):
            waiting += ast.iter_child_nodes(node)


def _set_in(node: ast.AST, constants: Constants, scope: Scope) -> ast.expr | None:
    """Return the set that a call of ``join``, a star or a loop iterates over."""
    match node:
        case (
            ast.Call(func=ast.Attribute(attr="join"), args=[ast.expr() as each])
            | ast.Starred(value=each)
            | ast.comprehension(iter=each)
        ):
            values = constants.values(each.id, scope) if isinstance(each, ast.Name) else [each]
            made = values[0] if len(values) == 1 else None
            is_made = isinstance(made, ast.Call) and getattr(made.func, "id", "") == "set"
            is_shown = isinstance(made, ast.Set) and len(made.elts) > 1
            return each if is_made or is_shown or isinstance(made, ast.SetComp) else None
        case _:
            return None


RULE = CheckRule(
    name="clock or chance in an instruction",
    source="OpenAI, Prompt caching: static content first (2026).",
    wrong='from datetime import date\n\nSystem("You help. Today is ", str(date.today()), ".")\n',
    right='from datetime import date\n\nEphemeral("Today is ", str(date.today()))\n',
)
