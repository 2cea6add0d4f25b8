"""How much room there is: reserves, windows, lazies, targets, and what a budget may not be."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from promptdsl import *
from tests.budget.cases import APART, capitals, fit, hundreds, left, talk, too_big
from tests.errors import raised, this_line
from tests.renders import timeline_of

Q = User("Q")
PARTS = (Developer("A", priority=1), Developer("B", priority=2), Q)


# Reserves and windows.


def test_room_for_the_answer() -> None:
    """What is reserved, in the tree or at render, is not there for the prompt; both add up."""
    kept = [
        left(4, *PARTS, Reserve(200)),
        left(4, *PARTS, reserve=200),
        left(4, *PARTS, Reserve(100), Reserve(100)),
        left(5, *PARTS, Reserve(100), reserve=200),
    ]
    assert ["B Q"] * 4 == kept


def test_a_reserve_says_nothing() -> None:
    """Nothing is sent for it, and without a budget it does nothing."""
    assert (
        render(timeline_of(Q)).messages == render(timeline_of(Reserve(100), Q), reserve=5).messages
    )


def test_a_reserve_without_a_budget_is_a_hint() -> None:
    """It says that it has no effect; with a budget, or in the prompt, there is nothing to say."""
    asked = ({"reserve": 5}, {"reserve": 5, "budget": 999}, {"reserve": 0}, {})
    losses = [render(timeline_of(Reserve(100), Q), counter=len, **more).hints for more in asked]
    why = "it has no effect without budget=; write both, or neither"
    hint = ("hint", "reserve=5", why)
    assert [[hint], [], [], []] == [[(x.kind, x.what, x.why) for x in told] for told in losses]


def test_the_window_of_a_model() -> None:
    """A budget may be the model's window."""
    with register_model("tiny", provider="openai", window=270):
        kept = [
            capitals(render(timeline_of(*PARTS), model="tiny", counter=hundreds, **more).messages)
            for more in ({"budget": "window"}, {"budget": "window", "reserve": 100}, {})
        ]
    assert ["B Q", "Q", "A B Q"] == kept


def test_a_window_that_is_not_known() -> None:
    """Where the window is not known it is an error that says so."""
    with pytest.raises(PromptError, match="window"):
        render(timeline_of(Q), budget="window", counter=hundreds)
    with pytest.raises(PromptError, match="window"):
        render(timeline_of(Q), model="nobodys-model", budget="window", counter=hundreds)


@pytest.mark.parametrize(
    "options",
    [
        {"budget": -1},
        {"budget": 1.5},
        {"budget": True},
        {"budget": "windows"},
        {"budget": 100, "reserve": -1},
        {"budget": 100, "reserve": None},
        {"budget": 100, "counter": "gpt-4"},
    ],
)
def test_what_is_no_budget(options: dict[str, Any]) -> None:
    """Anything else is refused with the line of the call."""
    with pytest.raises(PromptError) as caught:
        render(timeline_of(Q), **options)
    assert __file__ in str(caught.value)


@pytest.mark.parametrize(
    ("options", "what", "fix"),
    [
        (
            {"budget": "windows"},
            "budget='windows'",
            "write a whole number of tokens, or 'window'",
        ),
        ({"budget": -1}, "budget=-1", "write a whole number of tokens, or 'window'"),
        (
            {"budget": "window"},
            "budget='window' needs a model with a known context window",
            "pass model=..., or a number of tokens: budget=100_000",
        ),
        (
            {"budget": "window", "model": "nobodys-model"},
            "the context window of nobodys-model is unknown",
            "write a number of tokens: budget=100_000, or register_model(..., window=...)",
        ),
        (
            {"budget": 100, "reserve": -1},
            "reserve=-1",
            "write a whole number of tokens, 0 or more",
        ),
        (
            {"budget": 100, "reserve": 101},
            "reserve=101",
            "write at most 100: it is a part of the budget",
        ),
    ],
)
def test_what_is_told_of_a_wrong_argument(options: dict[str, Any], what: str, fix: str) -> None:
    """The error repeats the argument, and says what to write."""
    error = raised(OptionError, lambda: render(timeline_of(Q), counter=hundreds, **options))
    assert (what, fix) == (error.what, error.fix)


def test_a_reserve_of_the_whole_budget() -> None:
    """A reserve may be as large as the budget: then there is no room for the prompt."""
    error = raised(
        BudgetError, lambda: render(timeline_of(Q), budget=100, reserve=100, counter=hundreds)
    )
    assert (0, 106) == (error.limit, error.required)


