"""Mistakes put into good examples: python -m tests.checking.mutations shows how many are found."""

import ast
import copy
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, NamedTuple

from promptdsl import *
from promptdsl.checking import Checker, CheckSettings

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("support_agent", "document_review", "tool_loop", "coding_agent", "long_chat")
MODEL = "claude-sonnet-4-5"
HEAD = "import promptdsl as mutated, datetime\nmutated_text = 'Be brief.'\n"
"""The names that mistakes use; no example binds them."""

WHOLE: dict[str, Callable[..., Timeline]] = {
    "PD201": lambda *turns: Timeline(Tool(name="x", input_schema={"type": "object"}), *turns),
    "PD207": lambda *turns: Timeline(*turns, System("Be brief.")),
    "PD208": lambda *turns: Timeline(Section("now", Volatile(1, label="n"), cache=True), *turns),
    "PD210": lambda *turns: Timeline(*turns, User(Video.from_url("https://example.com/a.mp4"))),
}
"""Mistakes in a whole prompt, by the rule that finds each: prompts of the turns of a good one."""

ADDED = {
    "PD101": ['f" {P}"', '" for " + P', '" for {}".format(P)', '" for %s" % P'],
    "PD102": ["str(datetime.datetime.now())", '", ".join({"a", "b"})'],
    "PD103": ['mutated.Template.from_string("{{ shop }}", shp=1, shop=1)'],
    "PD104": ['mutated.Fragment(mutated.Section("m", "a"), mutated.Section("m", "b"))'],
}
LOST = [
    *('"Be brief."', 'f"Be {1}."', '"Be " + "brief."', '"Be {}.".format(1)', "str(1)"),
    *("mutated_text", "'Be brief.' if mutated_text else 'Be kind.'"),
]
"""Statements that are put into a block of a component, at any place."""
"""Code that is added to the arguments of an instruction; ``P`` is a parameter around it."""
WRITTEN = {
    "PD202": ["Call `TOOL` first.", "Use the `deleted_thing` tool."],
    "PD204": ["\n\n# A\n\n### B"],
    "PD205": ["for {{ customer }}", "{% if shop %}"],
    "PD206": ["\u200b."],
}
"""What is written into an instruction; ``TOOL`` is a tool with a _, and two letters swapped."""
MISTAKES = [
    (rule, code) for each in (ADDED, WRITTEN) for rule, codes in each.items() for code in codes
]


class Tried(NamedTuple):
    """A mistake that was made in an example, and the rules that found something new."""

    name: str
    rule: str
    what: str
    found: list[str]


def put(mistake: tuple[str, str], call: ast.Call, parameter: str, tools: list[str]) -> bool:
    """Put a mistake into a call, and return whether it can be made there."""
    rule, code = mistake
    if rule in ADDED:
        code = re.sub(r"\bP\b", parameter or "P", code)
        call.args.append(ast.parse(code, mode="eval").body)
        return bool(parameter) or rule != "PD101"
    long = [it for it in tools if "_" in it and it[2] != it[3]]
    name = getattr(call.func, "id", "")
    if (rule == "PD202" and not tools) or ("TOOL" in code and not long):
        return False
    if rule == "PD204" and name == "Item":  # its lines are indented
        return False
    swapped = "".join([long[0][:2], long[0][3], long[0][2], long[0][4:]]) if long else ""
    for node in call.args[name == "Section" :]:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = f"{node.value} {code.replace('TOOL', swapped)}"
            return True
    return False


def ran(path: Path, code: str) -> Any:  # Any: a prompt of any type
    """Return the prompt of the code of an example."""
    module = ModuleType("mutated_example")
    module.__file__ = str(EXAMPLES / path.name)
    sys.modules[module.__name__] = module
    try:
        exec(compile(code, str(path), "exec"), vars(module))
        return vars(module)["demo"]()
    finally:
        del sys.modules[module.__name__]


def found_in(path: Path, code: str, rendered: Rendered | None) -> Counter[str]:
    """Return how often each rule finds something in the code of a file, and in a prompt."""
    path.write_text(code, "utf-8")
    checker = Checker(CheckSettings(ignore=("PD209",)))  # no example is long enough for a cache
    checker.paths([str(path)])
    if rendered is not None:
        checker.prompt(rendered)
    return Counter(it.rule for it in checker.report().findings)


def sites(tree: ast.Module, lines: set[int]) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls in a System of a tree, each with a parameter that is a text."""
    for function in (it for it in ast.walk(tree) if isinstance(it, ast.FunctionDef)):
        texts = [it.arg for it in function.args.args if ast.unparse(it.annotation or it) == "str"]
        turns = [
            it
            for it in ast.walk(function)
            if ast.unparse(it).startswith("System(")
            or (isinstance(it, ast.With) and "System()" in map(ast.unparse, it.items))
        ]
        for call in (it for turn in turns for it in ast.walk(turn)):
            if not isinstance(call, ast.Call) or call.lineno not in lines:
                continue
            if getattr(call.func, "id", "") in ("System", "Section", "Item", "Text"):
                yield call, next(iter(texts), "")


def tried(name: str, count: int, folder: Path, seed: int = 0) -> Iterator[Tried]:
    """Make mistakes in an example, and see which rules find something."""
    path, choose = folder / f"{name}.py", random.Random(seed)
    good = HEAD + ast.unparse(ast.parse((EXAMPLES / path.name).read_text("utf-8")))
    prompt = ran(path, good)
    rendered = render(prompt)
    before, tree = found_in(path, good, rendered), ast.parse(good)
    spans = [it for it in rendered.spans() if it.role == "system" and it.kind == "author"]
    lines = {it.source.line for it in spans if it.source and it.source.file == str(path)}
    for number in range(count):
        rule, code = MISTAKES[number % len(MISTAKES)]
        changed = copy.deepcopy(tree)
        call, parameter = choose.choice([*sites(changed, lines)])
        if not put((rule, code), call, parameter, [it.name for it in rendered.tools]):
            continue
        text, result = ast.unparse(changed), None
        try:
            result = render(ran(path, text))
        except (PromptError, TypeError):
            if rule in WRITTEN:
                continue  # it is an error when it is written
        yield Tried(name, rule, code, [*(found_in(path, text, result) - before)])
    for code in LOST:
        changed = copy.deepcopy(tree)
        block = choose.choice([it for it in ast.walk(changed) if isinstance(it, ast.With)])
        block.body.insert(choose.randrange(len(block.body) + 1), ast.parse(code).body[0])
        yield Tried(name, "PD105", code, [*(found_in(path, ast.unparse(changed), None) - before)])
    before = found_in(path, good, render(prompt, model=MODEL))
    for rule, wrong in WHOLE.items():
        result = render(wrong(*prompt.content), model=MODEL)
        yield Tried(name, rule, "the whole", [*(found_in(path, good, result) - before)])


def table(names: tuple[str, ...] = NAMES, count: int = 20) -> dict[str, tuple[int, int, int]]:
    """Return by rule the mistakes that were made, those that it found, and other findings."""
    with TemporaryDirectory() as folder:
        every = [it for name in names for it in tried(name, count, Path(folder))]
    return {
        rule: (
            len(made := [it for it in every if it.rule == rule]),
            sum(rule in it.found for it in made),
            sum(found != rule for it in made for found in it.found),
        )
        for rule in sorted({it.rule for it in every})
    }


if __name__ == "__main__":
    for rule, (made, found, others) in table(count=int((*sys.argv, "20")[1])).items():
        print(f"{rule}  {made:4} made  {found / made:6.1%} found  {others:3} other findings")
