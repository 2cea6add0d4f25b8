"""How much two requests share, and what broke it."""

import json
from collections.abc import Callable
from time import process_time
from typing import Any

import pytest

from promptdsl import *
from tests.errors import this_line
from tests.reports.prompts import PROVIDERS, everything, nested, recorded_messages, turns, words

FRAME = 4
"""The frame of a message, in words: 3, and its role."""
SECONDS = 10
"""No comparison takes so long."""
CHANGED = "changed"


def compared(before: Node, after: Node, **options: Any) -> PrefixReport:
    """Return what two prompts share, for a provider, in words."""
    given: dict[str, Any] = {"provider": "anthropic", "counter": words, **options}
    return prefix_report(*(render(prompt, **given) for prompt in (before, after)))


def first(report: PrefixReport) -> tuple[str, str, str] | None:
    """Return what was done first to which node."""
    found = report.first
    return None if found is None else (found.how, found.what, found.path)


def system(*content: Any) -> Timeline:
    """Return a prompt with a system text, and a question behind it."""
    return Timeline(System(*content), User("Where is my order?"))


A, B, C = (Section(name, f"Rule {name} holds.", title=name.upper()) for name in "abc")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_request_is_the_same_as_itself(provider: str | None) -> None:
    """Two renders of one prompt share everything, whatever the provider."""
    report = compared(everything(), everything(), provider=provider)
    total = render(everything(), provider=provider, counter=words).tokens.total
    assert (None, True, total, total) == (
        report.first,
        report.extends,
        report.shared,
        report.after,
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (system(A, B), system(A, Section("b", "Rule b holds.", title="B", cache=True))),
        (system(A, CacheBreakpoint(), B, C), system(A, B, CacheBreakpoint("1h"), C)),
        (system(A, CacheBreakpoint()), system(A)),
    ],
)
@pytest.mark.parametrize("provider", ["anthropic", "bedrock", "openai"])
def test_a_mark_changes_nothing(before: Node, after: Node, provider: str) -> None:
    """A mark that moved, came or went leaves the prefix as it is."""
    assert None is compared(before, after, provider=provider).first


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (system(A, B), system(A, Section("b", "Rule b fails.", title="B")), (CHANGED, "b")),
        (system(A, C), system(A, B, C), ("added", "b")),
        (system(A, B, C), system(A, C), ("removed", "b")),
        (system(A, B), system(B, A), ("moved", "b")),
        (
            system(Section("a", "One."), C),
            system(Section("a", "One.\nTwo."), C),
            (CHANGED, "a"),
        ),
        (
            system(Section("a", "One.\nTwo."), C),
            system(Section("a", "One."), C),
            (CHANGED, "a"),
        ),
        (system(A), system(A, B), ("added", "b")),
        (system(A, B), system(A), ("removed", "b")),
        (system(Section("o", A)), system(Section("o", A, Section("i", B))), ("added", "o/i")),
        (system(Section("o", Text("One."))), system(Section("o", Text("Two."))), (CHANGED, "o")),
    ],
)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_first_section_that_differs(
    before: Node, after: Node, expected: tuple[str, str], provider: str | None
) -> None:
    """The first section that differs is named, and what was done to it."""
    found = first(compared(before, after, provider=provider))
    how, path = expected
    assert (how, f"section {path.rpartition('/')[2]}", path) == found