def test_reserves_larger_than_the_budget() -> None:
    """There is no room for anything then; where one call says both, it contradicts itself."""
    with pytest.raises(BudgetError):
        render(timeline_of(Q, Reserve(1_000)), budget=100, counter=hundreds)
    with pytest.raises(PromptError):
        render(timeline_of(Q), budget=100, reserve=1_000, counter=hundreds)


def test_a_budget_of_nothing() -> None:
    """A budget of 0 has no room for a question."""
    with pytest.raises(BudgetError):
        render(timeline_of(Q), budget=0, counter=hundreds)


def test_the_default_counter() -> None:
    """Without a model and a counter, tokens are o200k_base, labelled an estimate."""
    rendered = render(timeline_of(System("word " * 50, priority=1), Q), budget=40)
    assert "Q" == capitals(rendered.messages)
    assert rendered.tokens.total <= 40
    assert "estimate" in rendered.tokens.label


def test_tools_count() -> None:
    """Tools and the form of an answer take room, too."""
    tool = Tool(name="t", description="DOES THINGS", input_schema={"type": "object"})
    assert ["B Q", "A B Q"] == [left(words, tool, *PARTS) for words in (4, 5)]


def test_what_a_target_adds_counts() -> None:
    """What only the target's format adds takes room: all of it is counted as it is sent."""

    def dear(text: str) -> int:
        return 100 * text.count("<event")

    parts = [Event("a", priority=1), User("q")]
    tokens = [render(timeline_of(*parts), budget=b, counter=dear).tokens.total for b in (150, 90)]
    assert tokens[0] >= 100 > tokens[1]


# Lazies.


def told(budget: int | None, *parts: Any, **request: Any) -> list[int | None]:
    """Return how many tokens each lazy was told; they are written as functions of a weight."""
    heard: dict[int, int | None] = {}

    def lazy(weight: float, number: int) -> Lazy:
        def write(context: LazyContext) -> str:
            heard[number] = context.tokens
            return ""

        return Lazy(write, weight=weight)

    written = [
        User(lazy(part, n)) if isinstance(part, float) else part for n, part in enumerate(parts)
    ]
    render(timeline_of(*written), budget=budget, counter=hundreds, **request)
    return [heard[number] for number in sorted(heard)]


def test_a_lazy_has_what_is_left() -> None:
    """A lazy may fill what required parts leave, rounded down to 64ths of the budget."""
    assert [6200] == told(6400, Q, 1.0)


def test_lazies_share() -> None:
    """Several share it by their weights."""
    assert [1500, 4700] == told(6400, Q, 1.0, 3.0)


def test_what_can_be_dropped_has_a_share() -> None:
    """What can be dropped counts as one more lazy of weight one, whatever it is."""
    assert [3100] == told(6400, Q, System("A A A A A", priority=1), 1.0)
    assert [3100] == told(6400, Q, User("x", Section("s", "A", priority=1)), 1.0)
    assert [3100] == told(6400, History(talk("user A", "assistant B")), Q, 1.0)


def ones(text: str) -> int:
    """Return a token for every word in capital letters."""
    return hundreds(text) // 100


def a(priority: float) -> Section:
    """Return a section of one word."""
    return Section("a", "A", priority=priority)


