"""How many tokens a request is, and which parts they are."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from promptdsl.tokens import Count
from tests.internals import ConversationNode, entry_tokens, tokens_for
from tests.reports.prompts import (
    PROVIDERS,
    everything,
    nested,
    pictured,
    recorded_messages,
    sections,
    turns,
    words,
)

TARGETS = PROVIDERS[1:]
every_count = pytest.mark.parametrize(
    "count", [1_200, pytest.param(10_000, marks=pytest.mark.slow)]
)
SYSTEM = 4
"""The frame of a message, in words: 3, and its role."""
FORM = "the target's format"


def shown(rendered: Rendered) -> list[tuple[int, str, str, int]]:
    """Return the parts of a request: depth, what, path, tokens."""
    return [(part.depth, part.what, part.path, part.tokens) for part in rendered.tokens.parts]


def tops(rendered: Rendered) -> list[TokenPart]:
    """Return the parts of the request itself that are sent."""
    return [part for part in rendered.tokens.parts if not part.depth and part.dropped is None]


@pytest.mark.parametrize("provider", TARGETS)
def test_the_total_is_that_of_the_payload(provider: str) -> None:
    """What is counted is the payload, whatever the provider."""
    rendered = render(everything(), provider=provider, counter=words)
    counter = tokens_for(rendered.facts, words)
    total = entry_tokens(rendered.payload(), counter, rendered.facts).total
    assert total == rendered.tokens.total


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("prompt", [everything, pictured])
def test_messages_tools_and_form_are_the_total(provider: str | None, prompt: object) -> None:
    """The messages, the tools and what the target's form adds are the total."""
    report = render(prompt(), provider=provider).tokens  # type: ignore[operator]
    assert report.total == sum(report.messages) + report.tools + report.frame


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("prompt", [everything, pictured])
def test_the_parts_of_the_request_are_the_total(provider: str | None, prompt: object) -> None:
    """The parts that stand directly in the request, and what the form saves, are the total."""
    rendered = render(prompt(), provider=provider)  # type: ignore[operator]
    parts = [part.tokens for part in tops(rendered)]
    assert (True, rendered.tokens.total) == (
        min(parts) >= 0,
        sum(parts) + min(rendered.tokens.frame, 0),
    )


SILENT = "{% for m in messages %}{{ m.content }}\n{% endfor %}"
"""A chat template that shows no tools."""


@pytest.mark.parametrize(
    ("template", "tools", "told"),
    [
        (SILENT, 0, "the target's format saves 4 tokens"),
        ("{{ tools | tojson }}" + SILENT, 23, "the target's format saves 15 tokens"),
    ],
)
def test_what_a_template_does_not_show_is_no_part(template: str, tools: int, told: str) -> None:
    """Tools that are not sent count nothing; what a target's form saves is said in words."""
    prompt = Timeline(Tool(name="find", description="Find it."), User("Hi."), User("So?"))
    report = render(prompt, provider="chat_template", chat_template=template, counter=words).tokens
    shown = [part.tokens for part in report.parts if part.what.startswith("tool")]
    assert (tools, tools > 0, told) == (report.tools, bool(shown), str(report).split("\n")[-1])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_lines_are_the_messages_and_the_tools(provider: str | None) -> None:
    """The tokens of the author's lines are those of the messages, of the tools and the output."""
    report = render(everything(), provider=provider, counter=words).tokens
    frame = render(Timeline(Tool(name="a")), provider=provider, counter=words).tokens.tools
    alone = render(Timeline(Tool(name="a")), provider=provider, counter=words).tokens.parts[1]
    around = frame - alone.tokens
    assert sum(report.messages) + report.tools - around == sum(report.sources.values())


def test_without_a_target_the_reply_has_a_frame() -> None:
    """Without a target the messages count as they are, and 3 for the reply."""
    report = render(Timeline(User("Where is my order?")), counter=words).tokens
    assert (SYSTEM + 4 + 3, (SYSTEM + 4,), 3) == (report.total, report.messages, report.frame)