CALL = ToolUse("look", {"at": "it"}, id="a")
OTHER = ToolUse("look", {"at": "that"}, id="a")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (Timeline(User("One.")), Timeline(User("Two.")), (CHANGED, "user turn", "user[0]")),
        (
            Timeline(User("One.")),
            Timeline(System("S."), User("One.")),
            ("added", "system turn", "system[0]"),
        ),
        (
            Timeline(History(recorded_messages(4)), User("Hi.")),
            Timeline(History(recorded_messages(4)[2:]), User("Hi.")),
            ("removed", "user message", "history[0]"),
        ),
        (
            Timeline(User("One."), Ephemeral("Now.")),
            Timeline(User("One."), Assistant("Two."), User("Three."), Ephemeral("Now.")),
            ("moved", "ephemeral", "ephemeral[0]"),
        ),
        (
            Timeline(User("Look."), Assistant(CALL), ToolMessage("a", "One.")),
            Timeline(User("Look."), Assistant(OTHER), ToolMessage("a", "One.")),
            (CHANGED, "call 'look'", "assistant[0]"),
        ),
        (
            Timeline(User("Look."), Assistant(CALL), ToolMessage("a", "One.")),
            Timeline(User("Look."), Assistant(CALL), ToolMessage("a", "Two.")),
            (CHANGED, "tool result", "tool[0]"),
        ),
        (
            Timeline(User("One."), User("Two.")),
            Timeline(User("One."), User("Three.")),
            (CHANGED, "user turn", "user[1]"),
        ),
    ],
)
def test_the_first_turn_that_differs(
    before: Node, after: Node, expected: tuple[str, str, str]
) -> None:
    """The first turn that differs is named, also where it is merged with others."""
    assert expected == first(compared(before, after))


FIND, LOOK = (Tool(name=name, description="Does it.") for name in ("find", "look"))
FOUND = Tool(name="find", description="Does more.")
OUTPUT = Output({"type": "object"})


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([FIND], [FOUND], (CHANGED, "tool 'find'", "find")),
        ([FIND], [FIND, LOOK], ("added", "tool 'look'", "look")),
        ([FIND, LOOK], [LOOK], ("removed", "tool 'find'", "find")),
        ([FIND, LOOK], [LOOK, FIND], ("removed", "tool 'find'", "find")),
        ([FIND], [LOOK], (CHANGED, "tool 'look'", "look")),
    ],
)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_tools_come_first(
    before: list[Node], after: list[Node], expected: tuple[str, str, str], provider: str | None
) -> None:
    """A request begins with its tools: what is behind one that differs is not shared."""
    prompts = (Timeline(*parts, User("Hi.")) for parts in (before, after))
    assert expected == first(compared(*prompts, provider=provider))


@pytest.mark.parametrize(
    ("before", "after", "how"), [([OUTPUT], [], "removed"), ([], [OUTPUT], "added")]
)
@pytest.mark.parametrize("provider", [None, "openai", "openai_responses", "gemini"])
def test_the_form_of_the_answer_comes_before_what_is_said(
    before: list[Node], after: list[Node], how: str, provider: str | None
) -> None:
    """Another form of the answer shares nothing that is said."""
    report = compared(
        *(Timeline(*parts, User("Hi.")) for parts in (before, after)), provider=provider
    )
    assert (0, (how, "form of the answer", "output")) == (report.shared, first(report))


def test_the_next_turn_loses_nothing() -> None:
    """A conversation that goes on shares all of what it was."""
    before = Timeline(System("Help."), History(recorded_messages(4)), User("Message 4 of many."))
    after = Timeline(System("Help."), History(recorded_messages(6)), User("Hi."))
    report = compared(before, after, provider="openai")
    assert (True, report.before - 3, ("appended", "assistant message", "history[5]")) == (
        report.extends,
        report.shared,
        first(report),
    )


def test_the_text_before_the_first_difference_is_shared() -> None:
    """Of the first text that differs, what it begins with alike is shared."""
    before, after = (Timeline(User(f"One two three {end}.")) for end in ("four", "five six"))
    report = compared(before, after)
    assert (FRAME + 3, FRAME + 4 + 3, FRAME + 5 + 3) == (
        report.shared,
        report.before,
        report.after,
    )


def test_the_last_token_of_a_common_text_is_not_shared() -> None:
    """Where a text goes on after a word and the other one does not end there, that word is lost."""
    before, after = (Timeline(User(f"One two three{end}")) for end in ("s", " four"))
    assert FRAME + 2 == compared(before, after).shared