PAIR = ToolUse("t", {"q": "A"}, id="c")
SPARE: dict[str, tuple[list[Any], int]] = {
    "a turn": ([Developer("A", priority=1)], 116),
    "what has to stay": ([Developer("A B C")], 111),
    "a title and its part": ([System("S", Section("s", a(1), title="T"))], 112),
    "a turn and its part": ([User(a(1), priority=2)], 116),
    "a turn, its part and a word": ([User(a(1), "B", priority=2)], 116),
    "parts in each other": ([User(Section("s", "B", a(7), title="T T"), priority=2)], 116),
    "a part that goes in one that stays": ([User(Section("s", "B", a(7), title="T T"))], 110),
    "forms": ([User(FirstFit("A A A", "B", "c"))], 113),
    "forms with a number": ([User(FirstFit("A A A", "B", "c", priority=1))], 116),
    "forms beside others": ([User("x", FirstFit("A A", "B"), FirstFit("C C C", "D D"))], 110),
    "forms in a part": (
        [User(Section("s", "B", FirstFit("C C", "D"), a(7), Section("t", a(3), title="T")), "x")],
        111,
    ),
    "forms in a part that goes": (
        [User(Section("s", "B", FirstFit("C C", "D"), a(7), priority=1), "x")],
        113,
    ),
    "forms that say nothing": ([FirstFit(User(""), User(""))], 117),
    "a group": ([Group(User("A"), User("B"), priority=1)], 116),
    "a call and its result": (
        [Assistant(PAIR, priority=1), ToolMessage("c", "B", priority=2)],
        116,
    ),
    "a call, its result and their parts": (
        [Assistant(PAIR, a(0), priority=1), ToolMessage("c", "B", a(1), priority=2)],
        116,
    ),
    "a call that stays with its result": (
        [Assistant(PAIR, a(0)), ToolMessage("c", "B", a(1), priority=2)],
        108,
    ),
    "forms of a call": (
        [
            FirstFit(Assistant("L L", PAIR), Assistant(PAIR), priority=3),
            ToolMessage("c", "B", priority=4),
        ],
        116,
    ),
    "forms of a call that stays": (
        [FirstFit(Assistant("L L", PAIR), Assistant(PAIR)), ToolMessage("c", "B", priority=4)],
        108,
    ),
    "a history": ([History(talk("user A", "assistant B", "user C", "assistant D"))], 116),
    "a history that keeps some": (
        [History(talk("user A", "assistant B", "user C", "assistant D"), keep=1)],
        108,
    ),
}


@pytest.mark.parametrize(("parts", "expected"), SPARE.values(), ids=SPARE)
def test_what_is_required_is_counted_to_the_token(parts: list[Any], expected: int) -> None:
    """A lazy of great weight is told what is left when all that may go is gone.

    Of 127 tokens the answer takes 3, the question 4 and the turn of the lazy 3, which leaves 117;
    whatever may go at all takes the last of them. Turns beside each other stay apart.
    """
    heard: list[int | None] = []
    lazy = Lazy(lambda context: heard.append(context.tokens), weight=1_000_000)  # type: ignore[func-returns-value]
    whole = timeline_of(*parts, User(lazy), Q)
    render(whole, budget=127, counter=ones, transformation=APART)
    assert [expected] == heard


def test_kept_exchanges_are_required() -> None:
    """The exchanges a history keeps are required parts."""
    chat = talk("user A", "assistant B", "user C", "assistant D")
    assert [3000] == told(6400, History(chat, keep=1), Q, 1.0)
    assert [5800] == told(6400, History(chat, keep=2), Q, 1.0)


def test_reserves_are_taken_first() -> None:
    """What is reserved is not shared."""
    assert [5200] == told(6400, Q, Reserve(500), 1.0, reserve=500)


def test_a_lazy_without_a_budget() -> None:
    """Without a budget a lazy is not told any number."""
    assert [None] == told(None, Q, 1.0)


def test_a_small_budget() -> None:
    """A budget of less than 64 tokens is shared to the token, and never less than nothing."""
    [few] = told(60, User("q"), 1.0)
    assert 0 <= few <= 60  # type: ignore[operator]


def test_the_share_of_a_lazy_beside_a_text() -> None:
    """In a small budget a lazy is told all that the rest leaves, to the token.

    The frame of a turn, with the name of its role, is 7 characters. Turns are counted one by one,
    also those that are sent as one message.
    """
    heard: list[int | None] = []
    lazy = Lazy(lambda context: heard.append(context.tokens))  # type: ignore[func-returns-value]
    render(timeline_of(User("x", lazy), Q), budget=60, counter=len)
    render(timeline_of(User("x", lazy), Q), budget=60, counter=len, transformation=APART)
    assert [40, 40] == heard


def test_required_parts_that_are_too_much() -> None:
    """Where required parts leave nothing, a lazy may fill nothing."""
    heard: list[int | None] = []
    lazy = Lazy(lambda context: heard.append(context.tokens))  # type: ignore[func-returns-value]
    with pytest.raises(BudgetError):
        render(timeline_of(User("Q Q Q"), User(lazy)), budget=200, counter=hundreds)
    assert [0] == heard