def test_a_request_is_counted_once() -> None:
    """A report is made when somebody asks, and then kept."""
    rendered = render(Timeline(User("Hi.")), counter=words)
    assert rendered.tokens is rendered.tokens


def test_nobody_counts_who_does_not_ask() -> None:
    """Rendering without a budget counts nothing."""
    asked: list[str] = []

    def counter(text: str) -> int:
        asked.append(text)
        return 1

    rendered = render(everything(), model="gpt-5", counter=counter)
    before = [*asked]
    assert ([], True) == (before, rendered.tokens.total > 0)


@pytest.mark.parametrize("first", ["tokens", "payload"])
def test_a_report_changes_no_payload(first: str) -> None:
    """The payload is the same before and after a report, and the report before and after it."""
    rendered = render(everything(), model="gpt-5")
    asked: dict[str, Callable[[], object]] = {
        "tokens": lambda: rendered.tokens.total,
        "payload": lambda: rendered.payload().clear(),
    }
    asked[first]()
    found = rendered.tokens.total, rendered.payload()
    fresh = render(everything(), model="gpt-5")
    assert (fresh.tokens.total, fresh.payload()) == found


def test_open_calls_are_counted() -> None:
    """A request whose calls are not answered yet has no payload, but tokens."""
    prompt = Timeline(User("Look."), Assistant(ToolUse("look", {}, id="a")))
    report = render(prompt, provider="anthropic", counter=words).tokens
    assert (SYSTEM + 1, SYSTEM + 2) == report.messages


# How sure it is.


@pytest.mark.parametrize(
    ("prompt", "options", "label"),
    [
        (Timeline(User("Hi.")), {"model": "gpt-5"}, "exact text, estimated frame"),
        (
            Timeline(Tool(name="a"), User("Hi.")),
            {"model": "gpt-5"},
            "estimate (exact text; tools by published formulas)",
        ),
        (
            pictured(),
            {"model": "gpt-5"},
            "estimate (exact text; attachments by published formulas)",
        ),
        (Timeline(User("Hi.")), {"counter": words}, "estimate (by the counter given)"),
        (
            Timeline(Tool(name="a"), User("Hi.")),
            {"counter": words},
            "estimate (by the counter given; tools by published formulas)",
        ),
    ],
)
def test_a_label_says_how_sure_it_is(prompt: Timeline, options: object, label: str) -> None:
    """The label says what is exact and what is estimated."""
    assert label == render(prompt, **options).tokens.label  # type: ignore[arg-type]


def test_a_text_of_a_template_is_exact() -> None:
    """The text a chat template makes has no frames that nobody knows."""

    class Exact:
        """Counts words, and is sure of it."""

        def count(self, text: str) -> Count:
            """Return how many words a text has."""
            return Count(words(text), "exact")

    template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    rendered = render(Timeline(User("Hi.")), chat_template=template, counter=Exact())
    assert ("exact", 2) == (rendered.tokens.label, rendered.tokens.total)


def test_a_text_that_was_cut_to_be_counted_is_no_exact_one() -> None:
    """A text so long that it was counted in pieces takes the label of a certain count away."""
    long = "a" * 1_000_000
    label = render(Timeline(User(long)), model="gpt-5").tokens.label
    assert "estimate (o200k_base, in pieces)" == label


def test_a_counter_that_is_unsure_of_one_text_is_no_exact_one() -> None:
    """The label of a counter that is sure of an empty text alone is that of what it is sent."""

    class Unsure:
        """Counts words, and is sure where there are none."""

        def count(self, text: str) -> Count:
            """Return how many words a text has."""
            return Count(words(text), "estimate (words)" if text == "Hi." else "exact")

    rendered = render(Timeline(User("Hi.")), provider="openai", counter=Unsure())
    assert "estimate (words)" == rendered.tokens.label


def test_bytes_that_nobody_knows_are_no_exact_text() -> None:
    """A part of a kind of its own counts the bytes in it as a picture, and the label says so."""
    unknown = {"type": "odd", "data": f"data:image/png;base64,{'A' * 800}"}
    history = History.from_openai([{"role": "user", "content": [unknown]}])
    prompt = Timeline(history, User("Hi."))
    label = render(prompt, model="gpt-5").tokens.label
    assert "estimate (exact text; attachments by published formulas)" == label


