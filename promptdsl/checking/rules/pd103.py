"""Templates and the inputs that they are given."""

from collections.abc import Iterable

from promptdsl.checking.checked_prompt import literal
from promptdsl.checking.finding import CheckRule, Found
from promptdsl.checking.python_file import PythonFile
from promptdsl.checking.template_file import CheckedTemplate
from promptdsl.foundation.errors import nearest
from promptdsl.templates.facts import WrongTemplate, template_facts

_SETTINGS = ("vars", "trim_blocks", "lstrip_blocks", "keep_trailing_newline")


def find(file: PythonFile) -> Found:
    """Yield what is wrong with templates that are given as text, and with what they are given."""
    for call in file.calls:
        keywords = {it.arg: it.value for it in call.node.keywords}
        if call.name != "Template.from_string" or {None, "format"} & keywords.keys():
            continue
        try:
            text, variables, *_ = *call.node.args, keywords.get("vars"), None
            text, mapped = literal(text), literal(variables) or {}
        except ValueError:
            continue
        if not isinstance(text, str) or not isinstance(mapped, dict):
            continue
        facts = template_facts(text)
        if isinstance(facts, WrongTemplate):
            yield call.node, facts.problem.what, facts.problem.fix or "correct the template"
            continue
        declared = {it.name for it in facts.inputs or ()}
        for name in facts.required.keys() - declared - keywords.keys() - mapped.keys():
            yield call.node, f"the template needs {{{{ {name} }}}}", f"write {name}=... there"
        for name, value in keywords.items():
            known = facts.used if facts.used is None else facts.used | declared
            if name and name not in _SETTINGS and known is not None and name not in known:
                yield value, *_unused(name, known)


def _unused(name: str, known: Iterable[str]) -> tuple[str, str]:
    close = nearest(name, known)
    fix = close if close.endswith("?") else f"write {{{{ {name} }}}}, or leave it out"
    return f"the template does not use {name!r}", fix


def find_in_template(template: CheckedTemplate) -> Found:
    """Yield inputs that a template does not declare or use, and templates that are not there."""
    facts = template.facts
    if isinstance(facts, WrongTemplate):
        yield facts.line or 1, facts.problem.what, facts.problem.fix or "correct the template"
        return
    for it in facts.inputs or ():
        if facts.used is not None and it.name not in facts.used:
            yield template.line_of(it.name), *_unused(it.name, ())
    for name, line in facts.includes:
        if not template.has(name):
            message = f"there is no template {name!r} beside this one"
            yield line, message, "correct the name, or check its folder too"


RULE = CheckRule(
    id="PD103",
    name="inputs of a template",
    why=(
        "A name that a template needs and does not get is an error when it is rendered, maybe in "
        "a branch that no test takes. A variable that it does not use is a fact that the model "
        "never sees. Of files, templates that declare their inputs are looked at."
    ),
    source="Templates of promptdsl, front matter (2026).",
    wrong='Template.from_string("Only {{ region }}.", regoin="EU", region="EU")\n',
    right='Template.from_string("Only {{ region }}.", region="EU")\n',
    in_source=find,
    in_template=find_in_template,
    hints=("unused_variable", "glued_item"),
)
