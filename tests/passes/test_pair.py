"""Pair: every call has one result before the next assistant turn, or something is done about it."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import raised, this_line
from tests.internals import INTERRUPTED, pair
from tests.providers.every_target import every_check_of
from tests.renders import ShortForm, comes_to, did_nothing, timeline_of
from tests.searching import examples

Content = list[Node]
FILLED = (INTERRUPTED, "error", "interrupted")


def calls(*ids: str, words: tuple[str, ...] = ()) -> Assistant:
    """Return an assistant turn of words and calls."""
    return Assistant(*words, *(ToolUse("look_up", {}, id=id) for id in ids))


def recorded_calls(*ids: str, words: tuple[str, ...] = ()) -> History:
    """Return the same as a recording."""
    return History(calls_made(*ids, words=words))


def calls_made(*ids: str, words: tuple[str, ...] = ()) -> list[Message]:
    """Return the message of these calls."""
    texts = [TextBlock(word) for word in words]
    made = [ToolUseBlock(id, "look_up", "{}") for id in ids]
    return [Message("assistant", [*texts, *made])]


def result(id: str) -> ToolMessage:
    """Return a tool's answer."""
    return ToolMessage(id, "rain")


def recorded_result(id: str) -> History:
    """Return the same as a recording."""
    return History([Message("tool", [ToolResultBlock(id, (TextBlock("rain"),))])])


def called(*ids: str, words: tuple[str, ...] = ()) -> ShortForm:
    """Return the message of calls."""
    return ("assistant", *words, *(("call", id, "look_up") for id in ids))


def answered(id: str, *said_: str) -> ShortForm:
    """Return the message of a result."""
    return ("tool", ("result", id, *(said_ or ("rain",))))


USER_CALLS = History([Message("user", [ToolUseBlock("a", "look_up", "{}")])])
"""A call that no model made, which calls nothing."""
both_forms = pytest.mark.parametrize(
    ("make", "answer"), [(calls, result), (recorded_calls, recorded_result)]
)
Make = Callable[..., Node]


# What pairs.


@both_forms
def test_pairs(make: Make, answer: Make) -> None:
    """Calls and their results stay as they were written."""
    tree = [User("u"), make("a", "b"), answer("a"), answer("b"), make("c"), answer("c")]
    assert [
        ("user", "u"),
        called("a", "b"),
        answered("a"),
        answered("b"),
        called("c"),
        answered("c"),
    ] == comes_to(*tree)


def test_results_may_come_in_another_order() -> None:
    """The results of one turn's calls may come in any order."""
    tree = [calls("a", "b"), result("b"), result("a"), Assistant("done")]
    assert [called("a", "b"), answered("b"), answered("a"), ("assistant", "done")] == comes_to(
        *tree
    )


@pytest.mark.parametrize(
    "answers",
    [
        [ToolMessage("a", "rain"), ToolMessage("b", "rain")],
        [User(ToolResult("a", "rain"), ToolResult("b", "rain"))],
        [User(ToolResult("a", "rain")), User(ToolResult("b", "rain"))],
        [Turn("tool", ToolResult("a", "rain"), ToolResult("b", "rain"))],
        [ToolMessage("a", "rain"), User(ToolResult("b", "rain"))],
    ],
)
def test_every_form_of_a_result(answers: Content) -> None:
    """However a result is written, it is a tool message of its own."""
    assert [called("a", "b"), answered("a"), answered("b")] == comes_to(calls("a", "b"), *answers)


@pytest.mark.parametrize("kind", ["event", "request"])
def test_what_comes_back_between_a_call_and_its_result(kind: Any) -> None:
    """What was sent in a user's voice and is no user's word asks for no result."""
    history = [
        Message("assistant", [ToolUseBlock("a", "look_up", "{}")]),
        Message("user", "x", kind=kind),
        Message("tool", [ToolResultBlock("a", (TextBlock("rain"),))]),
    ]
    assert [called("a"), ("user", "x"), answered("a")] == comes_to(History(history))


def test_words_beside_results() -> None:
    """What a user says beside results comes behind them."""
    tree = [calls("a", "b"), User(ToolResult("a", "rain"), "And?", ToolResult("b", "rain"))]
    assert [called("a", "b"), answered("a"), answered("b"), ("user", "And?")] == comes_to(*tree)


