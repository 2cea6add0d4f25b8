"""If the text names a tool that the request does not have, the model invents a call, or gives up.
In a prompt with tools, the rule checks names in backticks: names with a _ that differ from a tool
in one or two letters, and names that the model must use, as in: use the `look_up` tool. A plural is
another name, unless it is called.
"""

import json
import re
from difflib import get_close_matches

from promptdsl.checking.checked_prompt import CheckedPrompt
from promptdsl.checking.finding import CheckRule, Problems
from promptdsl.foundation.frozen import thawed

_IN_BACKTICKS = re.compile(
    r"(?P<instructed>(?:^|[.!?:;*-] |\b(?:always|must|should|then|first|never|to) )"
    r"(?:use|call) the )?"
    r"(?P<before>\btool )?(?<!`)`(?P<name>\w+)(?P<call>\([^`\n]*\))?`(?!`)(?P<after> tool\b)?",
    re.IGNORECASE | re.MULTILINE,
)
"""A name in backticks, and whether the text says to use the tool of that name."""
_CALLED = re.compile(r"\b(?:use|call) (?:the )?(?:tool )?`$", re.IGNORECASE)
_ALIKE = 0.83
"""How alike two names are that differ in a letter of six, or in two of twelve."""


def in_prompt(prompt: CheckedPrompt) -> Problems:
    """Yield names in backticks that are called a tool, or are almost the name of a tool."""
    tools = sorted(tool.name for tool in prompt.rendered.tools)
    schemas = [tool.input_schema for tool in prompt.rendered.tools]
    if prompt.rendered.output:
        schemas.append(prompt.rendered.output.schema)
    known = {*tools, *re.findall(r'"(\w+)"', json.dumps(thawed(schemas), ensure_ascii=False))}
    for span in prompt.texts if tools else ():
        for match in _IN_BACKTICKS.finditer(span.text):
            name, start = match["name"], match.start("name")
            if name in known:
                continue
            is_called = match["call"] or _CALLED.search(span.text[max(0, start - 20) : start])
            is_name = match["call"] or "_" in name  # not a program, such as `git`
            alike = [tool for tool in tools if tool.count("_") == name.count("_") > 0]
            near = get_close_matches(name, alike, 1, _ALIKE)
            if near and (is_called or name.rstrip("s") != near[0].rstrip("s")):
                message = f"there is no tool `{name}`, but there is `{near[0]}`"
                yield span.source, message, f"write `{near[0]}`, or add the tool"
            elif match["instructed"] and (match["before"] or match["after"]) and is_name:
                message = f"`{name}` is not a tool of this prompt"
                yield span.source, message, f"write one of {', '.join(tools)}, or add it"


_EXAMPLE = """\
schema = {"type": "object"}
order = Tool(name="lookup_order", description="Find.", input_schema=schema)
prompt = Timeline(order, System("Call `lookup_order` first."), User("Hi."))
"""
RULE = CheckRule(
    name="name of a tool that is not there",
    source="OpenAI, GPT-4.1 prompting guide: name tools clearly (2025).",
    wrong=_EXAMPLE.replace("lookup_order`", "lookup_oder`"),
    right=_EXAMPLE,
)
