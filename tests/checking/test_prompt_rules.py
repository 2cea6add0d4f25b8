"""The rules about prompts: what is certain is found, and nothing else; no value is looked at."""

from collections.abc import Callable

import pytest

from promptdsl.checking import CheckSettings

Find = Callable[..., list[str]]

TOOLS = """
LOOKUP = Tool(name="lookup_order", description="d", input_schema={
    "type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"],
    "additionalProperties": False,
})
SEARCH = Tool(name="search", description="d", input_schema={"type": "object"})
"""


def with_tools(*content: str) -> str:
    """Return the code of a prompt with two tools."""
    return f"{TOOLS}prompt = Timeline(LOOKUP, SEARCH, {', '.join(content)}, User('Hi.'))\n"


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("Call `lookup_oder`.", True),
        ("Call `lookup_order_(id)`.", False),
        ("Call `lookup_orders(id)`.", True),
        ("Call `serch`, then `searches`: `searched`.", False),
        ("The `lookup_orders` list.", False),
        ("Call `lookup_orders` first.", True),
        ("Use the `open_case` tool.", True),
        ("Use the tool `close()`.", True),
        ("- You must call the `open_case(id)` tool", True),
        ("I will use the tool `open_case`, as the `open_case` tool does.", False),
        ("Call `lookup_order(order_id)` with `order_id`, not `search`.", False),
        ("Rename `get_factorial()`, run the `git` tool, write `seek`.", False),
        ("Write ``lookup_oder`` or lookup_oder.", False),
    ],
)
def test_names_of_tools(text: str, is_found: bool, findings_of: Find) -> None:
    """A name that is almost a tool, or is called one, is found."""
    assert ["PD202:7"] * is_found == findings_of(with_tools(f"System({text!r})"))


def test_names_without_tools(findings_of: Find) -> None:
    """Where a prompt has no tools, nothing is said about names."""
    assert [] == findings_of("prompt = System('Use the `open_case` tool.')\n")


@pytest.mark.parametrize(
    ("call", "is_found"),
    [
        ('ToolUse("lookup_order", {"id": "7"}, id="c1")', True),
        ('ToolUse("lookup_order", {"order_id": 7}, id="c1")', True),
        ('ToolUse("lookup_order", {"order_id": "7"}, id="c1")', False),
        ('ToolUse("lookup_order", {"id": str(7)}, id="c1")', False),
        ('ToolUse("lookup_order", {**{"id": 7}}, id="c1")', False),
        ('ToolUse("search", {"id": 7}, id="c1")', False),
        ('ToolUse("search", "7", id="c1")', True),
        ("""ToolUse("lookup_order", '{"order_id": "7"}', id="c1")""", False),
        ("""ToolUse("lookup_order", '{"order_id": 7}', id="c1")""", True),
        ("""ToolUse("lookup_order", "{", id="c1")""", False),
    ],
)
def test_written_calls(call: str, is_found: bool, findings_of: Find) -> None:
    """A call that is written out breaks the schema of its tool, or not."""
    code = with_tools("User('Where?')", f"Assistant({call})", "ToolMessage('c1', 'There.')")
    assert ["PD203:7"] * is_found == findings_of(code)


def test_recorded_calls(findings_of: Find) -> None:
    """A recorded call is not judged, whatever it has."""
    call = (
        '{"id": "c1", "type": "function", "function": {"name": "lookup_order", "arguments": "7"}}'
    )
    answer = f'{{"role": "assistant", "tool_calls": [{call}]}}'
    result = '{"role": "tool", "tool_call_id": "c1", "content": "`lookup_oder` {{ x }}"}'
    assert [] == findings_of(with_tools(f"History.from_openai([{answer}, {result}])"))


@pytest.mark.parametrize(
    ("answer", "is_found"),
    [
        ("""Example('In Oslo.', '{"city": 7}')""", True),
        ("""Example('In Oslo.', Json({"city": "Oslo", "at": 7}))""", True),
        ("""Example(input='In Oslo.', output='{"city": 7}')""", True),
        ("""Example('In Oslo.', Json({"city": str(7)}))""", False),
        ("""Example('mail', '{"from": "bob"}')""", False),
        ("""Example('In Oslo.', '{"city": "Oslo"')""", False),
        ("""Example('In Oslo.', '{"city": "Oslo"}')""", False),
        ("""Example('In Oslo.', 'Oslo')""", False),
        ("""Example('In Oslo.', Value('{'))""", False),
        ("""'a'), User('In Oslo.'), Assistant(Json({'city': 7})""", True),
        ("""'a'), User('In Oslo.'), Assistant('{"city": 7}')""".removesuffix(")"), True),
        ("""'a'), User('In Oslo.'), Assistant('I am in {}.'""", False),
    ],
)
def test_answers_of_examples(answer: str, is_found: bool, findings_of: Find) -> None:
    """The answer of an example has the form that the prompt asks for."""
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "additionalProperties": False,
    }
    code = f"prompt = Timeline(Output({schema}), System({answer}), User('a'))\n"
    assert ["PD203:1"] * is_found == findings_of(code)