@both_forms
def test_an_id_that_comes_back(make: Make, answer: Make) -> None:
    """An id may come back in a later turn; the messages keep it."""
    tree = [
        make("a"),
        answer("a"),
        make("a"),
        answer("a"),
        make("a", "b"),
        answer("b"),
        answer("a"),
    ]
    assert [
        called("a"),
        answered("a"),
        called("a"),
        answered("a"),
        called("a", "b"),
        answered("b"),
        answered("a"),
    ] == comes_to(*tree)


REPEATED = [
    User("u"),
    calls("a"),
    result("a"),
    calls("a"),
    result("a"),
    calls("a_2"),
    result("a_2"),
]


def test_a_target_that_takes_it() -> None:
    """OpenAI takes an id that comes back, so it is kept."""
    payload = render(Timeline(*REPEATED), provider="openai").to_openai()
    results = [m["tool_call_id"] for m in payload["messages"] if m["role"] == "tool"]
    assert ["a", "a", "a_2"] == results


def test_a_target_that_does_not() -> None:
    """For Anthropic the first keeps its id, the n-th gets ``_n``, on both sides."""
    payload: Any = render(Timeline(*REPEATED), provider="anthropic").to_anthropic()
    blocks = [block for message in payload["messages"] for block in message["content"]]
    made = [block["id"] for block in blocks if block["type"] == "tool_use"]
    given_ = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert (["a", "a_2", "a_2_2"], made) == (made, given_)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["fc.1:a"], ["fc_1_a"]),
        (["fc.1:a", "fc_1_a"], ["fc_1_a", "fc_1_a_2"]),
        (["a", "a", "a"], ["a", "a_2", "a_3"]),
        (["é"], ["_"]),
    ],
)
def test_ids_are_mended(ids: list[str], expected: list[str]) -> None:
    """For Anthropic an id of other characters is mended, and stays unique."""
    tree = [User("u"), *(turn for id in ids for turn in (calls(id), result(id)))]
    payload: Any = render(Timeline(*tree), provider="anthropic").to_anthropic()
    blocks = [block for message in payload["messages"] for block in message["content"]]
    assert expected == [block["id"] for block in blocks if block["type"] == "tool_use"]


@every_check_of("anthropic")
@given(
    ids=st.lists(st.sampled_from(["a", "a_2", "a.2", "b", "é", "x" * 70]), min_size=1, max_size=8)
)
def test_a_new_id_depends_on_earlier_turns_only(check: Any, ids: list[str]) -> None:
    """Any run of calls is sent with ids that later calls do not change."""
    tree = [User("u"), *(turn for id in ids for turn in (calls(id), result(id)))]
    whole: Any = render(Timeline(*tree), model="claude-opus-5-5")
    check(whole.payload(), whole.facts)
    part: Any = render(Timeline(*tree[:-2]), model="claude-opus-5-5")
    assert part.payload()["messages"] == whole.payload()["messages"][: len(tree) - 2]


# Errors.


def test_a_call_without_a_result() -> None:
    """A call without a result before the next turn is an error with both lines."""
    first = this_line() + 1
    tree = Timeline(
        User("u"),
        Assistant(
            ToolUse("look_up", {}, id="a"),
            ToolUse("look_up", {}, id="b"),
        ),
        ToolMessage("a", "rain"),
        User("v"),
    )
    with pytest.raises(PairingError, match="the call 'b' has no result") as caught:
        render(tree)
    assert (f"{__file__}:{first + 4}", f"{__file__}:{first + 7}") == caught.value.at


def test_a_recorded_call_without_a_result() -> None:
    """A recorded call that is not answered is an error with the line of its History."""
    made = Message("assistant", [ToolUseBlock("a", "look_up", "{}")])
    call, written = History([made]), this_line()
    with pytest.raises(PairingError, match="the call 'a' has no result") as caught:
        render(timeline_of(call, User("v")))
    assert f"{__file__}:{written}" == caught.value.at[0]


def test_a_result_without_a_call() -> None:
    """A result that answers no call is an error with its line."""
    orphan, written = ToolMessage("a", "rain"), this_line()
    with pytest.raises(PairingError, match=WAITS_FOR_A) as caught:
        render(timeline_of(User("u"), orphan))
    assert (f"{__file__}:{written}",) == caught.value.at