def test_what_it_costs() -> None:
    """A token from a cache costs a tenth of one that is read anew."""
    before, after = (Timeline(User(f"One two three {end}.")) for end in ("four", "six"))
    report = compared(before, after, provider="gemini")
    assert (4, 0.7 + 4) == (report.behind, round(report.cost, 6))


def rules(*more: Any, cache: bool = True) -> Node:
    """Return a prompt with 3,000 words in a section, a mark after it, and a question."""
    return system(Section("rules", " ".join(["rule"] * 3_000), *more, cache=cache))


def talk(turns: int) -> Timeline:
    """Return a marked system text, and so many turns, the last of which has a mark."""
    said = [(User, Assistant)[n % 2]("Yes.", cache=n == turns - 1) for n in range(turns)]
    return Timeline(System(" ".join(["rule"] * 3_000), cache=True), *said)


def target(model: str, provider: str | None = None) -> dict[str, Any]:
    """Return the options of a render for a model."""
    return {"model": model, "provider": provider}


CLAUDE, OPENAI, OPENAI_MARKS, GEMINI = map(
    target, ("claude-sonnet-4-5", "gpt-5", "gpt-5.6-sol", "gemini-2.5-pro")
)
BEDROCK = target("anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock")


@pytest.mark.parametrize(
    ("of", "before", "after", "served"),
    [
        pytest.param(CLAUDE, rules(), rules("More."), 0, id="a marked block that grew"),
        pytest.param(BEDROCK, rules(), rules("More."), 0, id="the same on Bedrock"),
        pytest.param(OPENAI_MARKS, rules(), rules("More."), 0, id="the same with OpenAI's marks"),
        pytest.param(OPENAI, rules(), rules("More."), 2_944, id="OpenAI: steps of 128"),
        pytest.param(GEMINI, rules(), rules("More."), 3_003, id="Gemini: equal tokens"),
        pytest.param(CLAUDE, rules(), rules(CacheBreakpoint(), "More."), 3_003, id="a new block"),
        pytest.param(BEDROCK, rules(), rules(CacheBreakpoint(), "More."), 3_003, id="and there"),
        pytest.param(CLAUDE, rules(), rules(), 3_004, id="nothing changed: up to the mark"),
        pytest.param(CLAUDE, rules(cache=False), rules(), 0, id="a mark that came"),
        pytest.param(CLAUDE, rules(), rules(cache=False), 0, id="a mark that went"),
        pytest.param(CLAUDE, talk(1), talk(20), 3_009, id="a mark 19 blocks later"),
        pytest.param(CLAUDE, talk(1), talk(21), 3_004, id="a mark 20 blocks later"),
        pytest.param(OPENAI_MARKS, talk(1), talk(61), 3_009, id="OpenAI: at any distance"),
        pytest.param(
            OPENAI_MARKS, rules(cache=False), rules(cache=False), 3_012, id="its own mark"
        ),
        pytest.param(CLAUDE, system(A, CacheBreakpoint()), system(A), 0, id="below the minimum"),
        pytest.param(GEMINI, system(A), system(A), 0, id="and of Gemini"),
    ],
)
def test_what_a_cache_serves(of: Any, before: Node, after: Node, served: int) -> None:
    """A cache by marks serves blocks up to a mark of the first request, others serve equal text."""
    assert served == compared(before, after, **of).served


def test_what_ends_a_cache_beside_text() -> None:
    """Another tool serves nothing, another choice of a tool what is before the messages."""

    def sent(tool: str, choice: str | None = None) -> Rendered:
        prompt = Timeline(Tool(name=tool, description="Does it."), *talk(3).content)
        return render(prompt, counter=words, tool_choice=choice, **CLAUDE)

    before, *others = sent("find"), sent("look"), sent("find", "find")
    served = [prefix_report(before, after).served for after in others]
    assert [0, before.tokens.tools + 3_004] == served