def test_it_is_shared_before_any_runs() -> None:
    """What one lazy writes changes nothing of what the next is told."""
    seen: list[int | None] = []

    def write(context: LazyContext) -> Text:
        seen.append(context.tokens)
        return Text("X " * 10)

    render(timeline_of(Q, User(Lazy(write)), User(Lazy(write))), budget=6400, counter=hundreds)
    assert [3100, 3100] == seen


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda _: Section("s", "WORD " * 100), "WORD " * 8),
        (lambda _: Section("s", "WORD " * 100, title="TITLE"), "TITLE " + "WORD " * 7),
        (lambda _: Fragment(Section("s", "W " * 50), Section("t", "W " * 50)), "W " * 8),
    ],
)
def test_what_a_loose_lazy_writes_is_cut(
    write: Callable[[LazyContext], Any], expected: str
) -> None:
    """What a lazy writes that stands among turns is cut in the words of the system text."""
    rendered = fit(9.3, Q, Lazy(write))
    assert f"{expected}Q" == capitals(rendered.messages)


@pytest.mark.parametrize(
    "write", [lambda _: Assistant("W W W"), lambda _: Fragment(Assistant("W W W"))]
)
def test_a_turn_that_a_lazy_writes_is_not_cut(write: Callable[[LazyContext], Any]) -> None:
    """A turn that a lazy writes is sent whole, also where it is longer than its share."""
    assert "Q W W W" == left(4, Q, Developer("A", priority=1), Lazy(write))


@pytest.mark.parametrize(
    "write",
    [
        lambda _: "WORD " * 200,
        lambda _: Text("WORD " * 200),
        lambda _: Section("s", "WORD " * 200),
    ],
)
def test_what_a_lazy_writes_is_cut(write: Callable[[LazyContext], Any]) -> None:
    """What is above its share is cut as by a limit, and marked."""
    rendered = fit(64, Q, System(Lazy(write)))
    words = capitals(rendered.messages).split().count("WORD")
    assert 50 <= words <= 62
    assert "[...]" in rendered.messages[0].content[0].text  # type: ignore[union-attr]


def test_what_is_cut_of_a_lazy_is_told() -> None:
    """The cut is told with the line of the lazy."""
    lazy, line = Lazy(lambda _: "WORD " * 200), this_line()
    [gone] = fit(64, Q, System(lazy)).dropped
    assert ("text", f"{__file__}:{line}") == (gone.what, str(gone.source))


def test_what_a_lazy_writes_counts_as_encoded() -> None:
    """A character that is sent as a reference counts as that."""
    tree = timeline_of(System("s", Lazy(lambda _: "<" * 1_000)))
    full = {"encoding": {"inline": "full"}}
    rendered = render(tree, budget=640, counter=len, transformation=full)
    assert rendered.tokens.total <= 640
    assert 100 <= rendered.messages[0].content[0].text.count("&lt;") <= 160  # type: ignore[union-attr]