WAITS_FOR_A = "there is no open tool call for the result 'a'"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([calls("a"), User("v"), result("a")], "the call 'a' has no result"),
        ([calls("a"), Assistant("x")], "the call 'a' has no result"),
        ([calls("a"), calls("b"), result("a"), result("b")], "the call 'a' has no result"),
        ([recorded_calls("a"), Assistant("x")], "the call 'a' has no result"),
        ([calls("a"), History([Message("assistant", "x")])], "the call 'a' has no result"),
        ([calls("a"), Developer("d"), User("u")], "the call 'a' has no result"),
        ([calls("a"), Event("e"), Assistant("x")], "the call 'a' has no result"),
        ([calls("a"), User(ToolResult("b", "x"))], "there is no open tool call for the result 'b'"),
        ([calls("a"), result("a"), result("a")], WAITS_FOR_A),
        (
            [calls("a"), recorded_result("a"), recorded_result("a")],
            WAITS_FOR_A,
        ),
        ([result("a"), calls("a")], WAITS_FOR_A),
        (
            [calls("a"), result("a"), Assistant("x"), result("a")],
            WAITS_FOR_A,
        ),
        (
            [calls("a"), User(ToolResult("a", "x"), ToolResult("a", "y"))],
            WAITS_FOR_A,
        ),
        ([calls("a"), History([Message("user", "v")]), result("a")], "the call 'a' has no result"),
        ([calls("a"), History([Message("assistant", "v")])], "the call 'a' has no result"),
        ([calls("a", "a"), result("a")], "the call id 'a' is used twice in one turn"),
        ([USER_CALLS, result("a")], WAITS_FOR_A),
        ([recorded_calls("a", "a"), result("a")], "the call id 'a' is used twice in one turn"),
        ([calls("a", "b"), User(ToolResult("a", "x"), "more"), result("b")], "the call 'b' has no"),
    ],
)
def test_what_does_not_pair(content: Content, message: str) -> None:
    """A call without exactly one result in the next turns is an error, and so is a stray result."""
    with pytest.raises(PairingError, match=message):
        render(Timeline(*content))


@pytest.mark.parametrize(
    ("content", "what", "fix"),
    [
        (
            [calls("a", "b"), User("u")],
            "the call 'a' has no result before the next turn",
            "answer it: ToolMessage('a', ...), "
            'or render(..., transformation={"tool_pairing": "fill"})',
        ),
        (
            [result("x")],
            "there is no open tool call for the result 'x'",
            "write it directly after the turn with the call, or render(..., "
            'transformation={"tool_pairing": "prune"})',
        ),
        (
            [calls("a", "a")],
            "the call id 'a' is used twice in one turn",
            "give each call of a turn an id of its own",
        ),
    ],
)
def test_what_the_errors_say(content: Content, what: str, fix: str) -> None:
    """Each error says what is wrong and what to write instead."""
    error = raised(PairingError, lambda: render(Timeline(*content)))
    assert (what, fix) == (error.what, error.fix)


# Calls that wait for their results.

WAITING: dict[str, Content] = {
    "nothing": [],
    "an event": [Event(UserAction("left"))],
    "an ephemeral": [Ephemeral("e")],
    "a grounding": [Grounding("g", "g", position="end")],
    "a developer turn": [Developer("d")],
    "several": [Event("e"), Developer("d"), Ephemeral("x"), Event("f")],
    "system content": [Section("late", "s")],
}
every_wait = pytest.mark.parametrize("behind", WAITING.values(), ids=WAITING)
every_target = pytest.mark.parametrize("target", ["openai", "openai_compatible", "anthropic"])
every_mode = pytest.mark.parametrize("make", [calls, recorded_calls])


@every_wait
@every_mode
@pytest.mark.parametrize("target", [None, "openai", "openai_compatible", "anthropic"])
def test_the_last_calls_may_wait(behind: Content, make: Make, target: str | None) -> None:
    """Rendering never fails for the last calls of a conversation, whatever stands behind them."""
    rendered = render(Timeline(User("u"), make("a", "b"), *behind), provider=target)
    assert called("a", "b") in [(m.role, *map(_short, m.content)) for m in rendered.messages]


