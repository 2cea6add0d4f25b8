"""The rules about Python files and templates: PD001, and PD101 to PD104.

Each rule is a constant with its id; the function above the constant finds its problems.
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
        "hides the next mistake. In the files that are checked, the rule reports each comment "
        "that names PD101, PD102 or PD105 where the named rule finds nothing. It also "
        "reports comments that name no rule."
    ),
    source="The rule RUF100 of ruff (2023).",
    wrong='System("Be brief.")  # promptdsl: ignore[PD101]\n',
    right='System("Be brief.")\n',
)


_PARTS = ("Section", "Text", "Item", "Heading", "Paragraph", "List", "Checklist")
"""The components that may be in an instruction, and take its text as arguments."""
_TURNS = (*INSTRUCTIONS, "Event")
"""The turns whose text is an instruction, or is read like one."""


def built_in_values(file: PythonFile) -> Problems:
    """Yield each argument of an instruction whose text is built with a variable."""
    constants = Constants(file)
    for call in file.calls:
        if call.name in (*_TURNS, *_PARTS) and call.turn in _TURNS:
            title = next(
                (keyword.value for keyword in call.node.keywords if keyword.arg == "title"), None
            )
            # The first argument of a Section is its id.
            for text in (*call.node.args[call.name == "Section" :], title):
                way, built = _way_of_building(file, constants, call, text)
                if name := way and constants.variable(built, call.scope):
                    message = f"{way} makes the text of `{name}` an instruction"
                    fix = f"Value({name}) next to the text"
                    yield text, message, f"write {f'title=Value({name})' if text is title else fix}"


def _way_of_building(
    file: PythonFile, constants: Constants, call: AuthorCall, text: ast.AST | None
) -> tuple[str, ast.AST]:
    """Return how the text of an argument is built, such as ``+``, and the code that builds it.

    The first is ``""`` if the text is not built.
    """
    if isinstance(text, ast.Name):  # earlier lines may build it
        first_value, *later_values = constants.values(text.id, call.scope) or [text]
        added_values = [
            assignment.value for assignment in later_values if isinstance(assignment, ast.AugAssign)
        ]
        if added_values and len(added_values) == len(later_values) and _is_text_node(first_value):
            return "+=", ast.Tuple(added_values)
        text = text if later_values else first_value
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
            # A format for numbers takes no text: then the way is empty.
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
        "If you put a text into an instruction with an f-string, %, + or .format(), the text "
        "becomes an instruction, with all tags and headings in it. The rule reports parameters "
        "that may be any text, and input of a person. It does not report what may be constant: "
        "a parameter of a private function, a parameter that is compared or assigned again, an "
        "attribute, or the result of a function."
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
"""The functions that return the time, or something random."""
_IN_ORDER = ("sorted", "len", "min", "max", "sum", "any", "all", "set", "frozenset")


def changing_instructions(file: PythonFile) -> Problems:
    """Yield each expression in an instruction whose value differs from one request to the next."""
    constants = Constants(file)
    for call in file.calls:
        if call.turn in INSTRUCTIONS and (call.name[:1].isupper() or call.name == "trusted"):
            # An id, metadata or a priority is not sent. All variables of a template are sent.
            is_sent = call.name.startswith("Template")
            sent_arguments = [
                keyword.value for keyword in call.node.keywords if is_sent or keyword.arg == "title"
            ]
            for argument in [*call.node.args[call.name == "Section" :], *sent_arguments]:
                yield from _changing_parts(file, constants, call.scope, argument)


def _changing_parts(
    file: PythonFile, constants: Constants, scope: Scope, node: ast.AST
) -> Problems:
    """Yield the problems of an expression in an instruction."""
    unvisited, seen = [node], set[str]()
    while unvisited:
        node = unvisited.pop()
        if isinstance(node, ast.Lambda | ast.BoolOp | ast.IfExp) or file.public(node):
            continue  # the code may not run, or the call is checked on its own
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
                unvisited += values
            seen.add(node.id)
        elif not (isinstance(node, ast.Call) and getattr(node.func, "id", "") in _IN_ORDER):
            unvisited += ast.iter_child_nodes(node)


def _set_in(node: ast.AST, constants: Constants, scope: Scope) -> ast.expr | None:
    """Return the set that ``join``, a star or a comprehension iterates over; else ``None``."""
    match node:
        case (
            ast.Call(func=ast.Attribute(attr="join"), args=[ast.expr() as iterable])
            | ast.Starred(value=iterable)
            | ast.comprehension(iter=iterable)
        ):
            values = (
                constants.values(iterable.id, scope)
                if isinstance(iterable, ast.Name)
                else [iterable]
            )
            assigned = values[0] if len(values) == 1 else None
            is_set_call = (
                isinstance(assigned, ast.Call) and getattr(assigned.func, "id", "") == "set"
            )
            is_set_literal = isinstance(assigned, ast.Set) and len(assigned.elts) > 1
            return (
                iterable
                if is_set_call or is_set_literal or isinstance(assigned, ast.SetComp)
                else None
            )
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
"""The keywords of a template that are no variables."""


def missing_variables(file: PythonFile) -> Problems:
    """Yield the problems of templates that are written in code, and of their variables."""
    for call in file.calls:
        keywords = {str(keyword.arg): keyword.value for keyword in call.node.keywords}
        if call.name != "Template.from_string" or {"None", "format"} & keywords.keys():
            continue
        try:
            source, variables, *_ = *call.node.args, keywords.get("vars"), None
            text, mapping = literal(source), literal(variables)
        except ValueError:
            continue
        if not isinstance(text, str) or not (mapping is None or is_mapping(mapping)):
            continue
        facts = template_facts(text)
        if isinstance(facts, WrongTemplate):
            yield call.node, facts.problem.what, facts.problem.fix or "correct the template"
            continue
        declared = {variable.name for variable in facts.inputs or ()}
        for name in facts.required.keys() - declared - keywords.keys() - {*(mapping or ())}:
            yield call.node, f"the template needs {{{{ {name} }}}}", f"write {name}=... there"
        used_names = keywords.keys() if facts.used is None else facts.used | declared
        for name in keywords.keys() - {*_SETTINGS} - used_names:
            yield keywords[name], *_unused(name, used_names)


def _unused(name: str, used_names: Iterable[str]) -> tuple[str, str]:
    close = nearest(name, used_names)
    fix = close if close.endswith("?") else f"write {{{{ {name} }}}}, or leave it out"
    return f"the template does not use {name!r}", fix


def missing_in_template(path: str, text: str, checked: Collection[str]) -> Problems:
    """Yield the inputs that a template does not use, and the includes that do not exist.

    A template that declares no inputs is not checked: it may belong to another program.
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
        "A template that does not get a variable that it needs cannot be rendered, but the "
        "variable may be in a branch that no test takes. If a template does not use a variable, "
        "the model never sees its value. The rule checks template files only if they declare "
        "their inputs."
    ),
    source="Templates of promptdsl, front matter (2026).",
    wrong='Template.from_string("Only {{ region }}.", regoin="EU", region="EU")\n',
    right='Template.from_string("Only {{ region }}.", region="EU")\n',
    hints=("unused_variable", "glued_item"),
    in_source=missing_variables,
    in_template=missing_in_template,
)


