"""How a recorded conversation is trimmed: whole exchanges, rounds, steps, and what stays."""

import re
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.budget.cases import capitals, fit, hundreds, left, loop, talk
from tests.internals import default_step
from tests.renders import timeline_of
from tests.searching import examples

Q = User("Q")
CHAT = talk("user A", "assistant B", "user C", "assistant D", "user E", "assistant F")


def exact(messages: Any, **options: Any) -> History:
    """Return a history that is cut to fit, without steps."""
    return History(messages, step=0, **options)


def test_whole_exchanges_go_oldest_first() -> None:
    """A history loses a question with its answer, from the beginning on."""
    kept = [left(words, exact(CHAT), Q) for words in (7, 6, 5, 4, 3, 2, 1)]
    whole, four, two = "A B C D E F Q", "C D E F Q", "E F Q"
    assert [whole, four, four, two, two, "Q", "Q"] == kept


def test_turns_of_a_history_have_its_priority() -> None:
    """It is 0 unless another is given, among the other numbers of the prompt."""
    parts = [Developer("LOW", priority=-1), Developer("HIGH", priority=1)]
    kept = [left(words, exact(CHAT), *parts, Q) for words in (8, 2)]
    assert ["A B C D E F HIGH Q", "HIGH Q"] == kept
    assert "A B C D E F Q" == left(7, exact(CHAT, priority=2), *parts, Q)


def test_a_greeting_goes_with_the_first_exchange() -> None:
    """What stands before the first question goes with it, so what is left begins with a user."""
    greeted = talk("assistant HI", "developer X", "user A", "assistant B", "user C")
    assert ["C Q", "C Q"] == [left(words, exact(greeted), Q) for words in (5, 2)]
    assert "HI X A B C Q" == left(6, exact(greeted), Q)


def test_a_second_user_turn_is_the_same_exchange() -> None:
    """An exchange does not start at a user turn that follows another."""
    chat = talk("user A", "user B", "assistant C", "user D")
    assert ["D Q", "D Q"] == [left(words, exact(chat), Q) for words in (4, 2)]


def test_a_result_starts_no_exchange() -> None:
    """Neither at a user turn that holds a tool result."""
    asked = {"type": "tool_use", "id": "c", "name": "look", "input": {"q": "B"}}
    told = {"type": "tool_result", "tool_use_id": "c", "content": "C"}
    turns = [*talk("user A"), {"role": "assistant", "content": [asked]}]
    turns += [{"role": "user", "content": [told]}, *talk("assistant D", "user E")]
    assert "E Q" == left(5, exact(turns), Q)


def test_an_open_call_starts_no_exchange() -> None:
    """Nor at one that comes in between while a call is open."""
    turns = talk("user A", "call c B", "user C", "assistant D", "user E")
    request = {"transformation": {"tool_pairing": "fill"}}
    assert "E Q" == left(5, exact(turns), Q, **request)


def test_what_a_history_keeps() -> None:
    """Its last exchanges stay where that is asked for."""
    assert "C D E F Q" == left(5, exact(CHAT, keep=2), Q)
    with pytest.raises(BudgetError):
        left(4, exact(CHAT, keep=2), Q)
    assert "A B C D E F Q" == left(7, exact(CHAT, keep=9), Q)


def test_the_last_question_in_a_history() -> None:
    """The exchange with the last user turn of the prompt stays, with what follows the history."""
    kept = [left(words, exact(CHAT), Event("X")) for words in (6, 3)]
    assert ["C D E F X", "E F X"] == kept
    with pytest.raises(BudgetError):
        left(2, exact(CHAT), Event("X"))


def test_two_histories() -> None:
    """The one with the lower number is trimmed first, then the other."""
    one, two = exact(talk("user A", "user B")), exact(CHAT, priority=-1)
    kept = [left(words, one, two, Q) for words in (5, 3, 1)]
    assert ["A B E F Q", "A B Q", "Q"] == kept