@every_target
def test_waiting_is_no_loss(target: str) -> None:
    """Calls that wait are no loss, so a strict render takes them too."""
    rendered = render(Timeline(User("u"), calls("a")), provider=target, strict=True)
    assert [] == [hint for hint in rendered.hints if hint.what != "there are no tools"]


def _short(block: Any) -> Any:
    return ("call", block.id, block.name) if isinstance(block, ToolUseBlock) else block


@every_wait
@every_target
def test_a_payload_cannot_wait(behind: Content, target: str) -> None:
    """The payload raises for calls that wait, with the line of their turn."""
    uses = [ToolUse("look_up", {}, id=id) for id in ("a", "b")]
    made, written = Assistant(*uses), this_line()
    rendered = render(Timeline(User("u"), made, *behind), provider=target)
    with pytest.raises(PendingToolCalls, match="have no results yet: 'a', 'b'") as caught:
        rendered.payload()
    assert (f"{__file__}:{written}",) == caught.value.at


@pytest.mark.parametrize(
    ("target", "method"),
    [
        ("openai", "to_openai"),
        ("anthropic", "to_anthropic"),
        (None, "to_openai"),
        (None, "to_anthropic"),
    ],
)
def test_no_method_waits(target: str | None, method: str) -> None:
    """Every ``to_x`` raises as ``payload`` does, also when rendered for no target."""
    rendered = render(Timeline(User("u"), calls("a")), provider=target)
    with pytest.raises(PendingToolCalls):
        getattr(rendered, method)()


def test_part_of_the_results() -> None:
    """With one of two results there, the other is what is waited for."""
    rendered = render(Timeline(User("u"), calls("a", "b"), result("b")), provider="openai")
    with pytest.raises(PendingToolCalls, match="have no results yet: 'a'\n"):
        rendered.payload()
    assert [("user", "u"), called("a", "b"), answered("b")] == comes_to(
        User("u"), calls("a", "b"), result("b")
    )


def test_waiting_calls_of_an_id_that_came_back() -> None:
    """An answer to an earlier call of the same id is none to the one that waits."""
    tree = Timeline(User("u"), calls("a"), result("a"), calls("a"))
    with pytest.raises(PendingToolCalls, match="'a'"):
        render(tree, provider="anthropic").payload()


# Recorded results, of which some answer no call.

RAIN = TextBlock("rain")
STRAY = History(
    [
        Message(
            "user", [ToolResultBlock("x", (RAIN,)), ToolResultBlock("a", (RAIN,)), TextBlock("v")]
        )
    ]
)
STRAYS = History([Message("tool", [ToolResultBlock(id, (RAIN,)) for id in ("x", "a", "a", "y")])])

# fill.


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            [calls("a"), User("v")],
            [called("a"), answered("a", *FILLED), ("user", "v")],
        ),
        (
            [calls("a", "b", words=("hm",)), result("b"), User("v")],
            [called("a", "b", words=("hm",)), answered("b"), answered("a", *FILLED), ("user", "v")],
        ),
        (
            [recorded_calls("a", "b"), recorded_result("a"), Assistant("x")],
            [called("a", "b"), answered("a"), answered("b", *FILLED), ("assistant", "x")],
        ),
        ([calls("a")], [called("a"), answered("a", *FILLED)]),
        (
            [calls("a"), Developer("d")],
            [called("a"), answered("a", *FILLED), ("developer", "d")],
        ),
        (
            [calls("a"), calls("b"), result("b")],
            [called("a"), answered("a", *FILLED), called("b"), answered("b")],
        ),
        ([User("u"), result("a")], [("user", "u")]),
        ([calls("a"), result("a"), result("a")], [called("a"), answered("a")]),
        (
            [calls("a"), User(ToolResult("a", "rain"), ToolResult("a", "mud"))],
            [called("a"), answered("a")],
        ),
        (
            [calls("a"), User("v"), result("a")],
            [called("a"), answered("a", *FILLED), ("user", "v")],
        ),
        (
            [calls("a"), User(ToolResult("x", "?"), "v")],
            [called("a"), answered("a", *FILLED), ("user", "v")],
        ),
        (
            [calls("a"), STRAY, Assistant("x")],
            [called("a"), ("user", ("result", "a", "rain"), "v"), ("assistant", "x")],
        ),
        ([calls("a"), STRAYS, Assistant("x")], [called("a"), answered("a"), ("assistant", "x")]),
        (
            [recorded_calls("a", "a"), STRAYS, Assistant("x")],
            [called("a", "a"), ("tool", *[("result", "a", "rain")] * 2), ("assistant", "x")],
        ),
        (
            [recorded_calls("a", "b", "c"), result("b"), Event("e"), User("v")],
            [
                called("a", "b", "c"),
                answered("b"),
                answered("a", *FILLED),
                answered("c", *FILLED),
                ("user", "<event>\ne\n</event>", "v"),
            ],
        ),
        (
            [calls("a"), Event("e"), result("x"), result("a")],
            [called("a"), answered("a"), ("user", "<event>\ne\n</event>")],
        ),
    ],
)
def test_fill(content: Content, expected: list[ShortForm]) -> None:
    """``fill`` answers a call with an error of type interrupted; a stray result goes."""
    assert expected == comes_to(*content, transformation={"tool_pairing": "fill"})


