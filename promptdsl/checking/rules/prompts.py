"""The rules about rendered prompts: PD002, and PD201 to PD210.

Each rule is a constant with its id; the function above the constant finds its problems.
"""

import ast
import json
import re
from difflib import get_close_matches
from itertools import groupby
from typing import Any

from promptdsl.checking.finding import CheckedPrompt, CheckRule, Problems, literal, prose
from promptdsl.checking.python_file import last
from promptdsl.foundation.errors import require
from promptdsl.foundation.frozen import is_mapping, thawed
from promptdsl.foundation.unicode import invisible

# PD002 has no function: ``Checker.failed`` reports the error of a prompt that cannot be rendered.
PD002 = CheckRule(
    id="PD002",
    name="prompt that cannot be rendered",
    why=(
        "If render() raises an error for a prompt, the rule reports the error as a finding, and "
        "the other prompts are still checked. In the example, two sections have the same id."
    ),
    source="The exceptions that render() raises (2026).",
    wrong='prompt = Timeline(System(Section("a", "One.")), Section("a", "Two."))\n',
    right='prompt = Timeline(System(Section("a", "One.")), Section("b", "Two."))\n',
)


PD201 = CheckRule(
    id="PD201",
    name="tool without description, or schema that is not strict",
    why=(
        "A model chooses a tool by its description. If you ask for strict, but the schema "
        "allows other keys, promptdsl sends it without strict. Then the answer may break the "
        "schema."
    ),
    source="OpenAI, Function calling; Anthropic, How to implement tool use (2026).",
    wrong='prompt = Timeline(Tool(lambda: "12:03", name="now"), User("Hi."))\n',
    right="""\
def now() -> str:
    '''Return the time.'''

prompt = Timeline(Tool(now), User("What time is it?"))
""",
    hints=("undescribed_tool", "strict_schema"),
)


_IN_BACKTICKS = re.compile(
    r"(?P<instructed>(?:^|[.!?:;*-] |\b(?:always|must|should|then|first|never|to) )"
    r"(?:use|call) the )?"
    r"(?P<before>\btool )?(?<!`)`(?P<name>\w+)(?P<call>\([^`\n]*\))?`(?!`)(?P<after> tool\b)?",
    re.IGNORECASE | re.MULTILINE,
)
"""A name in backticks, and whether the text says to use the tool of that name."""
# The words directly before a name that say to call it.
_CALLED = re.compile(r"\b(?:use|call) (?:the )?(?:tool )?`$", re.IGNORECASE)
_ALIKE_NAMES = 0.83
"""The likeness of two names that differ in one letter of six, or in two letters of twelve."""


def unknown_tools(prompt: CheckedPrompt) -> Problems:
    """Yield names in backticks that are no tool, but are used as a tool or similar to one."""
    tools = sorted(tool.name for tool in prompt.rendered.tools)
    schemas = [tool.input_schema for tool in prompt.rendered.tools]
    if prompt.rendered.output:
        schemas.append(prompt.rendered.output.schema)
    known_names = {*tools, *re.findall(r'"(\w+)"', json.dumps(thawed(schemas), ensure_ascii=False))}
    for span in prompt.texts if tools else ():
        for match in _IN_BACKTICKS.finditer(span.text):
            name, start = match["name"], match.start("name")
            if name in known_names:
                continue
            is_called = match["call"] or _CALLED.search(span.text[max(0, start - 20) : start])
            is_name = match["call"] or "_" in name  # else it may be a program, such as `git`
            # Only names of several words are compared: words such as `find` and `fine` are alike.
            alike = [tool for tool in tools if tool.count("_") == name.count("_") > 0]
            close_names = get_close_matches(name, alike, 1, _ALIKE_NAMES)
            if close_names and (is_called or name.rstrip("s") != close_names[0].rstrip("s")):
                message = f"there is no tool `{name}`, but there is `{close_names[0]}`"
                yield span.source, message, f"write `{close_names[0]}`, or add the tool"
            elif match["instructed"] and (match["before"] or match["after"]) and is_name:
                message = f"`{name}` is not a tool of this prompt"
                yield span.source, message, f"write one of {', '.join(tools)}, or add it"


_TOOL_EXAMPLE = """\
schema = {"type": "object"}
order = Tool(name="lookup_order", description="Find.", input_schema=schema)
prompt = Timeline(order, System("Call `lookup_order` first."), User("Hi."))
"""
PD202 = CheckRule(
    id="PD202",
    name="name of a tool that is not there",
    why=(
        "If the text names a tool that the request does not have, the model invents a call, "
        "or gives up. In a prompt with tools, the rule checks names in backticks. It reports "
        "names with a _ that differ from a tool in one or two letters, and names that the model "
        "must use, as in: use the `look_up` tool. It does not report the plural of a tool, "
        "unless the text calls it."
    ),
    source="OpenAI, GPT-4.1 prompting guide: name tools clearly (2025).",
    wrong=_TOOL_EXAMPLE.replace("lookup_order`", "lookup_oder`"),
    right=_TOOL_EXAMPLE,
    in_prompt=unknown_tools,
)