def test_system_text_of_a_history_stays() -> None:
    """What it begins with in the system's voice is system content, which is required."""
    chat = [*talk("system S"), *CHAT]
    assert ["S E F Q", "S Q"] == [left(words, exact(chat), Q) for words in (4, 2)]


def test_a_history_of_one_event() -> None:
    """A history in which nothing but an event was recorded goes like any other."""
    assert ["A Q", "Q"] == [left(words, exact(talk("event A")), Q) for words in (2, 1)]


def test_a_history_without_a_question() -> None:
    """A history in which nobody asks goes whole, or stays whole if it keeps an exchange."""
    rounds = loop(4)
    assert ["LOOK FOUND " * 4 + "Q", "Q"] == [left(n, exact(rounds), Q) for n in (9, 8)]
    with pytest.raises(BudgetError):
        left(8, exact(rounds, keep=1), Q)


def test_instructions_go_with_their_exchange() -> None:
    """Developer turns and events in an exchange go with it; it starts at events before its user."""
    chat = talk("user A", "developer B", "assistant C", "event D", "user E", "event F")
    assert ["D E F Q", "Q"] == [left(words, exact(chat), Q) for words in (4, 3)]


def test_an_event_stays_with_its_question() -> None:
    """What happened before a question is sent as long as the question, however long the loop."""
    task = [*talk("user A", "assistant B", "event E", "user C"), *loop(3)]
    assert "E C LOOK FOUND" == left(4, exact(task))


def test_a_history_in_a_group() -> None:
    """In a group it goes whole, at its own number when the group has none."""
    assert "X Q" == left(6, Group(exact(CHAT)), Developer("X", priority=1), Q)
    assert "A B C D E F Q" == left(7, Group(exact(CHAT), priority=2), Developer("X", priority=1), Q)


def test_an_empty_history() -> None:
    """A conversation that has not begun takes nothing and loses nothing."""
    assert "Q" == left(1, History([]), History.from_openai([]), Q)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_histories_of_providers(provider: str) -> None:
    """A conversation in a provider's form is trimmed like any other."""
    turns = [
        {"role": turn["role"], "content": turn["content"]}
        for turn in talk("user A", "assistant B", "user C", "assistant D")
    ]
    read = {"openai": History.from_openai, "anthropic": History.from_anthropic}[provider]
    assert "C D Q" == left(4, read(turns, step=0), Q)


# Rounds.


def test_the_oldest_rounds_go() -> None:
    """When the last exchange alone is too big its question stays, and its newest rounds."""
    task = [*talk("user TASK"), *loop(4)]
    kept = [left(words, exact(task)) for words in (9, 8, 7, 5, 3)]
    last = ["TASK" + " LOOK FOUND" * rounds for rounds in (4, 3, 3, 2, 1)]
    assert last == kept
    with pytest.raises(BudgetError):
        left(2, exact(task))


def test_rounds_go_after_exchanges() -> None:
    """First the older exchanges, then the rounds of the last one."""
    task = [*CHAT, *talk("user TASK"), *loop(2)]
    assert "TASK LOOK FOUND LOOK FOUND" == left(6, exact(task))
    assert "TASK LOOK FOUND" == left(4, exact(task))


def test_an_open_round_stays() -> None:
    """A run that waits for its tools keeps the round that waits."""
    task = [*talk("user TASK"), *loop(2), *talk("call z LAST")]
    assert "TASK LAST" == left(3, exact(task))


def test_a_round_that_is_answered_behind_the_history() -> None:
    """The round stays whose results are turns behind the history."""
    task = [*talk("user TASK"), *loop(2), *talk("call z LAST")]
    assert "TASK LAST NEW" == left(4, exact(task), ToolMessage("z", "NEW"))


def test_a_long_agent_loop() -> None:
    """One question and 400 calls: any budget keeps the question and the newest rounds, paired."""
    task = [*talk("user TASK"), *loop(400)]
    rendered = fit(200, History(task))
    roles = [message.role for message in rendered.messages]
    rounds = (len(roles) - 1) // 2
    ids = [block.id for message in rendered.messages[1::2] for block in message.content]  # type: ignore[union-attr]
    assert ["user", *["assistant", "tool"] * rounds] == roles
    assert [f"c{number}" for number in range(400 - rounds, 400)] == ids
    assert 80 <= rounds <= 99