# prune.


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([User("u"), calls("a"), User("v")], [("user", "u", "v")]),
        (
            [User("u"), calls("a", words=("hm",)), User("v")],
            [("user", "u"), ("assistant", "hm"), ("user", "v")],
        ),
        (
            [calls("a", "b", words=("hm",)), result("b"), User("v")],
            [called("b", words=("hm",)), answered("b"), ("user", "v")],
        ),
        (
            [recorded_calls("a", "b", words=("hm",)), recorded_result("a"), Assistant("x")],
            [called("a", words=("hm",)), answered("a"), ("assistant", "x")],
        ),
        ([User("u"), recorded_calls("a"), User("v")], [("user", "u", "v")]),
        ([User("u"), calls("a")], [("user", "u")]),
        ([User("u"), calls("a", words=("hm",))], [("user", "u"), ("assistant", "hm")]),
        ([User("u"), result("a")], [("user", "u")]),
        ([User("u"), recorded_result("a")], [("user", "u")]),
        ([calls("a"), result("a"), result("a")], [called("a"), answered("a")]),
        (
            [calls("a"), User(ToolResult("a", "rain"), ToolResult("a", "mud"))],
            [called("a"), answered("a")],
        ),
        ([User("u"), calls("a"), User("v"), result("a")], [("user", "u", "v")]),
        ([User("u"), User(ToolResult("x", "?"), "v")], [("user", "u", "v")]),
        (
            [calls("a"), STRAY, Assistant("x")],
            [called("a"), ("user", ("result", "a", "rain"), "v"), ("assistant", "x")],
        ),
        ([calls("a"), STRAYS, Assistant("x")], [called("a"), answered("a"), ("assistant", "x")]),
        (
            [recorded_calls("a", "b", "c"), result("b"), User("v")],
            [called("b"), answered("b"), ("user", "v")],
        ),
    ],
)
def test_prune(content: Content, expected: list[ShortForm]) -> None:
    """``prune`` takes out calls and results that have no counterpart, and keeps the words."""
    assert expected == comes_to(*content, transformation={"tool_pairing": "prune"})


# What is removed is told.

UNCALLED, ANSWERED, LATE, UNANSWERED = (
    "no call before it has its id",
    "its call has a result already",
    "it comes after the next turn",
    "it has no result",
)
SENT = {"a": [1, "b"]}
FORECAST: Any = [
    {"type": "json", "value": SENT},
    "sun",
    {"type": "image", "source": {"type": "url", "url": "https://a.org/i.png"}},
]