_BY_SCHEMA = "write it as the schema demands"
"""The advice about data that breaks a schema."""


def examples_against_schema(prompt: CheckedPrompt) -> Problems:
    """Yield the calls and answers that are literals in code and break a schema."""
    schemas = {tool.name: thawed(tool.input_schema) for tool in prompt.rendered.tools}
    output: Any = thawed(prompt.rendered.output.schema) if prompt.rendered.output else {}
    for source, call in prompt.calls("ToolUse", "Example", "Assistant"):
        arguments = [
            *call.node.args,
            *(keyword.value for keyword in call.node.keywords if keyword.arg == "output"),
        ]
        match call.name, arguments:
            case "ToolUse", [ast.Constant(value=str(name)), example, *_] if name in schemas:
                if problem := _schema_problem(_literal_value(example), schemas[name]):
                    yield source, f"the call of `{name}` breaks its schema: {problem}", _BY_SCHEMA
            case (("Example" | "Assistant"), [*_, example]):
                answer, keys = _literal_value(example), output.get("properties", {})
                is_answer = is_mapping(answer) and any(key in keys for key in answer)
                if is_answer and (problem := _schema_problem(answer, output)):
                    what = "example" if call.name == "Example" else "assistant"
                    yield (
                        source,
                        f"the answer of the {what} breaks its schema: {problem}",
                        _BY_SCHEMA,
                    )
            case _:
                pass


def _literal_value(node: ast.expr) -> object:
    """Return the data of a literal, or of a JSON text; ``None`` for any other expression."""
    if isinstance(node, ast.Call) and last(node.func) == "Json" and node.args:
        node = node.args[0]
    try:
        constant = literal(node)
        return json.loads(constant) if isinstance(constant, str) else constant
    except ValueError:
        return None


def _schema_problem(json_value: object, schema: Any) -> str:  # Any: JSON
    """Return how JSON data breaks a schema, or ``""``."""
    if json_value is None:
        return ""
    jsonschema: Any = require("jsonschema", "check")  # Any: it has no types
    try:
        errors = jsonschema.validators.validator_for(schema)(schema).iter_errors(json_value)
        worst = jsonschema.exceptions.best_match(errors)
    except Exception:  # the schema is not valid, or refers to an address
        return ""
    return "" if worst is None else str(worst.message)[:120]


_CITY_EXAMPLE = """\
CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
find = Example("I live in Oslo.", '{"city": "Oslo"}')
prompt = Timeline(Output(CITY), System("Find.", find), User("In Bonn."))
"""
PD203 = CheckRule(
    id="PD203",
    name="example that breaks its schema",
    why=(
        "A model follows an example more than a schema. The rule checks calls and answers "
        "that are literals in code, and an answer only if it has a key of the schema. It does "
        "not check recorded calls and answers, or those that contain variables."
    ),
    source="OpenAI, Structured outputs; Google, Few-shot examples (2026).",
    wrong=_CITY_EXAMPLE.replace('"Oslo"}', '["Oslo"]}'),
    right=_CITY_EXAMPLE,
    in_prompt=examples_against_schema,
)


_HEADING = re.compile(r"^(#{1,6})[ \t]+(\S.*)", re.MULTILINE)


def skipped_heading_levels(prompt: CheckedPrompt) -> Problems:
    """Yield headings of instructions that are two or more levels below the previous heading."""
    spans = [span for span in prompt.spans if span.role in ("system", "developer") and span.text]
    for _, group in groupby(spans, lambda span: (span.message, span.block)):
        pieces, level = [*group], 0
        for heading in _HEADING.finditer(prose("".join(piece.text for piece in pieces))):
            start, depth = pieces[0].start + heading.start(), len(heading[1])
            span = next(piece for piece in reversed(pieces) if piece.start <= start)
            if level and depth > level + 1 and span.kind in ("author", "section"):
                message = f"the heading {heading[2][:40]!r} has level {depth}, after level {level}"
                yield span.source, message, f"write {'#' * (level + 1)}, or the level between"
            level = depth