def test_a_long_agent_loop_for_a_target() -> None:
    """What is left of it is a request that a provider takes."""
    task = [*talk("user TASK"), *loop(400)]
    sent = fit(100, History(task), provider="anthropic").payload()
    assert ["user", "assistant", "user"] == [m["role"] for m in sent["messages"][:3]]


# Steps.


def turns(count: int) -> list[dict[str, Any]]:
    """Return so many exchanges of two words each, in which every question has a word of its own."""
    return talk(*(said for _ in range(count) for said in ("user ASK", "assistant TELL")))


def exchanges(rendered: Rendered) -> int:
    """Return how many exchanges of a history are left."""
    return capitals(rendered.messages).split().count("ASK")


def test_the_cut_moves_by_steps() -> None:
    """What is cut is at least a multiple of the step, from the history's own beginning."""
    history = History(turns(12), step=800)
    kept = [exchanges(fit(words, history, Q)) for words in range(26, 0, -1)]
    # Four exchanges, of 200 tokens and their frames, are the first that reach it.
    assert {12, 8, 4, 0} == {*kept}
    assert sorted(kept, reverse=True) == kept


@pytest.mark.parametrize(
    ("exchange", "budget", "expected"),
    [(100, 8_000, 1_000), (300, 8_000, 2_000), (700, 8_000, 2_000), (3_000, 8_000, 2_000)],
)
def test_the_default_step(exchange: int, budget: int, expected: int) -> None:
    """It is an eighth of the budget where a cache serves 80 % with it, else a fourth."""
    chat = [
        {"role": role, "content": "w " * (size - 4)}
        for _ in range(2 + 9_000 // exchange)
        for role, size in (("user", 10), ("assistant", exchange - 10))
    ]

    def cut(step: int | None) -> int:
        history = History(chat, step=step)
        prompt = timeline_of(history, Q)
        return len(render(prompt, budget=budget, counter=lambda text: len(text.split())).messages)

    assert cut(None) == cut(expected)


def test_the_default_step_of_rounds_of_very_different_sizes() -> None:
    """The mean of the rounds counts: most are small here, but half of the tokens are in two."""
    tokens = [100, 100, 100, 100, 1_200, 100, 100, 100, 100, 1_200]
    before = [0, *accumulate(tokens)]
    rounds = [*range(10)]
    assert 1_000 == default_step(before[:5], rounds[:5], 8_000, 8_000)
    assert 2_000 == default_step(before, rounds, 8_000, 8_000)


@given(st.lists(st.integers(1, 40), min_size=5, max_size=60), st.integers(100, 900))
@examples(30)
def test_the_default_step_is_chosen_once(sizes: list[int], budget: int) -> None:
    """While a conversation grows, the step never changes once something was cut."""
    seen: list[int] = []
    for stop in range(1, len(sizes) + 1):
        rounds = [2 * index + 1 for index in range(stop)]
        tokens = [count for size in sizes[:stop] for count in (5, size)]
        if sum(tokens) > budget - 20:
            seen.append(default_step([0, *accumulate(tokens)], rounds, budget, budget - 20))
    assert len({*seen}) <= 1


def test_growing_a_conversation() -> None:
    """As a conversation grows its cut stays for many turns, and then moves by a step."""
    kept = [exchanges(fit(20, History(turns(count)), Q)) for count in range(1, 40)]
    gone = [count - left for count, left in enumerate(kept, 1)]
    assert sorted(gone) == gone
    assert len({*gone}) <= 40 * 200 // 250


def test_what_stands_beside_it_moves_it_by_steps() -> None:
    """A clock of varying length moves the cut by whole steps only."""
    history = History(turns(12), step=800)
    clocks = [Grounding("clock", "TICK " * ticks) for ticks in range(20)]
    kept = {exchanges(fit(20, history, clock, Q)) for clock in clocks}
    assert kept <= {12, 8, 4, 0}


def test_the_prefix_stays() -> None:
    """While the cut stands, what is sent begins with what was sent before."""
    one, two = [fit(20, System("S"), History(turns(count)), Q).messages for count in (14, 15)]
    assert one[:-1] == two[: len(one) - 1]


def test_one_oversize_exchange() -> None:
    """An exchange that alone is too big goes with all before it, never leaving a hole."""
    chat = talk("user A", "assistant B", "user X X X X X X", "user Y", "assistant C", "user D")
    assert "D Q" == left(4, exact(chat), Q)


def test_a_history_comes_back() -> None:
    """When something bigger than it had to go, too, its cut moves back."""
    parts = [exact(CHAT), Developer("X X X X X X X X", priority=1), Q]
    assert ["A B C D E F Q", "C D E F Q"] == [left(words, *parts) for words in (7, 6)]


def test_what_is_below_a_cut_history() -> None:
    """Nothing is put into the room that a cut in steps leaves; without a step, what fits is."""
    low, large = Developer("L", priority=-1), Developer("X X X X X X X X", priority=1)
    parts = [low, exact(CHAT), large, Q]
    assert ["L A B C D E F Q", "L C D E F Q"] == [left(words, *parts) for words in (8, 6)]
    parts[1] = History(CHAT, step=1)
    assert ["L A B C D E F Q", "C D E F Q"] == [left(words, *parts) for words in (8, 6)]


# Beside other things.


def reasoning_lost(rendered: Rendered) -> int:
    """Return how often reasoning was lost."""
    return [hint.what for hint in rendered.hints].count("reasoning")


def test_what_was_cut_is_told() -> None:
    """A trimmed history is told once, with the tokens of all that went."""
    [gone] = fit(3, exact(CHAT), Q).dropped
    assert (400, 0) == (gone.tokens // 100 * 100, gone.priority)


def test_request_only_content_is_no_question() -> None:
    """An ephemeral behind a history is no user turn: the last exchange stays."""
    assert "E F X" == left(3, exact(CHAT), Ephemeral("X"))


def test_bound_reasoning_goes_when_something_is_missing() -> None:
    """Where reasoning is bound to what stood before it, it goes once fitting removed something."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    turns = [
        *talk("user A", "assistant B", "user C"),
        {"role": "assistant", "content": [thought, {"type": "text", "text": "D"}]},
        *talk("user E"),
    ]
    history = History.from_anthropic(turns, step=0)
    whole, trimmed = [fit(words, history, model="claude-opus-5-5") for words in (5, 3)]
    assert (0, 1) == (reasoning_lost(whole), reasoning_lost(trimmed))


def test_bound_reasoning_goes_when_a_limit_cuts() -> None:
    """So it goes when nothing but a limit took something away, with room for much more."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    answer = {"role": "assistant", "content": [thought, {"type": "text", "text": "D"}]}
    history = History.from_anthropic([*talk("user C"), answer], step=0)
    limits = [Developer(Limit(tokens, "X X X")) for tokens in (300, 200)]
    whole, cut = [fit(20, limit, history, Q, model="claude-opus-5-5") for limit in limits]
    assert ("X X X C D Q", "X X C D Q") == (capitals(whole.messages), capitals(cut.messages))
    assert (0, 1) == (reasoning_lost(whole), reasoning_lost(cut))


def test_reasoning_of_the_open_loop() -> None:
    """Reasoning of the open tool loop stays if the cut was where it is when that was written."""
    thought = Reasoning("Hm.", signature="c2ln", origin="anthropic").block
    use = {"type": "tool_use", "id": "c", "name": "t", "input": {}}
    calls = Message("assistant", [thought.to_dict(), use])
    history = [*talk("user A", "assistant B", "user C"), calls, *talk("result c D")]
    whole, trimmed = [fit(n, exact(history), model="claude-opus-5-5") for n in (4, 2)]
    assert (0, 0) == (reasoning_lost(whole), reasoning_lost(trimmed))


def test_a_prompt_that_was_read() -> None:
    """A prompt that was read from a payload is a history, and is trimmed like one."""
    written = render(timeline_of(Section("s", "S"), exact(CHAT), Q), provider="openai")
    prompt = read_payload(written.payload(), provider="openai")
    assert "S Q" == capitals(render(prompt, budget=290, counter=hundreds).messages)


def test_a_follow_up_to_an_agent_loop() -> None:
    """The last exchange loses rounds before it goes whole, whoever asks behind it."""
    did = talk("user TASK") + loop(4) + talk("assistant DONE")
    kept = [left(words, exact(did), Q) for words in (6, 3, 2)]
    assert ["TASK LOOK FOUND DONE Q", "TASK DONE Q", "Q"] == kept


def test_a_loop_behind_a_written_task() -> None:
    """A history behind the last user turn loses its oldest rounds, and never its newest."""
    assert "TASK LOOK FOUND" == left(4, User("TASK"), exact(loop(4)))
    with pytest.raises(BudgetError):
        fit(2, User("TASK"), exact(loop(4)))


@pytest.mark.parametrize("system", [False, True])
def test_a_leading_summary_stays(system: bool) -> None:
    """No budget drops the summary of a transcript; the exchanges behind it go."""
    leading = [Message("system", "Be kind.")] if system else []
    transcript = Transcript([*leading, "old", *CHAT])
    transcript.compact("SUM", keep=len(CHAT))
    whole = render(timeline_of(exact(transcript), Q), counter=len, hints=False).tokens.total
    for budget in range(whole, 0, -1):
        try:
            fitted = render(
                timeline_of(exact(transcript), Q), counter=len, budget=budget, hints=False
            )
        except BudgetError:
            break
        texts = [message.text for message in fitted.messages if message.role == "user"]
        assert texts[0].startswith("<summary>\nSUM")
    assert texts == ["<summary>\nSUM\n</summary>\n\nQ"]


def test_two_events_belong_to_the_question_behind_them() -> None:
    """Events directly before a question stay and go with its exchange, both of two."""
    said = [
        {"role": "user", "content": "One. " + "w " * 9},
        {"role": "assistant", "content": "w " * 9},
        {"role": "event", "content": "e1"},
        {"role": "event", "content": "e2"},
        {"role": "user", "content": "Two."},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "Three."},
    ]
    prompt = timeline_of(exact(said))
    sent = render(prompt, budget=40, counter=lambda text: len(text.split())).messages
    assert ["<event>\ne1\n</event>", "<event>\ne2\n</event>", "Two."] == [
        getattr(block, "text", "") for block in sent[0].content
    ]


NOTE = re.compile(
    r"([\d,]+) tokens? free: the history is cut in steps of ([\d,]+) tokens?; "
    r"step=0 keeps (\d+) more exchanges?"
)


@pytest.mark.parametrize("budget", range(300, 700, 29))
def test_what_a_step_costs(budget: int) -> None:
    """``dropped`` and ``tokens`` say what stays free because of a step, and what would fit."""
    chat = talk(
        *(f"{role} {'w ' * size}" for size in range(1, 40) for role in ("user", "assistant"))
    )

    def sent(step: int) -> Rendered:
        prompt = timeline_of(History(chat, step=step), Q)
        return render(prompt, budget=budget, counter=lambda text: len(text.split()))

    stepped, exact = sent(100), sent(0)
    assert "" == exact.dropped[0].note
    more = (len(exact.messages) - len(stepped.messages)) // 2
    note = stepped.dropped[0].note
    assert bool(more) == bool(note)
    if more:
        match = NOTE.fullmatch(note)
        assert match
        assert (str(budget - stepped.tokens.total), "100", str(more)) == match.groups()
        assert str(stepped.dropped[0]).endswith(f"({note})")
        assert str(stepped.tokens).endswith(f"\nhistory: {note}")
