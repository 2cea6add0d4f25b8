"""The rules about Python files and templates: PD001, and PD101 to PD104.

Each rule is a constant with its id, after the function that looks for its problem.
"""

import ast
import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from promptdsl import Source
from promptdsl.checking.finding import CheckRule, Problems, literal
from promptdsl.checking.python_file import (
    INSTRUCTIONS,
    NUMBERS,
    AuthorCall,
    Constants,
    PythonFile,
    Scope,
)
from promptdsl.foundation.errors import nearest
from promptdsl.foundation.frozen import is_mapping
from promptdsl.templates.render import WrongTemplate, template_facts

PD001 = CheckRule(
    id="PD001",
    name="unused ignore",
    why=(
        "A comment that ignores a finding often stays after the mistake is mended. Then it "
        "hides the next mistake. The rule reports comments in checked files that name PD101 "
        "or PD102, or that name no rule."
    ),
    source="The rule RUF100 of ruff (2023).",
    wrong='System("Be brief.")  # promptdsl: ignore[PD101]\n',
    right='System("Be brief.")\n',
)


_PARTS = ("Section", "Text", "Item", "Heading", "Paragraph", "List", "Checklist")
_TURNS = (*INSTRUCTIONS, "Event")


def built_in_values(file: PythonFile) -> Problems:
    """Yield each argument of an instruction that is built with a variable."""
    constants = Constants(file)
    for call in file.calls:
        if call.name in (*_TURNS, *_PARTS) and call.turn in _TURNS:
            title = next(
                (keyword.value for keyword in call.node.keywords if keyword.arg == "title"), None
            )
            for text in (*call.node.args[call.name == "Section" :], title):
                way, built = _way_of_building(file, constants, call, text)
                if name := way and constants.variable(built, call.scope):
                    message = f"{way} puts `{name}` into an instruction, whatever its text is"
                    fix = f"Value({name}) next to the text"
                    yield text, message, f"write {f'title=Value({name})' if text is title else fix}"


def _way_of_building(
    file: PythonFile, constants: Constants, call: AuthorCall, text: ast.AST | None
) -> tuple[str, ast.AST]:
    """Return how an argument is built, and the code that does so; ``""`` if it is not built."""
    if isinstance(text, ast.Name):  # it may be built in lines before
        first, *more = constants.values(text.id, call.scope) or [text]
        added = [assignment.value for assignment in more if isinstance(assignment, ast.AugAssign)]
        if added and len(added) == len(more) and _is_text_node(first):
            return "+=", ast.Tuple(added)
        text = text if more else first
    match text:
        case (
            ast.Call(func=ast.Name(id="dedent"), args=[inner])
            | ast.Call(func=ast.Attribute(attr="dedent" | "cleandoc"), args=[inner])
            | ast.Call(func=ast.Attribute(attr="strip" | "lstrip" | "rstrip", value=inner))
        ):
            return _way_of_building(file, constants, call, inner)
        case ast.JoinedStr():
            way = "an f-string"
        case ast.BinOp(op=ast.Mod(), left=text_node) if _is_text_node(text_node):
            way = "%" * (not NUMBERS.search(ast.unparse(text_node)))
        case ast.BinOp(op=ast.Add()) if any(map(_is_text_node, ast.walk(text))):
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


def _is_text_node(node: ast.AST) -> bool:
    is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_string or isinstance(node, ast.JoinedStr)


PD101 = CheckRule(
    id="PD101",
    name="value built into an instruction",
    why=(
        "A text that an f-string, %, + or .format() puts into the author's text becomes an "
        "instruction, with all tags and headings in it. The rule reports parameters that may "
        "be any text. It does not report a parameter of a private function, one that is "
        "compared or assigned again, an attribute, or the result of a function: these may be "
        "constant."
    ),
    source="OWASP Top 10 for LLM Applications, LLM01 (2025).",
    wrong='def role(customer):\n    return System(f"You help {customer}.")\n',
    right='def role(customer):\n    return System("You help ", Value(customer), ".")\n',
    in_source=built_in_values,
)