PD204 = CheckRule(
    id="PD204",
    name="heading that leaves out a level",
    why=(
        "Headings show a model which rule belongs to which section. A heading that is two "
        "levels below the heading before it belongs to a section that does not exist, often "
        "because a section was moved."
    ),
    source="WCAG 2.2, technique G141: headings nested by level (2023).",
    wrong='prompt = System(Heading("Rules"), Heading("Tone", level=3), "Be brief.")\n',
    right='prompt = System(Heading("Rules"), Heading("Tone", level=2), "Be brief.")\n',
    in_prompt=skipped_heading_levels,
)


_JINJA = re.compile(  # not as LaTeX and GitHub write braces: x^{{n}}, ${{ github.sha }}
    r"(?<![$^\w}])\{\{[-+]?\s*[A-Za-z_][\w.]*\s*(?:\|[^{}]*)?[-+]?\}\}|\{%[-+]?\s*\w[^{}%]*%\}"
)
_SHOW = ("Template", "Code")


def unfilled_fields(prompt: CheckedPrompt) -> Problems:
    """Yield text in the author's strings that looks like Jinja, except in code."""
    spans = [span for span in prompt.texts if not span.library and _JINJA.search(prose(span.text))]
    examples: set[object] = set()
    unvisited: list[Any]  # nodes of any class
    unvisited = [stage.tree for stage in prompt.rendered.stages() if spans and stage.name == "fill"]
    while unvisited:
        node = unvisited.pop()
        if type(node).__name__.removesuffix("Node") in _SHOW:
            examples.add(node.source)
        unvisited += [child for child in node.content if not isinstance(child, str)]
    for span in spans:
        if (match := _JINJA.search(prose(span.text))) and span.source not in examples:
            message = f"{match[0]!r} is sent unchanged: a string is not a template"
            yield span.source, message, "write Template.from_string(...), or Value(...) there"


PD205 = CheckRule(
    id="PD205",
    name="template mark left in text",
    why=(
        "A Python string is not a template: {{ name }} in it is sent unchanged. The rule does "
        "not report it between backticks, in code fences and in Code, where a text may show it."
    ),
    source="Jinja, Template Designer Documentation: variables (2024).",
    wrong='prompt = System("Work for {{ shop }}.")\n',
    right='prompt = System(Template.from_string("Work for {{ shop }}.", shop="Oslo"))\n',
    in_prompt=unfilled_fields,
)


def unseen_characters(prompt: CheckedPrompt) -> Problems:
    """Yield texts of the author with invisible characters that no word or emoji needs."""
    for span in prompt.texts:
        if names := invisible(span.text):
            message = f"the text contains invisible characters: {', '.join(names[:5])}"
            yield span.source, message, "delete them; they come from copied text"


PD206 = CheckRule(
    id="PD206",
    name="invisible characters",
    why=(
        "A model reads characters that no reviewer sees: zero-width spaces, bidirectional "
        "marks, tag characters. The rule does not report them in emoji and scripts that need "
        "them."
    ),
    source="Trojan Source, CVE-2021-42574 (2021).",
    wrong='prompt = System("Be\\u200b brief.")\n',
    right='prompt = System("Be brief.")\n',
    in_prompt=unseen_characters,
)


def late_system_texts(prompt: CheckedPrompt) -> Problems:
    """Yield each system turn that is after a turn of the conversation."""
    has_begun = False
    trees = {stage.name: stage.tree for stage in prompt.rendered.stages()}
    for node in trees["expand"].content:  # in written order, with the nodes of groups
        role = getattr(node, "role", None)
        has_begun = (
            has_begun or role in ("user", "assistant", "tool") or hasattr(node, "provider_format")
        )
        if has_begun and role == "system" and node.content:
            message = "this System is written after a turn, but is sent at the beginning"
            yield node.source, message, "write it first, or write Developer(...) to send it here"


PD207 = CheckRule(
    id="PD207",
    name="System after turns",
    why=(
        "promptdsl sends all system text as one text at the beginning. A System after a turn "
        "looks in code as if it was sent there. It also changes the beginning of the request, "
        "so the cache of the provider cannot serve the turns after it."
    ),
    source="Anthropic, Messages API: system is a parameter next to messages (2026).",
    wrong='prompt = Timeline(User("Hi."), System("Be brief."))\n',
    right='prompt = Timeline(User("Hi."), Developer("Be brief."))\n',
    in_prompt=late_system_texts,
)