@pytest.mark.parametrize("budget", [None, 500])
@pytest.mark.parametrize("mode", ["fill", "prune"])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            lambda: [calls("a"), User("v"), ToolMessage("a", "late")],
            [("result 'a'", "tool[0]", LATE, "late")],
        ),
        (
            lambda: [User("u"), ToolMessage("a", "stray", id="here")],
            [("result 'a'", "here", UNCALLED, "stray")],
        ),
        (
            lambda: [calls("a"), result("a"), ToolMessage("a", "snow"), User("v"), result("a")],
            [
                ("result 'a'", "tool[1]", ANSWERED, "snow"),
                ("result 'a'", "tool[2]", ANSWERED, "rain"),
            ],
        ),
        (
            lambda: [calls("a"), User(ToolResult("a", "x"), ToolResult("a", "y"), "v")],
            [("result 'a'", "user[0]", ANSWERED, "y")],
        ),
        (
            lambda: [User("u"), User("w", ToolResult("x", Json(SENT), Text("b"), IMAGE), "v")],
            [("result 'x'", "user[1]", UNCALLED, '{"a": [1, "b"]}\n\nb\n\n[image]')],
        ),
        (
            lambda: [User("u"), History([Message("user", "v"), *LATE_RECORDED])],
            [
                ("result 'a'", "history[3]", LATE, "late"),
                ("result 'x'", "history[4]", UNCALLED, '{"a": [1, "b"]}\n\nsun\n\n[image]'),
            ],
        ),
    ],
)
def test_removed_results_are_told(content: Any, expected: Any, mode: str, budget: Any) -> None:
    """A result that is removed is in ``dropped``, with its address, the reason and what it said."""
    rendered = render(
        Timeline(*content()), budget=budget, counter=len, transformation={"tool_pairing": mode}
    )
    assert expected == [
        (part.what, part.path, part.why, part.text)
        for part in rendered.dropped
        if part.what.startswith("result")
    ]


IMAGE = Image.from_url("https://a.org/i.png")
LATE_RECORDED = [
    Message("assistant", ["hm", ToolUseBlock("a", "look_up", "{}")]),
    Message("user", "w"),
    Message("user", [ToolResultBlock("a", "late"), TextBlock("z")]),
    Message.tool_result("x", FORECAST),
]


BEFORE = [Message("system", "s"), Message("user", "u")]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (lambda: [User("u"), calls("a", "b"), result("b")], ["assistant[0]"]),
        (lambda: [User("u"), recorded_calls("b", "a", words=("hm",)), result("b")], ["history[0]"]),
        (
            lambda: [History([*BEFORE, *calls_made("a")]), User("v")],
            ["history[2]"],
        ),
    ],
)
def test_removed_calls_are_told(content: Any, expected: list[str]) -> None:
    """A call that ``prune`` removes is told with its arguments; ``fill`` removes none."""
    pruned = render(Timeline(*content()), transformation={"tool_pairing": "prune"}).dropped
    filled = render(Timeline(*content()), transformation={"tool_pairing": "fill"}).dropped
    told = [(part.what, part.path, part.why, part.text) for part in pruned]
    assert [("call 'a'", *expected, UNANSWERED, "look_up({})")] == told
    assert () == filled


def test_where_what_was_removed_is_from() -> None:
    """The line of a removed result is its own, in a recording that of the ``History``."""
    first = this_line() + 1
    tree = Timeline(
        User("u"),
        ToolMessage("a", "x"),
        User(
            "v",
            ToolResult("b", "y"),
        ),
        History(
            [Message.tool_result("d", "z")],
        ),
    )
    dropped = render(tree, transformation={"tool_pairing": "fill"}).dropped
    lines = [part.source and part.source.line - first for part in dropped]
    assert [2, 5, 7] == lines


def test_how_what_was_removed_reads() -> None:
    """Its text is one line, in which a long result is cut; the value has all of it."""
    said = "rain\n" * 20
    tree, line = Timeline(User("u"), ToolMessage("a", said), ToolMessage("b")), this_line()
    long, empty = render(tree, counter=len, transformation={"tool_pairing": "prune"}).dropped
    place = f"{__file__}:{line}: result"
    shown = "rain\\n" * 15 + "ra..."
    why = "no call before it has its id"
    assert said == long.text
    assert f"{place} 'a' (tool[0]), 100 tokens: {why}: '{shown}'" == str(long)
    assert f"{place} 'b' (tool[1]), 0 tokens: {why}" == str(empty)


def test_what_a_budget_and_pairing_removed() -> None:
    """What a budget dropped comes first; only what the last attempt removed is told, and once."""
    tree = Timeline(
        System("s"),
        User("u"),
        Assistant(ToolUse("look_up", {}, id="p"), priority=1),
        ToolMessage("p", "word " * 300, priority=1),
        result("x"),
        User("v"),
    )
    mended: Any = {"tool_pairing": "fill"}
    dropped = render(tree, budget=200, counter=len, transformation=mended).dropped
    assert ["assistant turn", "tool turn", "result 'x'"] == [part.what for part in dropped]