def test_it_counts_with_the_second_counter() -> None:
    """The tokens of both are those of the second one's counter."""
    one = render(Timeline(User("One two.")), counter=len)
    report = prefix_report(one, render(Timeline(User("One two.")), counter=words))
    assert (FRAME + 2 + 3,) * 2 == (report.before, report.after)


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ({"model": "gpt-5"}, {"model": "gpt-4o"}, ("gpt-5", "gpt-4o")),
        ({"provider": "openai"}, {"provider": "anthropic"}, ("openai", "anthropic")),
        ({}, {"provider": "anthropic"}, ("no target", "anthropic")),
    ],
)
def test_two_targets_share_no_cache(before: Any, after: Any, named: tuple[str, str]) -> None:
    """Requests for two targets are not compared, and the error names both."""
    prompt = Timeline(User("Hi."))
    with pytest.raises(TargetError) as caught:
        prefix_report(render(prompt, **before), render(prompt, **after))
    assert "the first is for {}, the second for {}: they share no cache".format(*named) == (
        caught.value.what
    )


def test_a_report_names_the_node_and_its_line() -> None:
    """As a text a report says what is shared, which node broke it where, and what that costs."""
    changed = Section("b", "Rule c holds.", title="B")
    report = compared(system(A, B), system(A, changed), provider="gemini")
    assert str(report).split("\n") == [
        "12 of 25 tokens are shared (48%): estimate (by the counter given)",
        f"  section b was changed: {changed.source}",
        "  the shared prefix ends there: 12 tokens from the cache, 13 billed in full",
        "  if cached tokens cost a tenth, it costs 14 of 25 (43% saved)",
    ]


SPEAKERS = ("user", "assistant")


@pytest.mark.parametrize(
    ("budgets", "expected"),
    [((None, 30), (20, 11)), ((30, None), (0, None)), ((30, 30), (0, None))],
)
def test_what_is_dropped_pays_later(
    budgets: tuple[int | None, int | None], expected: tuple[int, int | None]
) -> None:
    """What goes from the beginning pays when it has saved as much as is read anew."""
    said = [{"role": role, "content": f"{it} w w w w w"} for it in "ab" for role in SPEAKERS]
    before, after = (
        render(Timeline(History(said, step=0), User("And?")), budget=budget, counter=words)
        for budget in budgets
    )
    report = prefix_report(before, after)
    assert expected == (report.dropped, report.pays_from)
    assert ("is cheaper from request" in str(report)) == (report.pays_from is not None)


def test_a_report_is_data() -> None:
    """A report is JSON data: its counts, and the address and the line of the first difference."""
    rules = "Be kind. " * 300
    before, after = (
        render(
            Timeline(System(Section("rules", rules, cache=True), Section("day", day)), User("Hi.")),
            model="claude-sonnet-4-5",
        )
        for day in ("Monday", "Tuesday")
    )
    report = prefix_report(before, after)
    data = json.loads(json.dumps(report.to_dict()))
    assert {
        "before": report.before,
        "after": report.after,
        "shared": report.shared,
        "read_from_cache": report.served,
        "minimum": 1024,
        "dropped": 0,
        "label": report.label,
        "extends": False,
        "first": {
            "how": "changed",
            "what": "section day",
            "path": "day",
            "source": f"{__file__}:{this_line() - 20}",
        },
    } == data
    assert 0 < data["read_from_cache"] <= data["shared"] < data["after"]


def test_two_equal_requests_are_data() -> None:
    """Of two equal requests there is no first difference."""
    rendered = render(User("Hi."))
    data = prefix_report(rendered, rendered).to_dict()
    assert (None, True, data["after"]) == (data["first"], data["extends"], data["shared"])


def test_two_parts_that_are_dropped_count_both() -> None:
    """What is dropped of the second request is the sum of all its parts."""
    parts = [Section(id, "One two three.", priority=1) for id in ("a", "b")]
    prompt = Timeline(System("Help.", *parts), User("Hi."))
    before, after = (render(prompt, budget=budget, counter=words) for budget in (None, 13))
    assert [3, 3] == [part.tokens for part in after.dropped]
    assert 6 == prefix_report(before, after).dropped