def test_a_long_text_usually_comes_to_less() -> None:
    """What an estimate usually comes to holds for a long text as for a short one."""
    report = render(Timeline(User("word " * 50_000)), model="claude-opus-5-5").tokens
    assert 1.5 / 1.6 == pytest.approx((report.typical or 0) / report.total, rel=0.001)


def test_what_is_exact_has_no_usual() -> None:
    """Only an estimate usually comes to less."""
    prompt = everything()
    exact, estimate = (
        render(prompt, model=model).tokens for model in ("gpt-5", "claude-sonnet-4-5")
    )
    assert (None, True) == (exact.typical, estimate.total > (estimate.typical or 0) > 0)


# Parts.


def test_a_file_in_a_result_of_a_user_turn(tmp_path: Path) -> None:
    """A file in a result counts as it was sent: it is not read again for the report."""
    (tmp_path / "notes.md").write_text("Some notes", "utf-8")
    file = Document.from_path(tmp_path / "notes.md")
    prompt = Timeline(Assistant(ToolUse("f", {}, id="a")), User(ToolResult("a", "x", file)))
    assert [
        (0, "assistant turn", "assistant[0]", 6),
        (1, "call 'f'", "assistant[0]", 2),
        (0, "user turn", "user[0]", 8),
        (1, "tool result", "user[0]", 4),
        (2, "document", "user[0]", 3),
    ] == shown(render(prompt, counter=words))[:5]


def test_parts_of_a_text() -> None:
    """A part of a text counts its words; titles are words of their sections."""
    prompt = Timeline(
        System(
            Section("rules", "One two.", Section("tone", "Three.", title="Tone"), title="Rules"),
            Section("plan", "Four five six."),
        ),
        User("Hi."),
    )
    assert [
        (0, "system turn", "system[0]", SYSTEM + 10),
        (1, "section rules", "rules", 7),
        (2, "section tone", "rules/tone", 3),
        (1, "section plan", "plan", 3),
        (0, "user turn", "user[0]", SYSTEM + 1),
        (0, FORM, "", 3),
    ] == shown(render(prompt, counter=words))


def test_what_was_taken_back_is_no_tokens() -> None:
    """A title without content is not sent, and a mark that stood behind it is no part of others."""
    empty = Section("empty", CacheBreakpoint(), title="A long title")
    prompt = Timeline(System(empty, Section("rules", "Be kind.")), User("Hi."))
    assert [
        ("system turn", SYSTEM + 2),
        ("section empty", 0),
        ("cache breakpoint", 0),
        ("section rules", 2),
    ] == [part[1::2] for part in shown(render(prompt, counter=words))][:4]


def test_sections_by_address() -> None:
    """The tokens of a section are found by its address, the turn's in front outside the system."""
    prompt = Timeline(
        System(Section("rules", "One.", Section("tone", "Two three."))),
        User(Section("page", "Four."), id="asked"),
    )
    report = render(prompt, counter=words).tokens
    assert {"rules": 3, "rules/tone": 2, "asked/page": 1} == dict(report.sections)


def test_sections_of_one_address_are_one_sum() -> None:
    """Two results of one turn may have sections of one id, whose tokens are added up."""
    calls = Assistant(ToolUse("f", {}, id="x"), ToolUse("f", {}, id="y"))
    results = (
        ToolResult(id, Section("a", text)) for id, text in (("x", "One two."), ("y", "Six."))
    )
    rendered = render(Timeline(calls, User(*results)), counter=words)
    assert {"user[0]/a": 3} == dict(rendered.tokens.sections)