# Any conversation.

MODES = st.sampled_from(["fill", "prune"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("user"), st.just(())),
        st.tuples(st.just("assistant"), st.just(())),
        st.tuples(st.just("event"), st.just(())),
        st.tuples(
            st.sampled_from(["calls", "recorded_calls"]),
            st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True),
        ),
        st.tuples(
            st.sampled_from(["results", "recorded_results", "user_results", "mixed"]),
            st.lists(st.sampled_from("abc"), min_size=1, max_size=3),
        ),
    ),
    max_size=10,
)


def written(step: str, ids: Any) -> list[Node]:
    """Return the turns of a step."""
    results = [ToolResult(id, "rain") for id in ids]
    made: dict[str, list[Node]] = {
        "user": [User("u")],
        "assistant": [Assistant("a")],
        "event": [Event("e")],
        "calls": [calls(*ids)],
        "recorded_calls": [recorded_calls(*ids, words=("hm",))],
        "results": [result(id) for id in ids],
        "recorded_results": [recorded_result(id) for id in ids],
        "user_results": [User(*results)],
        "mixed": [User(*results, "And?")],
    }
    return made[step]


@every_check_of("anthropic", "openai")
@given(steps=STEPS, mode=MODES)
def test_any_conversation_is_repaired(check: Any, steps: list[tuple[str, Any]], mode: str) -> None:
    """Whatever the calls and results of a conversation, both targets take what is repaired."""
    tree = timeline_of(User("first"), *(turn for step in steps for turn in written(*step)))
    mended = {"tool_pairing": mode}
    chat = render(tree, provider="openai", transformation=mended)
    check(chat.payload(), chat.facts)
    claude = render(tree, model="claude-opus-5-5", transformation=mended)
    check(claude.payload(), claude.facts)


@given(STEPS, MODES)
def test_what_is_missing_is_told(steps: list[tuple[str, Any]], mode: str) -> None:
    """Every call and result of a conversation is either sent or told to be removed."""
    tree = timeline_of(User("first"), *(turn for step in steps for turn in written(*step)))
    rendered = render(tree, transformation={"tool_pairing": mode})
    sent = [block.to_dict() for message in rendered.messages for block in message.content]
    told = Counter(part.what for part in rendered.dropped)
    told.update(f"call {block['id']!r}" for block in sent if block["type"] == "tool_use")
    answers = [block for block in sent if block["type"] == "tool_result"]
    real = [block for block in answers if "error_type" not in block]
    told.update(f"result {block['tool_use_id']!r}" for block in real)
    names = {"calls": "call", "recorded_calls": "call"}
    given_ = Counter(f"{names.get(step, 'result')} {id!r}" for step, ids in steps for id in ids)
    assert given_ == told


ROUNDS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["user", "assistant"]), st.just(())),
        st.tuples(
            st.sampled_from(["calls", "results"]),
            st.lists(st.sampled_from("ab"), min_size=1, max_size=2),
        ),
    ),
    max_size=10,
)


def in_one_recording(steps: list[tuple[str, Any]]) -> History:
    """Return the turns of steps as one recording."""
    messages: list[Message] = []
    for step, ids in steps:
        made: dict[str, list[Message]] = {
            "user": [Message("user", "u")],
            "assistant": [Message("assistant", "a")],
            "calls": [Message("assistant", [ToolUseBlock(id, "look_up", "{}") for id in ids])],
            "results": [Message.tool_result(id, "rain") for id in ids],
        }
        messages += made[step]
    return History(messages)


def paired(*content: Node, mode: str) -> object:
    """Return the messages of a conversation, or what is wrong with it."""
    try:
        return comes_to(*content, transformation={"tool_pairing": mode})
    except PairingError as error:
        return error.what


@examples(300)
@given(ROUNDS, st.sampled_from(["error", "fill", "prune"]))
def test_any_recording_pairs_as_its_turns_do(steps: list[tuple[str, Any]], mode: str) -> None:
    """A recorded conversation comes to what it does when its turns are written."""
    turns = [turn for step in steps for turn in written(*step)]
    assert paired(*turns, mode=mode) == paired(in_one_recording(steps), mode=mode)


