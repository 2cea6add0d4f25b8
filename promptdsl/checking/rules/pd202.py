"""Names of tools in instructions that are no tools."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from promptdsl.checking.checked_prompt import CheckedPrompt
from promptdsl.checking.finding import CheckRule, Found

_IN_BACKTICKS = re.compile(
    r"(?<!`)(?P<before>\btool )?`(?P<name>\w+)(?P<call>\([^`\n]*\))?`(?P<after> tool\b)?(?!`)"
)
_SHORTEST = 5


def find(prompt: CheckedPrompt) -> Found:
    """Yield names in backticks that are called a tool, or almost have the name of one."""
    tools = sorted(it.name for it in prompt.rendered.tools)
    output = prompt.rendered.output
    known = {*tools, *(_names(output.schema) if output else ())}
    known |= {name for it in prompt.rendered.tools for name in _names(it.input_schema)}
    for span in prompt.texts if tools else ():
        for match in _IN_BACKTICKS.finditer(span.text):
            name, is_named = match["name"], match["before"] or match["after"]
            if name in known:
                continue
            if near := next((it for it in tools if _is_near(name, it)), None):
                message = f"there is no tool `{name}`, but `{near}`"
                yield span.source, message, f"write `{near}`, or add the tool"
            elif is_named and (match["call"] or "_" in name):  # not a program, such as `git`
                message = f"`{name}` is no tool of this prompt"
                yield span.source, message, f"write one of {', '.join(tools)}, or add it"


def _names(schema: Any) -> Iterator[str]:  # Any: JSON
    """Yield the keys and the texts of a schema: of parameters, choices and definitions."""
    waiting = [schema]
    while waiting:
        it = waiting.pop()
        if isinstance(it, str):
            yield it
        elif isinstance(it, Mapping):
            waiting += [*it, *it.values()]
        elif isinstance(it, list | tuple):
            waiting += it


def _is_near(name: str, tool: str) -> bool:
    """Return whether a name is one edit from that of a tool, or two from a long one.

    The words in both have to be as many.
    """
    if min(len(name), len(tool)) < _SHORTEST or name.count("_") != tool.count("_"):
        return False
    before = [*range(len(tool) + 1)]
    for row, mark in enumerate(name, 1):
        now = [row]
        for column, other in enumerate(tool, 1):
            same = before[column - 1] + (mark != other)
            now.append(min(before[column] + 1, now[-1] + 1, same))
        before = now
    return before[-1] <= (2 if len(tool) > 2 * _SHORTEST else 1)


RULE = CheckRule(
    id="PD202",
    name="name of a tool that is not there",
    why=(
        "A model that is told to call a tool which the request does not have makes one up, or "
        "gives up. Where a prompt has tools, names in backticks count: those that differ from a "
        "tool in a letter or two, and those beside the word tool: the `look_up` tool."
    ),
    source="OpenAI, GPT-4.1 prompting guide: name tools clearly (2025).",
    wrong=(
        'form = {"type": "object"}\n'
        'order = Tool(name="lookup_order", description="Find.", input_schema=form)\n'
        'prompt = Timeline(order, System("Call `lookup_oder` first."), User("Hi."))\n'
    ),
    right=(
        'form = {"type": "object"}\n'
        'order = Tool(name="lookup_order", description="Find.", input_schema=form)\n'
        'prompt = Timeline(order, System("Call `lookup_order` first."), User("Hi."))\n'
    ),
    in_prompt=find,
)
