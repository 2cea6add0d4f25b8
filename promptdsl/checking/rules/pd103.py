"""If a template does not get a name that it needs, rendering it is an error, maybe in a branch that
no test takes. If it does not use a variable, the model never sees this fact. Template files are
only checked if they declare their inputs.
"""

import os
from collections.abc import Collection, Iterable
from pathlib import Path

from promptdsl import Source
from promptdsl.checking.checked_prompt import literal
from promptdsl.checking.finding import CheckRule, Problems
from promptdsl.checking.python_file import PythonFile
from promptdsl.foundation.errors import nearest
from promptdsl.foundation.frozen import is_mapping
from promptdsl.templates.facts import WrongTemplate, template_facts

_SETTINGS = ("vars", "trim_blocks", "lstrip_blocks", "keep_trailing_newline")


def in_source(file: PythonFile) -> Problems:
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


def in_template(path: str, text: str, checked: Collection[str]) -> Problems:
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


RULE = CheckRule(
    name="inputs of a template",
    source="Templates of promptdsl, front matter (2026).",
    wrong='Template.from_string("Only {{ region }}.", regoin="EU", region="EU")\n',
    right='Template.from_string("Only {{ region }}.", region="EU")\n',
    hints=("unused_variable", "glued_item"),
)