_CHANGING = re.compile(
    r"datetime\.(datetime\.(now|utcnow|today)|date\.today)|uuid\.uuid[14]|os\.urandom|secrets\.\w+"
    r"|time\.(time|time_ns|ctime|monotonic|localtime|gmtime|perf_counter)"
    r"|random\.(random|rand\w+|choices?|sample|uniform)"
)
_IN_ORDER = ("sorted", "len", "min", "max", "sum", "any", "all", "set", "frozenset")


def changing_instructions(file: PythonFile) -> Problems:
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
                yield from _changing_parts(file, constants, call.scope, argument)


def _changing_parts(
    file: PythonFile, constants: Constants, scope: Scope, node: ast.AST
) -> Problems:
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


PD102 = CheckRule(
    id="PD102",
    name="clock or chance in an instruction",
    why=(
        "A clock, a random number, a uuid or the order of a set changes an instruction from "
        "one request to the next. Providers cache the beginning of a prompt, so all tokens "
        "after the change are billed in full, and a snapshot differs in each run."
    ),
    source="OpenAI, Prompt caching: static content first (2026).",
    wrong='from datetime import date\n\nSystem("You help. Today is ", str(date.today()), ".")\n',
    right='from datetime import date\n\nEphemeral("Today is ", str(date.today()))\n',
    in_source=changing_instructions,
)


_SETTINGS = ("vars", "trim_blocks", "lstrip_blocks", "keep_trailing_newline")


def missing_variables(file: PythonFile) -> Problems:
    """Yield the problems of templates that are written as text, and of their variables."""
    for call in file.calls:
        keywords = {str(keyword.arg): keyword.value for keyword in call.node.keywords}
        if call.name != "Template.from_string" or {"None", "format"} & keywords.keys():
            continue
        try:
            source, variables, *_ = *call.node.args, keywords.get("vars"), None
            text, mapped = literal(source), literal(variables)
        except ValueError:
            continue
        if not isinstance(text, str) or not (mapped is None or is_mapping(mapped)):
            continue
        facts = template_facts(text)
        if isinstance(facts, WrongTemplate):
            yield call.node, facts.problem.what, facts.problem.fix or "correct the template"
            continue
        declared = {variable.name for variable in facts.inputs or ()}
        for name in facts.required.keys() - declared - keywords.keys() - {*(mapped or ())}:
            yield call.node, f"the template needs {{{{ {name} }}}}", f"write {name}=... there"
        known = keywords.keys() if facts.used is None else facts.used | declared
        for name in keywords.keys() - {*_SETTINGS} - known:
            yield keywords[name], *_unused(name, known)


def _unused(name: str, known: Iterable[str]) -> tuple[str, str]:
    close = nearest(name, known)
    fix = close if close.endswith("?") else f"write {{{{ {name} }}}}, or leave it out"
    return f"the template does not use {name!r}", fix


def missing_in_template(path: str, text: str, checked: Collection[str]) -> Problems:
    """Yield the inputs that a template does not use, and includes of templates that do not exist.

    A template without inputs may belong to any other program.
    """
    head = text.partition("\n---")[0]
    if not text.startswith("---\n") or "\ninputs:" not in head:
        return
    facts = template_facts(text, path)
    if isinstance(facts, WrongTemplate):
        yield (
            Source(path, facts.line or 1),
            facts.problem.what,
            facts.problem.fix or "correct the template",
        )
        return
    for variable in facts.inputs or ():
        if facts.used is not None and variable.name not in facts.used:
            line = head.partition(f" {variable.name}:")[0].count("\n") + 1
            yield Source(path, line), *_unused(variable.name, ())
    folders = Path(os.path.abspath(path)).parents
    for name, line in facts.includes:
        is_there = any((folder / name).exists() for folder in folders)
        is_known = is_there or any(
            f"/{file}".endswith(f"/{name.removeprefix('./')}") for file in checked
        )
        if not is_known and ":" not in name:  # a name with ":" is a section of a library
            message = (
                f"the template {name!r} is not in this folder, above it, or among the checked files"
            )
            yield Source(path, line), message, "correct the name, or check its folder too"