def changing_beginnings(prompt: CheckedPrompt) -> Problems:
    """Yield each volatile value before a cache mark that ``cache="auto"`` added.

    A hint of the render reports the values before a cache mark of the author.
    """
    rendered = prompt.rendered
    marked_indices = [index for index, span in enumerate(prompt.spans) if span.cache]
    is_reported = any(hint.name == "volatile_in_cache" for hint in rendered.hints)
    if marked_indices and rendered.facts.cache_marks and not is_reported:
        for span in prompt.spans[: marked_indices[-1] + 1]:
            if span.kind == "volatile" and span.role in ("system", "developer"):
                message = (
                    f"Volatile {span.label!r} is before a cache mark, so the cache is never read"
                )
                fix = 'write it after the mark: Ephemeral(..., position="end")'
                yield span.source, message, fix


_NOW = 'now = Volatile("12:03", label="now")\n'
PD208 = CheckRule(
    id="PD208",
    name="volatile text that is to be cached",
    why=(
        "A provider reads the beginning of a request, up to a cache mark, from its cache if "
        "no byte of the beginning has changed. If a value before the cache mark changes, you pay "
        "in every request for writing the cache again."
    ),
    source="Anthropic, Prompt caching (2026).",
    wrong=f'{_NOW}prompt = Timeline(System("At ", now, cache=True), User("Hi."))\n',
    right=f'{_NOW}prompt = Timeline(System("Hi.", cache=True), Ephemeral(now))\n',
    hints=("volatile_in_cache", "volatile_grounding"),
    in_prompt=changing_beginnings,
)


_SURELY_SHORT = 0.8
"""The share of the minimum below which an estimate is certainly too short."""


def wasted_cache_marks(prompt: CheckedPrompt) -> Problems:
    """Yield the cache marks above the limit of a request, and a mark after a short system text."""
    rendered = prompt.rendered
    for hint in rendered.hints:
        if hint.name == "cache_mark" and "a request carries" in hint.why:
            yield hint.source, f"a cache mark is left out: {hint.why} of them", "remove one"
    minimum = rendered.facts.cache_minimum
    marked_spans = [span for span in prompt.spans if span.cache]
    are_of_system = all(span.role == "system" for span in marked_spans)
    if not (minimum and marked_spans and are_of_system and rendered.facts.cache_marks):
        return  # a conversation grows: it may reach the minimum later
    tokens = rendered.tokens
    tokens_before = tokens.tools + sum(tokens.messages[: 1 + marked_spans[-1].message])
    if tokens_before < minimum * _SURELY_SHORT:
        message = (
            f"at most {tokens_before:,} tokens are before this mark, but a cache needs {minimum:,}"
        )
        yield marked_spans[-1].source, message, "remove the mark"


PD209 = CheckRule(
    id="PD209",
    name="cache mark that never hits",
    why=(
        "A request can have four cache marks. If the text before a cache mark is shorter than "
        "the minimum of the model, the provider does not cache it and raises no error. The rule "
        "checks cache marks in system text, which does not grow. It reports a text that is at "
        "least a fifth too short."
    ),
    source="Anthropic, Prompt caching: cache limitations (2026).",
    model="claude-sonnet-4-5",
    wrong='prompt = Timeline(System("Be brief.", cache=True), User("Hi."))\n',
    right='prompt = Timeline(System("Be brief. " * 2_000, cache=True), User("Hi."))\n',
    in_prompt=wasted_cache_marks,
)


_SURELY_LONG = 1.2
"""The share of the window above which an estimate is certainly too long."""


def refused_content(prompt: CheckedPrompt) -> Problems:
    """Yield the losses of content and role, and a prompt that is a fifth larger than the window."""
    rendered = prompt.rendered
    target = rendered.facts.model or rendered.facts.provider or "the target"
    for loss in rendered.losses:
        if loss.what != "a lone surrogate":  # a value may contain it
            way = "is not sent" if loss.kind == "content" else "is sent in another role"
            message = f"{loss.what} {way} to {target}: {loss.why}"
            fix = (
                "write it as text"
                if loss.kind == "content"
                else "write it where the model accepts it"
            )
            yield loss.source, message, f"{fix}, or use another model"
    window, total = rendered.facts.window, rendered.tokens.total
    if window and total > window * _SURELY_LONG:
        message = f"{total:,} tokens do not fit into the window of {target}, which has {window:,}"
        yield rendered.stages()[0].tree.source, message, 'give a budget, such as budget="window"'


PD210 = CheckRule(
    id="PD210",
    name="content that the target does not get",
    why=(
        "If a model does not accept video, promptdsl leaves a video out. If a prompt is larger "
        "than the window of the model, the provider refuses it, in production and not in a test."
    ),
    source="The losses of promptdsl, of kind content and role (2026).",
    model="claude-sonnet-4-5",
    wrong='prompt = User("What is this?", Video.from_url("https://example.com/a.mp4"))\n',
    right='prompt = User("What is this?", Image.from_url("https://example.com/a.png"))\n',
    in_prompt=refused_content,
)