@pytest.mark.parametrize(
    ("content", "is_found"),
    [
        ('"# A\\n\\n### B"', True),
        ('Section("a", "x", title="A"), "#### B"', True),
        ('Section("a", Section("b", "x", title="B"), title="A")', False),
        ('"## A\\n\\n### B\\n\\n#### C\\n\\n# D\\n\\n## E"', False),
        ('"# A\\n\\n```\\n### b\\n```\\n\\n~~~~\\n```\\n#### c\\n~~~~"', False),
        ('"# A\\n\\n###b\\n\\n    ### c"', False),
        ('"# A\\n\\n## B\\n\\n### C"', False),
        ('"# A\\n\\n## B\\n\\n# C\\n\\n### D"', True),
        ('"# A\\n\\n<example>\\n### B\\n</example>"', False),
        ('Heading("A"), Value("### B"), Code("### c")', False),
        ('"### A", User("# B\\n### C")', False),
    ],
)
def test_headings(content: str, is_found: bool, findings_of: Find) -> None:
    """A heading of the author is at most one level below the one before it."""
    turn = "System({})" if "User" not in content else "Timeline(System({}"
    code = f"prompt = {turn.format(content.replace(', User', '), User'))}\n"
    assert ["PD204:1"] * is_found == findings_of(code + ")" * ("User" in content))


@pytest.mark.parametrize(
    ("content", "is_found"),
    [
        ('"a {{ x }}"', True),
        ('"a {{x.y}}"', True),
        ('"{% if x %}a{% endif %}"', True),
        ('"{{ x | upper }}"', True),
        ('"a `{{ x }}` b", "```\\n{{ x }}\\n```"', False),
        ('Code("{{ x }}")', False),
        ('Template.from_string("{% raw %}{{ x }}{% endraw %}")', False),
        ('Template\\\n.from_format("{{{{ x }}}}")', False),
        ('(lambda it: Template.from_string(it))("{% raw %}{{ x }}{% endraw %}")', False),
        ('"$x^{{n}}$ x_{{i}} \\\\mathbf{{x}}"', False),
        ('Value("{{ x }}"), Untrusted("{{ x }}")', False),
        ('"{x} { x } {{}} {{ 1 }} ${{ github.sha }}"', False),
    ],
)
def test_template_marks(content: str, is_found: bool, findings_of: Find) -> None:
    """What looks like Jinja in a text of Python is found, but for code and templates."""
    assert ["PD205:1"] * is_found == findings_of(f"prompt = System({content})\n")


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("a\u200bb", True),
        ("a\u202eb", True),
        ("\U000e0041", True),
        ("👩\u200d💻 ❤\ufe0f \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 क्\u200dष", False),
    ],
)
def test_invisible_characters(text: str, is_found: bool, findings_of: Find) -> None:
    """Characters that nobody sees are found, but for those of a spelling."""
    assert ["PD206:1"] * is_found == findings_of(f"prompt = System({text!a})\n")


@pytest.mark.parametrize(
    ("content", "is_found"),
    [
        ('User("a"), System("b")', True),
        ('History([{"role": "user", "content": "a"}]), System("b")', True),
        ('System("a"), System("b"), User("c"), Developer("d"), Section("s", "e")', False),
        ('Event(UserAction("a")), System("b"), User("c")', False),
        ('User("a"), System("b", audience="people"), System(None)', False),
    ],
)
def test_system_after_turns(content: str, is_found: bool, findings_of: Find) -> None:
    """A System is written before the conversation."""
    assert ["PD207:1"] * is_found == findings_of(f"prompt = Timeline({content})\n")


VOLATILE = 'Volatile("12:03", label="now")'


@pytest.mark.parametrize(
    ("content", "model", "is_found"),
    [
        (f"System({VOLATILE}, 'a', cache=True), User('b')", "claude-sonnet-4-5", True),
        (f"System('a', {VOLATILE}), User('b')", "claude-sonnet-4-5", True),
        (f"System('a', {VOLATILE}), User('b')", "gpt-4o", False),
        (f"System('a'), User('b'), Ephemeral({VOLATILE})", "claude-sonnet-4-5", False),
    ],
)
def test_volatile_text(content: str, model: str, is_found: bool, findings_of: Find) -> None:
    """A volatile text before a mark of the author or of cache="auto" is found."""
    code = f"prompt = render(Timeline({content}), model={model!r}, cache='auto')\n"
    select = CheckSettings(select=("PD208",))
    assert ["PD208:1"] * is_found == findings_of(code, settings=select)


@pytest.mark.parametrize(
    ("content", "is_found"),
    [
        ('System("a", cache=True), User("b")', True),
        ('System("a " * 2_000, cache=True), User("b")', False),
        ('System("a", cache=True), User("b", cache=True)', False),
        ('System("a"), User("b")', False),
        (", ".join(f'Section("s{n}", "a " * 1_500, cache=True)' for n in range(5)), True),
    ],
)
def test_marks_that_never_hit(content: str, is_found: bool, findings_of: Find) -> None:
    """A mark on a short system text, and a fifth mark, are found."""
    code = f"prompt = Timeline({content})\n"
    assert ["PD209:1"] * is_found == findings_of(code, model="claude-sonnet-4-5")


@pytest.mark.parametrize(
    ("content", "is_found"),
    [
        ('User("a", Video.from_url("https://example.com/a.mp4"))', True),
        ('User("a"), Developer("b"), User("c")', True),
        ('User("a\\ud800")', False),
        ('User("a " * 300_000)', True),
    ],
)
def test_what_is_not_sent(content: str, is_found: bool, findings_of: Find) -> None:
    """Content that a target does not take, and what is over its window, are found."""
    code = f"prompt = Timeline({content})\n"
    assert ["PD210:1"] * is_found == findings_of(code, model="claude-sonnet-4-5")


def test_hints_are_findings_of_rules(findings_of: Find) -> None:
    """A hint is a finding of the rule that means the same, and of none without one."""
    code = "prompt = Timeline(Tool(lambda x: x, name='a'), User('a.B', 'b', name='ann'))\n"
    assert ["PD201:1"] == findings_of(code, model="claude-sonnet-4-5")
    everything = CheckSettings(select=("PD", "hints"))
    assert {"PD201:1", "hints:1"} == {
        *findings_of(code, model="gemini-2.5-pro", settings=everything)
    }