PD103 = CheckRule(
    id="PD103",
    name="inputs of a template",
    why=(
        "If a template does not get a name that it needs, rendering it is an error, maybe in "
        "a branch that no test takes. If it does not use a variable, the model never sees "
        "this fact. Template files are only checked if they declare their inputs."
    ),
    source="Templates of promptdsl, front matter (2026).",
    wrong='Template.from_string("Only {{ region }}.", regoin="EU", region="EU")\n',
    right='Template.from_string("Only {{ region }}.", region="EU")\n',
    hints=("unused_variable", "glued_item"),
    in_source=missing_variables,
    in_template=missing_in_template,
)


_HOLD_SECTIONS = ("System", "Developer", "Section", "Event", "User", "Assistant", "Fragment")
_EMPTY = ("Section", "System", "Developer", "User", "Assistant", "Event", "Ephemeral", "Grounding")


def repeated_ids(file: PythonFile) -> Problems:
    """Yield sections with the id of a sibling that is always written, and empty blocks."""
    for call in file.calls:
        if call.name in _HOLD_SECTIONS:
            yield from _twice(file, call.node.args)
    for block in file.blocks:
        opened = block.items[-1].context_expr
        name, arguments = file.public(opened), getattr(opened, "args", [])
        if name in _HOLD_SECTIONS:
            yield from _twice(file, _always(block))
        is_bare = len(arguments) <= (name in ("Section", "Grounding"))
        if name in _EMPTY and is_bare and all(map(_is_nothing, block.body)):
            yield block, f"the block of {name} is empty", "write Text(...) in it"


def _is_nothing(statement: ast.stmt) -> bool:
    """Return whether a statement is ``pass`` or ``...``, or a constant that is not a string."""
    value = getattr(statement, "value", statement)
    is_constant = isinstance(value, ast.Constant) and not isinstance(value.value, str)
    return is_constant or isinstance(value, ast.Pass)


def _always(block: ast.With | ast.AsyncWith) -> Iterator[ast.expr]:
    """Yield the expressions of a block that always run, and may write into it."""
    for statement in block.body:
        if isinstance(statement, ast.Return | ast.Raise):
            return
        if isinstance(statement, ast.Expr):
            yield statement.value
        elif isinstance(statement, ast.With | ast.AsyncWith) and len(statement.items) == 1:
            yield statement.items[0].context_expr


def _twice(file: PythonFile, nodes: Iterable[ast.expr]) -> Problems:
    lines: dict[str, int] = {}
    for node in nodes:
        if not isinstance(node, ast.Call) or file.public(node) != "Section" or not node.args:
            continue
        id = getattr(node.args[0], "value", None)
        if isinstance(id, str) and "audience" not in [keyword.arg for keyword in node.keywords]:
            if id in lines:
                message = f"two sibling sections have the id {id!r}, the other in line {lines[id]}"
                yield node, message, "give one of them another id"
            lines.setdefault(id, node.lineno)


PD104 = CheckRule(
    id="PD104",
    name="section twice, or empty block",
    why=(
        "The id of a section is its address for overrides, tests and reports, so siblings "
        "need different ids. An empty block is not sent. Sections in a branch or loop are not "
        "checked. If a block is empty because its text is in no call, only PD105 reports it."
    ),
    source="The errors and hints of promptdsl (2026).",
    wrong='with Section("rules", title="Rules"):\n    pass\n',
    right='with Section("rules", title="Rules"):\n    Text("Never promise refunds.")\n',
    hints=("empty_block", "title_only", "empty_grounding", "text_as_id"),
    in_source=repeated_ids,
)