_HOLD_SECTIONS = ("System", "Developer", "Section", "Event", "User", "Assistant", "Fragment")
"""The components whose sections may not share an id."""
_EMPTY = ("Section", "System", "Developer", "User", "Assistant", "Event", "Ephemeral", "Grounding")
"""The components whose block may not be empty."""


def repeated_ids(file: PythonFile) -> Problems:
    """Yield sections that have the id of a sibling, and empty blocks."""
    for call in file.calls:
        if call.name in _HOLD_SECTIONS:
            yield from _twice(file, call.node.args)
    for block in file.blocks:
        component_call = block.items[-1].context_expr
        name, arguments = file.public(component_call), getattr(component_call, "args", [])
        if name in _HOLD_SECTIONS:
            yield from _twice(file, _always(block))
        has_no_content = len(arguments) <= (name in ("Section", "Grounding"))
        if name in _EMPTY and has_no_content and all(map(_is_nothing, block.body)):
            yield block, f"the block of {name} is empty", "write Text(...) in it"


def _is_nothing(statement: ast.stmt) -> bool:
    """Return whether a statement is ``pass`` or ``...``, or a constant that is not a string."""
    constant = getattr(statement, "value", statement)
    is_constant = isinstance(constant, ast.Constant) and not isinstance(constant.value, str)
    return is_constant or isinstance(constant, ast.Pass)


def _always(block: ast.With | ast.AsyncWith) -> Iterator[ast.expr]:
    """Yield the expressions of a block that always run and may write into the block."""
    for statement in block.body:
        if isinstance(statement, ast.Return | ast.Raise):
            return
        if isinstance(statement, ast.Expr):
            yield statement.value
        elif isinstance(statement, ast.With | ast.AsyncWith) and len(statement.items) == 1:
            yield statement.items[0].context_expr


def _twice(file: PythonFile, nodes: Iterable[ast.expr]) -> Problems:
    """Yield the sections among these expressions that have the id of an earlier one."""
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
        "Overrides, tests and reports find a section by its id, so sections next to each other "
        "need different ids. An empty block is not sent. The rule does not check sections in a "
        "branch or a loop. If a block is empty because its text is not in a call, only PD105 "
        "reports it."
    ),
    source="The errors and hints of promptdsl (2026).",
    wrong='with Section("rules", title="Rules"):\n    pass\n',
    right='with Section("rules", title="Rules"):\n    Text("Never promise refunds.")\n',
    hints=("empty_block", "title_only", "empty_grounding", "text_as_id"),
    in_source=repeated_ids,
)