def test_a_history_that_is_cut_in_its_middle_is_one_part() -> None:
    """What is pinned and what is left at the end are one part, behind the turns before it."""
    said = [{**message, "id": f"m{n}"} for n, message in enumerate(recorded_messages(6))]
    history = History(said, pin="m0", step=0)
    prompt = Timeline(System("Be kind."), history, User("Hi."))
    parts = render(prompt, budget=46, counter=words).tokens.parts
    tops = [(part.what, part.tokens) for part in parts if not part.depth and not part.dropped]
    inside = [part.tokens for part in parts if part.path.startswith("history[")]
    assert 4 == len(inside)
    assert [("system turn", 6), ("history", sum(inside)), ("user turn", 5)] == tops[:3]


def test_a_history_is_one_part() -> None:
    """A history is one part with its messages in it, each under its number."""
    parts = shown(render(Timeline(History(recorded_messages(2)), User("Hi.")), counter=words))
    assert [
        (0, "history", "history", 2 * (SYSTEM + 4)),
        (1, "user message", "history[0]", SYSTEM + 4),
        (1, "assistant message", "history[1]", SYSTEM + 4),
    ] == parts[:3]


def test_two_histories_are_two_parts() -> None:
    """A history ends where another one begins."""
    one, two = recorded_messages(2), recorded_messages(4)
    prompt = Timeline(History(one), History(two))
    parts = [part for part in tops(render(prompt, counter=words)) if part.what == "history"]
    assert [2, 4] == [part.tokens // (SYSTEM + 4) for part in parts]


def test_histories_of_one_line_are_parts_of_their_own() -> None:
    """A line that is run again writes another history, which has its own first message."""
    prompt = Timeline(*(History(recorded_messages(2)) for _ in "ab"))
    assert ["history", "history[0]", "history[1]"] * 2 == [
        part.path for part in render(prompt, counter=words).tokens.parts[:-1]
    ]


def test_what_a_history_lost_stands_in_it() -> None:
    """Of two histories each has what was dropped of it; one that is gone stands where it stood."""
    prompt = Timeline(
        History(recorded_messages(6)),
        Developer("Then."),
        History(recorded_messages(40)),
        User("Hi."),
    )
    parts = render(prompt, provider="openai", budget=150, counter=words).tokens.parts
    held = [part for part in parts if part.what == "history"]
    first, second = (node.source for node in prompt.content if isinstance(node, ConversationNode))
    assert [
        (0, first, True),
        (0, second, False),
        (1, second, True),
    ] == [(part.depth, part.source, part.dropped is not None) for part in held]


def test_merged_turns_stand_in_one() -> None:
    """Turns that become one message are parts of it, which has one frame."""
    prompt = Timeline(History(recorded_messages(1)), User("And you?"), User("Now."))
    assert [
        (0, "user turn (merged)", "", SYSTEM + 7),
        (1, "user message", "history[0]", 4),
        (1, "user turn", "user[0]", 2),
        (1, "user turn", "user[1]", 1),
    ] == shown(render(prompt, counter=words))[:4]


def test_what_only_holds_is_no_part() -> None:
    """Fragments, formats, fences and text that stands alone are no parts of their own."""
    prompt = Timeline(
        System(Section("a", Fragment("One.", Format("xml", Section("b", Text("Two."))))))
    )
    found = [(depth, what) for depth, what, _, _ in shown(render(prompt, counter=words))]
    assert [(0, "system turn"), (1, "section a"), (2, "section b"), (0, FORM)] == found


def test_a_component_is_a_part() -> None:
    """What a component wrote stands under its name."""

    @component
    def greeting() -> Section:
        return Section("hello", "Hello.")

    found = shown(render(Timeline(System(Section("a", greeting()))), counter=words))
    assert [(2, "greeting", "a", 1), (3, "section hello", "a/hello", 1)] == found[2:4]


def test_tool_results_are_parts() -> None:
    """What stands in the results of one turn counts for each of them."""
    prompt = Timeline(
        User("Look."),
        Assistant(ToolUse("look", {}, id="a"), ToolUse("see", {}, id="b")),
        User(ToolResult("a", Section("r", "One two.")), ToolResult("b", "Three."), "Well?"),
    )
    found = [part for part in shown(render(prompt, counter=words)) if part[0]]
    assert [
        (1, "call 'look'", "assistant[0]", 2),
        (1, "call 'see'", "assistant[0]", 2),
        (1, "tool result", "user[1]", 2),
        (2, "section r", "user[1]/r", 2),
        (1, "tool result", "user[1]", 1),
    ] == found


def test_events_and_requests_say_so() -> None:
    """What was an event or request-only before roles were mapped says so."""
    prompt = Timeline(User("Hi."), Event(SystemEvent("shutdown")), Ephemeral("Now."))
    rendered = render(prompt, model="gpt-5")
    assert [
        "user turn",
        "event",
        "ephemeral",
        FORM,
    ] == [part.what for part in tops(rendered)]


def test_lists_and_items_are_parts() -> None:
    """Items are told apart by their lines of text, and a list holds them."""
    prompt = Timeline(System(List("One.", Item("Two three."))))
    found = [(what, tokens) for _, what, _, tokens in shown(render(prompt, counter=words))]
    assert [("system turn", SYSTEM + 5), ("list", 5), ("item", 3)] == [
        found[0],
        found[1],
        found[-2],
    ]


@given(st.recursive(st.text("ab .", max_size=9), lambda inner: st.lists(inner, max_size=4)))
def test_parts_never_exceed_what_they_stand_in(tree: object) -> None:
    """The parts in a part are never more than it, in any tree."""
    rendered = render(Timeline(System(_section(tree, [0])), User("Hi.")), counter=words)
    assert [] == [
        (around, inside)
        for around, inside in _families(rendered.tokens.parts)
        if sum(part.tokens for part in inside) > around.tokens
    ]


def _section(tree: object, numbers: list[int]) -> Section:
    """Return sections inside each other, as lists are."""
    number = numbers[0] = numbers[0] + 1
    content = [tree] if isinstance(tree, str) else [_section(one, numbers) for one in tree]  # type: ignore[attr-defined]
    return Section(f"s{number}", *(content or [""]))


def _families(parts: tuple[TokenPart, ...]) -> list[tuple[TokenPart, list[TokenPart]]]:
    """Return every part with those directly in it."""
    around: list[tuple[TokenPart, list[TokenPart]]] = []
    found: list[tuple[TokenPart, list[TokenPart]]] = []
    for part in parts:
        del around[part.depth :]
        found.append((part, []))
        (around[-1] if around else found[-1])[1].extend([part] if around else [])
        around.append(found[-1])
    return found


# Marks.


def test_the_authors_marks_are_shown() -> None:
    """A part that its author put a mark behind carries it."""
    prompt = Timeline(
        Tool(name="a"),
        CacheBreakpoint("1h"),
        System(Section("a", "One.", cache=True)),
        User("Hi.", cache=True),
    )
    parts = render(prompt, provider="anthropic", counter=words).tokens.parts
    assert [("tool 'a'", "1h"), ("section a", "default"), ("user turn", "default")] == [
        (part.what, part.cache) for part in parts if part.cache
    ]


def test_marks_that_were_placed_are_shown() -> None:
    """Marks that ``cache="auto"`` placed stand at their tools, turns and recorded messages."""
    prompt = Timeline(Tool(name="a"), System("One."), History(recorded_messages(3)))
    parts = render(prompt, provider="anthropic", counter=words, cache="auto").tokens.parts
    assert ["tool 'a'", "system turn", "user message"] == [
        part.what for part in parts if part.cache
    ]


# What was dropped.


def test_what_was_dropped_stands_where_it_stood() -> None:
    """What was dropped stands in the section or the history it was in, in written order."""
    prompt = Timeline(
        System(
            Section("rules", "Stay here.", Section("tone", "Go away now.", priority=-2)),
            Section("plan", "Stay here."),
        ),
        History(recorded_messages(4), step=5),
        User("Page.", priority=-1),
        Assistant("Hm."),
        User("Hi."),
    )
    rendered = render(prompt, budget=46, counter=words)
    gone = [
        (place, part.depth, part.what, part.tokens)
        for place, part in enumerate(rendered.tokens.parts)
        if part.dropped
    ]
    assert [
        (2, 2, "section tone", 3),
        (5, 1, "history", 16),
        (7, 0, "user turn", 5),
    ] == gone


def test_what_was_dropped_stands_in_nothing_that_was_dropped_elsewhere() -> None:
    """Of two parts that are gone each stands in the part that held it, in written order."""
    gone, inner = Section("gone", "One two.", priority=1), Section("inner", "One.", priority=1)
    held = Section("held", "Kept.", inner)
    prompt = Timeline(System(Section("rules", gone, held)), User("Hi."))
    parts = render(prompt, budget=13, counter=words).tokens.parts
    assert [
        (1, "rules", False),
        (2, "rules/gone", True),
        (2, "rules/held", False),
        (3, "rules/held/inner", True),
    ] == [(part.depth, part.path, part.dropped is not None) for part in parts[1:5]]


def test_what_was_dropped_beside_a_list_is_no_part_of_it() -> None:
    """A section that is gone stands in the system turn, not in another part beside it."""
    system = System("Be kind.", List("One."), Section("gone", "One two.", priority=1))
    parts = render(Timeline(system, User("Hi.")), budget=16, counter=words).tokens.parts
    assert [(1, "gone")] == [(part.depth, part.path) for part in parts if part.dropped]


def test_dropped_parts_are_those_of_the_render() -> None:
    """Every part that was dropped is there once, with its reason, and in no total."""
    prompt = Timeline(
        System(Section("a", "One two.", priority=1)), History(recorded_messages(6)), User("Hi.")
    )
    rendered = render(prompt, budget=40, counter=words)
    gone = [part for part in rendered.tokens.parts if part.dropped]
    assert [(d.what, d.tokens, d.why) for d in rendered.dropped] == [
        (part.what, part.tokens, part.dropped) for part in gone
    ]


# In words.


def test_a_summary_names_the_largest() -> None:
    """As a text a report is the total, how sure it is, and the largest parts with their lines."""
    rendered = render(Timeline(History(recorded_messages(2)), User("Hi.")), counter=words)
    line = rendered.tokens.parts[0].source
    assert (
        "about 24 tokens\n\n"
        f"16   66.7%  ██████▋     history                         {line}\n"
        f" 8   33.3%  ███▍          user message history[0]       {line}\n"
        f" 8   33.3%  ███▍          assistant message history[1]  {line}\n"
        f" 5   20.8%  ██▏         user turn user[0]               {line}\n"
        f" 3   12.5%  █▎          {FORM}"
    ) == str(rendered.tokens)


def test_a_summary_is_short() -> None:
    """Of many parts the largest are shown, and the rest are one line."""
    text = str(render(turns(100), counter=words).tokens)
    last = text[text.rindex("\n") :]
    assert (22, "\n…  81 more: 483, largest 6") == (text.count("\n"), last)


def test_hostile_names_are_made_visible() -> None:
    """Control characters in what an author named are escapes in a summary."""
    prompt = Timeline(Tool(name="a\x1b[2J\u202e"), User("Hi."))
    text = str(render(prompt, counter=words).tokens)
    assert all(line.isprintable() for line in text.split("\n"))


# Deep and wide.


@every_count
@pytest.mark.parametrize("prompt", [nested, turns, sections])
def test_large_prompts_are_counted(prompt: Callable[[int], Node], count: int) -> None:
    """Very many parts inside or beside each other are no more than as many parts."""
    rendered = render(prompt(count), model="gpt-5")
    report = rendered.tokens
    assert (True, sum(report.messages)) == (
        len(report.parts) > count,
        sum(report.sources.values()),
    )


@every_count
def test_addresses_do_not_grow_with_the_square_of_the_depth(count: int) -> None:
    """A deep address loses its beginning."""
    report = render(nested(count), counter=words).tokens
    assert max(len(path) for path in report.sections) < 1_100


def test_a_line_has_its_tokens() -> None:
    """The tokens of a text are those of the line that wrote it."""
    section = Section("a", "One two three.")
    report = render(Timeline(System(section), User("Hi.")), counter=words).tokens
    assert 3 == report.sources[Source(__file__, section.source.line)]  # type: ignore[union-attr]