def test_a_lazy_that_fills_its_share() -> None:
    """A prompt whose lazies fill what they were told fits."""
    lazy = Lazy(lambda context: "W " * ((context.tokens or 0) // 100))
    parts = [System("A", priority=1), User(lazy), Q]
    assert fit(30, *parts).tokens.total <= 3070


# Tried again.


def hidden(text: str) -> int:
    """Return the tokens of a text, with a hundred more where a target has a tag for it."""
    return hundreds(text) + 100 * text.count("<developer>")


@pytest.mark.parametrize(
    ("budget", "parts", "expected"),
    [
        (
            460,
            [
                Assistant("A", priority=1),
                User("v"),
                Assistant("B B B", priority=2),
                Developer("x"),
                User("Q"),
            ],
            ("A Q", [("assistant turn", 303)]),
        ),
        (
            550,
            [
                Developer("x"),
                Assistant("X X X X", priority=2),
                User(Section("s", "A", Section("b", "B B B B", priority=7), priority=1), "Q"),
            ],
            ("A Q", [("assistant turn", 403), ("section b", 400)]),
        ),
    ],
)
def test_what_comes_back_when_it_is_tried_again(
    budget: int, parts: list[Any], expected: tuple[str, list[tuple[str, int]]]
) -> None:
    """What is sent is too much at first: then more goes, and what went first comes back."""
    prompt = timeline_of(User("u"), *parts)
    found = render(prompt, budget=budget, counter=hidden, provider="gemini")
    told = [(one.what, one.tokens) for one in found.dropped]
    assert expected == (capitals(found.messages), told)


# Ways to render.


TREE = timeline_of(
    System("S"),
    History(talk("user A", "assistant B", "user C", "assistant D"), step=0),
    FirstFit(Developer("LONG LONG"), Developer("SHORT"), priority=3),
    Q,
)


def test_a_target_chosen_later() -> None:
    """A target that is chosen later has the budget and the counter of the first render."""
    request: dict[str, Any] = {"budget": 470, "counter": hundreds}
    later, now = render(TREE, **request), render(TREE, provider="anthropic", **request)
    assert now.payload() == later.for_target("anthropic").payload() == later.to_anthropic()
    assert "S LONG LONG Q" == capitals(later.for_target("anthropic").messages)


def test_every_target_has_the_same_words() -> None:
    """What is kept is the same for every target whose frames make no difference."""
    rendered = render(TREE, budget=470, counter=hundreds)
    targets = ("openai", "openai_responses", "anthropic", "gemini", "bedrock", "chat_template")
    kept = {capitals(rendered.for_target(target).messages) for target in targets}
    assert {"S LONG LONG Q"} == kept


def test_what_is_kept_may_depend_on_the_target() -> None:
    """A target that is chosen later may have less room: what it adds is counted there."""

    def dear(text: str) -> int:
        return hundreds(text) + 100 * text.count("<developer>")

    parts = [User("A"), Assistantish("B"), Developer("C"), User("D", priority=1), Q]
    rendered = render(timeline_of(*parts), budget=570, counter=dear)
    kept = [capitals(rendered.for_target(name).messages) for name in ("openai", "gemini")]
    assert ["A B C D Q", "A B C Q"] == kept


def Assistantish(text: str) -> Any:  # noqa: N802 (it is written like a component)
    """Return an answer."""
    return Assistant(text)


def test_awaited() -> None:
    """Awaited, a prompt in a budget comes to the same, and its lazies are told the same."""

    async def later(context: LazyContext) -> str:
        await asyncio.sleep(0)
        return f"{context.tokens}"

    def tree(write: Callable[[LazyContext], Any]) -> Any:
        return timeline_of(Developer("A A", priority=1), User(Lazy(write)), Q)

    request: dict[str, Any] = {"budget": 250, "counter": hundreds}
    awaited = asyncio.run(arender(tree(later), **request))
    at_once = render(tree(lambda context: f"{context.tokens}"), **request)
    assert (awaited.messages, awaited.dropped) == (at_once.messages, at_once.dropped)
    assert "Q" == capitals(awaited.messages)


def test_awaited_and_refused() -> None:
    """What is no budget is refused by the call itself; what does not fit, when it is awaited."""
    with pytest.raises(OptionError):
        arender(TREE, budget=-1)
    waiting = arender(TREE, budget=150, counter=hundreds)
    with pytest.raises(BudgetError):
        asyncio.run(waiting)


def test_a_pass_called_fit() -> None:
    """What fitting did is a stage of its own: after reading, before expanding."""
    names = [stage.name for stage in render(TREE, budget=470, counter=hundreds).stages()]
    assert ["read", "fit", "expand"] == names[names.index("read") : names.index("read") + 3]


def test_reserves_in_the_prompt_name_their_line() -> None:
    """More room for the answer than there is budget is told with the line that asks for it."""
    prompt, line = timeline_of(Reserve(500), User("hello")), this_line()
    error = raised(BudgetError, lambda: render(prompt, budget=400))
    assert error.what.splitlines() == [
        "the reserves are 500 tokens, the budget is 400",
        "the rest of the prompt needs 8 tokens",
        f"  5  user turn: {__file__}:{line}",
        "  3  the target's format",
    ]
    assert f"write smaller reserves, or a budget of {error.required + 500}" == error.fix
    assert ((f"{__file__}:{line}",), 0) == (error.at, error.limit)


def test_reserves_that_leave_nothing_tell_what_is_needed() -> None:
    """More room for the answer than there is budget: the error has the required tokens and parts.

    An answer begins with 3 tokens, a message and the system text have 3 around them.
    """
    parts = [System("A A"), Developer("B", priority=1), Reserve(500), User("C")]
    error = too_big(*parts, budget=200)
    needed = [(part.what, part.tokens) for part in error.largest]
    assert (0, 309, [("system turn", 203), ("user turn", 103)]) == (
        error.limit,
        error.required,
        needed,
    )


def test_what_tools_cost_is_named() -> None:
    """What a model is told of tools in general is among the largest parts."""
    prompt = timeline_of(Tool(name="find", description="Find it."), User("Any books?"))
    with pytest.raises(BudgetError, match="the provider's instructions for tools") as caught:
        render(prompt, model="claude-opus-5-5", budget=100)
    assert caught.value.largest[0].tokens > 300