ENDED = [("user", ()), ("assistant", ()), ("calls", "ab"), ("results", "ba"), ("calls", "a")]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("user", ()), ("results", "a")], WAITS_FOR_A),
        ([*ENDED, ("results", "aa")], WAITS_FOR_A),
        ([*ENDED, ("user", ())], "the call 'a' has no result before the next turn"),
        ([*ENDED, ("assistant", ())], "the call 'a' has no result before the next turn"),
        ([*ENDED, ("calls", "b")], "the call 'a' has no result before the next turn"),
        ([*ENDED, ("results", "b")], "there is no open tool call for the result 'b'"),
        ([*ENDED, ("results", "a"), ("calls", "bb")], "the call id 'b' is used twice in one turn"),
    ],
)
def test_what_does_not_pair_late_in_a_recording(
    steps: list[tuple[str, Any]], expected: str
) -> None:
    """What is wrong is found wherever in a recording it stands."""
    assert expected == paired(in_one_recording(steps), mode="error")


@every_check_of("anthropic", "openai")
@given(steps=STEPS)
def test_any_conversation_pairs_or_is_refused(check: Any, steps: list[tuple[str, Any]]) -> None:
    """A conversation is refused as it stands, or both targets take it as soon as nothing waits."""
    tree = timeline_of(User("first"), *(turn for step in steps for turn in written(*step)))
    expected = expected_of(steps)
    assert (expected, expected) == (
        outcome(tree, "openai", check),
        outcome(tree, "anthropic", check),
    )


def expected_of(steps: list[tuple[str, Any]]) -> str:
    """Return what comes of a conversation, by a list of the calls that wait for a result."""
    waiting: list[str] = []
    for step, ids in steps:
        if "results" in step or step == "mixed":
            if any(id not in waiting for id in ids) or len({*ids}) < len(ids):
                return "PairingError"
            waiting = [id for id in waiting if id not in ids]
        if waiting and (step in ("user", "assistant", "mixed") or "calls" in step):
            return "PairingError"
        waiting += ids if "calls" in step else []
    return "PendingToolCalls" if waiting else ""


def outcome(tree: Node, target: Literal["openai", "anthropic"], check: Any) -> str:
    """Return what comes of a conversation: the name of an error, or nothing when it is taken."""
    try:
        rendered = render(tree, provider=target)
        payload = rendered.payload()
    except PromptError as error:
        return type(error).__name__
    check(payload, rendered.facts)
    return ""


def test_a_filled_result_stands_where_its_call_does() -> None:
    """The result that is put in has the line of the turn that calls, and its own address."""
    first = this_line() + 1
    tree = Timeline(
        Assistant(ToolUse("look_up", {}, id="a")),
        User("u"),
    )
    filled = render(tree, transformation={"tool_pairing": "fill"}).messages[1]
    assert (Origin("tool[0]", Source(__file__, first + 1)),) == filled.sources
    assert ("tool", "written") == (filled.role, filled.kind)


# The pass.


@pytest.mark.parametrize("mode", ["error", "fill", "prune"])
@pytest.mark.parametrize(
    "tree",
    [
        Timeline(System("s"), User("u"), Assistant("a")),
        Timeline(User("u"), calls("a"), result("a"), Assistant("done")),
        Timeline(History([Message("user", "u"), Message("assistant", "a")])),
    ],
)
def test_nothing_to_do(tree: Timeline, mode: str) -> None:
    """A tree in which everything pairs is the same object afterwards."""
    assert did_nothing("pair", tree, transformation={"tool_pairing": mode})


@pytest.mark.parametrize("mode", ["fill", "prune"])
def test_other_turns_stay_as_they_are(mode: Any) -> None:
    """A turn that pairs is the same object afterwards."""
    tree = Timeline(calls("x"), result("x"), calls("a", words=("hm",)))
    assert tree.content[:2] == pair(tree, mode=mode).content[:2]
    assert [True, True] == [
        a is b for a, b in zip(tree.content[:2], pair(tree, mode=mode).content[:2], strict=True)
    ]