def test_an_item_less_in_the_first_of_two_lists() -> None:
    """The list that became shorter has changed: its item did not become one of the next list."""
    before, after = (
        system(Section("s", List(*items)), List("A.", "B."))
        for items in (["One.", "Two."], ["One."])
    )
    assert ("changed", "list") == first(compared(before, after))[:2]


def test_equal_requests_are_told() -> None:
    """As a text a report of equal requests says so."""
    report = compared(system(A), system(A))
    assert "  nothing differs, except cache marks if there are any" == str(report).split("\n")[1]


def test_hostile_names_are_made_visible() -> None:
    """Control characters in what an author named are escapes in a report."""
    before, after = (Timeline(Tool(name=f"a\x1b[2J{end}"), User("Hi.")) for end in "bc")
    lines = str(compared(before, after, provider="openai")).split("\n")
    assert [True] * 5 == [line.isprintable() for line in lines]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (nested, lambda count: nested(count, "There."), "section s{}"),
        (turns, lambda count: turns(count + 1), "user turn"),
    ],
    ids=["deep", "wide"],
)
@pytest.mark.parametrize("count", [1_200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_large_prompts_are_compared(
    before: Callable[[int], Node], after: Callable[[int], Node], expected: str, count: int
) -> None:
    """Very many parts inside or beside each other are compared down to the last."""
    found = compared(before(count), after(count), provider="openai").first
    assert expected.format(count) == (found and found.what)


@pytest.mark.slow
def test_many_parts_of_one_text_are_compared() -> None:
    """Twenty thousand parts of one message are no more work than as many messages."""
    parts = [{"type": "text", "text": "word " * 60}] * 20_000

    def sent(last: str) -> Timeline:
        content = [*parts, {"type": "text", "text": last}]
        return Timeline(History([{"role": "user", "content": content}]))

    requests = [render(sent(end), counter=words, provider="openai") for end in "ab"]
    started = process_time()
    found = prefix_report(*requests).first
    assert ("user message", True) == (found and found.what, process_time() - started < SECONDS)


def test_what_was_dropped_was_removed() -> None:
    """A conversation whose oldest messages had to go is told apart by the first of them."""
    prompt = Timeline(System("Help."), History(recorded_messages(12)), User("Hi."))

    def fitted(budget: int) -> Rendered:
        return render(prompt, provider="anthropic", budget=budget, counter=words)

    assert ("removed", "user message", "history[0]") == first(
        prefix_report(fitted(200), fitted(60))
    )


LONG = "word " * 2_000


@pytest.mark.parametrize(
    ("before", "after", "advice"),
    [
        (("Be kind.", "a"), ("Be kind.", "b"), "not cached: leave it as it is"),
        ((f"a {LONG}", "a"), (f"b {LONG}", "a"), "write what changes after what stays the same"),
        ((LONG, "a"), (LONG, "b"), "write cache=True on the last turn or section"),
    ],
)
def test_a_report_says_what_to_do(
    before: tuple[str, str], after: tuple[str, str], advice: str
) -> None:
    """Where a cache serves nothing, the last line says what to write."""
    first, second = (
        render(Timeline(System(rules), User(question)), model="claude-opus-5-5")
        for rules, question in (before, after)
    )
    report = prefix_report(first, second)
    assert advice in report.advice
    assert f"  {report.advice}" == str(report).split("\n")[-1]


def test_a_report_of_a_cache_that_serves_has_no_advice() -> None:
    """Where a cache serves something, or nothing changed, there is no advice."""
    rules = System(LONG, cache=True)
    one, two = (render(Timeline(rules, User(text)), model="claude-opus-5-5") for text in "ab")
    assert ("", "") == (prefix_report(one, two).advice, prefix_report(one, one).advice)
