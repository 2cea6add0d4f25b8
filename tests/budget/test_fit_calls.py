"""What a budget leaves of calls and their results, wherever they stand."""

from collections.abc import Callable

import pytest

from promptdsl import *
from tests.budget.cases import capitals, exactly, fit, left, talk
from tests.renders import timeline_of


def asks() -> ToolUse:
    """Return a call that costs nothing."""
    return ToolUse("look", {}, id="1")


PAIRS: dict[str, Callable[[], tuple[Node, ...]]] = {
    "a call with a number": lambda: (
        Assistant(Group(asks(), "A", priority=0)),
        ToolMessage("1", "B"),
    ),
    "a result with a number": lambda: (
        Assistant(asks()),
        User(Group(ToolResult("1", "A B"), priority=0)),
    ),
    "forms in a turn": lambda: (
        Assistant(FirstFit(Fragment("A", asks()), "short", priority=0)),
        ToolMessage("1", "B"),
    ),
    "forms of a turn": lambda: (
        FirstFit(Assistant("A", asks()), Assistant("short")),
        ToolMessage("1", "B"),
    ),
    "a group behind the question": lambda: (
        User("x"),
        Group(Assistant("A", asks()), priority=0),
        ToolMessage("1", "B"),
    ),
    "results in forms": lambda: (
        Assistant(asks()),
        User(FirstFit(Fragment("x", ToolResult("1", "A B")), "short", priority=0)),
    ),
    "a recorded call": lambda: (
        History(talk("user X", "call 1 A")),
        ToolMessage("1", "B", priority=0),
    ),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_a_call_never_goes_without_its_result(kind: str) -> None:
    """Where one of a pair has to stay, what holds the other does not go either."""
    parts = [*PAIRS[kind](), User("Q")]
    with pytest.raises(BudgetError):
        fit(2, *parts)
    assert "A B Q" == left(4, *parts).replace("X ", "")


def test_forms_with_the_same_call_step_down() -> None:
    """A form that makes the same calls takes the place of the one before."""
    forms = FirstFit(Fragment("A", asks()), asks())
    assert "B Q" == left(2, Assistant(forms), ToolMessage("1", "B"), User("Q"))
    turns = FirstFit(Assistant("A", asks()), Assistant(asks()))
    assert "B Q" == left(2, turns, ToolMessage("1", "B"), User("Q"))


def call(word: str) -> ToolUse:
    """Return a call of one word."""
    return ToolUse("look", {"q": word}, id="1")


FORMS: dict[str, tuple[Callable[[], tuple[Node, ...]], dict[int, str]]] = {
    "the call is lower": (
        lambda: (
            FirstFit(Assistant("L L", call("B")), Assistant(call("M")), priority=3),
            ToolMessage("1", "C", priority=4),
        ),
        {512: "L L B C Q", 511: "M C Q", 312: "M C Q", 311: "Q"},
    ),
    "the result is lower": (
        lambda: (
            FirstFit(Assistant("L L", call("B")), Assistant(call("M")), priority=4),
            ToolMessage("1", "C", priority=3),
        ),
        {512: "L L B C Q", 511: "M C Q", 312: "M C Q", 311: "Q"},
    ),
    "forms of a result": (
        lambda: (
            Assistant(call("B"), priority=1),
            FirstFit(ToolMessage("1", "R R R"), ToolMessage("1", "S"), priority=2),
        ),
        {512: "B R R R Q", 511: "B S Q", 312: "B S Q", 311: "Q"},
    ),
    "forms of both": (
        lambda: (
            FirstFit(Assistant("L L", call("B")), Assistant(call("M")), priority=3),
            FirstFit(ToolMessage("1", "R R R"), ToolMessage("1", "S"), priority=4),
        ),
        {712: "L L B R R R Q", 711: "M R R R Q", 511: "M S Q", 312: "M S Q", 311: "Q"},
    ),
}


@pytest.mark.parametrize(("parts", "expected"), FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("more", [(), (Developer("X " * 20, priority=9),)])
def test_forms_of_a_pair_step_down_before_it_goes(
    parts: Callable[[], tuple[Node, ...]], expected: dict[int, str], more: tuple[Node, ...]
) -> None:
    """A call and its result go together when their last forms are too big, too."""
    found = {tokens: exactly(tokens, *parts(), *more, User("Q")) for tokens in expected}
    assert expected == found


def test_what_comes_back_beside_a_pair() -> None:
    """Forms of a pair that is gone take no room from what comes back."""
    pair = FORMS["the call is lower"][0]()
    parts = [Developer("A A", priority=1), *pair, Developer("X " * 20, priority=9), User("Q")]
    assert ["A A Q", "Q"] == [exactly(309, *parts), exactly(308, *parts)]


def test_a_form_may_answer_itself() -> None:
    """Forms that leave the same call open are alike, whatever is called and answered in them."""
    done = Fragment(
        Assistant(ToolUse("look", {}, id="0")), ToolMessage("0", "A"), Assistant(asks())
    )
    forms = FirstFit(done, Assistant(asks()))
    assert "B Q" == left(2, forms, ToolMessage("1", "B"), User("Q"))


RESULTS: dict[str, Callable[[str, str], Node]] = {
    "results in a turn": lambda one, two: User(
        FirstFit(ToolResult("1", one), ToolResult("1", two))
    ),
    "results beside words": lambda one, two: User(
        "x", FirstFit(ToolResult("1", one), ToolResult("1", two))
    ),
    "turns with results": lambda one, two: FirstFit(
        User(ToolResult("1", one)), User(ToolResult("1", two))
    ),
    "turns of a tool": lambda one, two: FirstFit(ToolMessage("1", one), ToolMessage("1", two)),
}


@pytest.mark.parametrize("kind", RESULTS)
def test_forms_of_a_result(kind: str) -> None:
    """A result is a form, also one without a word in it, and the first is sent without a budget."""
    prompt = [Assistant(asks()), RESULTS[kind]("A A", "B"), User("Q")]
    empty = [Assistant(asks()), RESULTS[kind]("A A", ""), User("Q")]
    assert "A A Q" == capitals(render(timeline_of(*prompt)).messages)
    assert ["A A Q", "B Q", "Q"] == [left(3, *prompt), left(2, *prompt), left(1, *empty)]


def test_a_form_without_the_result() -> None:
    """A form that leaves out the result is passed over, even if it would fit."""
    forms = FirstFit(ToolMessage("1", "L L L"), User("S S"), ToolMessage("1", "M"))
    assert "M Q" == left(3, Assistant(asks()), forms, User("Q"))


SMALLEST_WITHOUT: dict[str, Callable[[Node, Node, Node], Node]] = {
    "forms of turns": lambda one, two, three: FirstFit(User(one), User(two), User(three)),
    "forms in a turn": lambda one, two, three: User(FirstFit(one, two, three)),
}


@pytest.mark.parametrize("kind", SMALLEST_WITHOUT)
def test_a_form_behind_a_small_one_without_a_result(kind: str) -> None:
    """A form with all results is sent although a smaller one before it leaves one out."""
    calls = Assistant(ToolUse("look", {}, id="1"), ToolUse("look", {}, id="2"))
    answers = SMALLEST_WITHOUT[kind](
        Fragment(ToolResult("1", "L L L"), ToolResult("2", "M")),
        Fragment(ToolResult("2", "S"), Text("")),
        Fragment(ToolResult("2", "M"), ToolResult("1", "N")),
    )
    assert ["L L L M Q", "M N Q"] == [left(n, calls, answers, User("Q")) for n in (5, 4)]


def test_a_form_may_be_a_history() -> None:
    """A recorded conversation is a form, and goes whole for the next one."""
    forms = FirstFit(History(talk("user A", "assistant B")), User("S"))
    assert ["A B Q", "S Q"] == [left(3, forms, User("Q")), left(2, forms, User("Q"))]


def test_an_id_that_comes_back_in_a_history() -> None:
    """What a history calls and answers itself is no answer to what stands before it."""
    filled = {"transformation": {"tool_pairing": "fill"}}
    chat = History(talk("user B", "call 1 C", "result 1 D"))
    assert "Q" == left(1, Assistant("A", asks(), priority=1), chat, User("Q"), **filled)


def test_an_error_in_a_part_that_has_room() -> None:
    """A part with an error is not dropped while there is room for it."""
    with pytest.raises(PairingError):
        left(9, User("A"), Assistant("B"), User(ToolResult("9", "X"), priority=1), User("Q"))


def test_a_result_of_nothing() -> None:
    """A turn goes with the call it answers, whatever else it answers that was never asked."""
    pruned: dict[str, object] = {"transformation": {"tool_pairing": "prune"}}
    results = User(ToolResult("9", "X"), ToolResult("1", "B"), priority=1)
    parts = [Assistant(call("A")), results, User("Q")]
    assert "A B Q" == left(3, *parts, **pruned)
    with pytest.raises(BudgetError):
        left(2, *parts, **pruned)


def test_a_form_may_be_recorded() -> None:
    """What is called and answered in a recorded form is open nowhere else."""
    chat = talk("user X", "call 0 A", "result 0 B")
    forms = FirstFit(Fragment(History(chat), Assistant(asks())), Assistant(asks()))
    assert "C Q" == left(2, forms, ToolMessage("1", "C"), User("Q"))


def test_a_history_may_begin_with_results() -> None:
    """They stay with the call that stands before it, and its exchanges go."""
    history = History(talk("result 1 B", "assistant C", "user D", "assistant E"), step=0)
    written = User("A"), Assistant(asks())
    assert "A B Q" == left(3, *written, history, User("Q"))
    recorded = History(talk("user A", "call 1 X"), step=0)
    assert "A X B Q" == left(4, recorded, history, User("Q"))


def test_a_question_before_all_is_answered() -> None:
    """The last question stays, also where it came before the result of a call."""
    history = History(talk("user A", "call 1 B", "user C", "assistant D", "assistant E"), step=0)
    filled = {"transformation": {"tool_pairing": "fill"}}
    with pytest.raises(BudgetError):
        fit(3, history, **filled)
    assert "A B C D E" == left(5, history, **filled)


ANSWERS: dict[str, Callable[[Node], Node]] = {
    "turn": lambda part: ToolMessage("1", part),
    "part of a turn": lambda part: User(ToolResult("1", part)),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_without_words(kind: str) -> None:
    """When all in an answer goes it is still the answer, and costs what it did."""
    answer = ANSWERS[kind](Section("s", "A", priority=1))
    found = fit(1, Assistant(asks()), answer, User("Q"))
    assert ["tool", [100]] == [found.messages[1].role, [one.tokens for one in found.dropped]]


def test_an_answer_written_late_is_one() -> None:
    """A result stays a result when what is in it is put in place."""
    with pytest.raises(PairingError):
        render(timeline_of(User("Q"), ToolMessage("1", Lazy(lambda _: "late"))))


# What is not sent.


def thoughts(origin: str, signature: str | None) -> tuple[Message, ...]:
    """Return six exchanges whose answers were thought about at length."""
    thought = ReasoningBlock("THOUGHT " * 5, signature, None, origin)
    answers = [Message("assistant", (thought, TextBlock("ANSWER"))) for _ in range(6)]
    return tuple(one for said in answers for one in (Message("user", (TextBlock("ASK"),)), said))


def test_reasoning_that_is_sent_takes_room() -> None:
    """What a target takes back counts, with what it belongs to."""
    history = History(thoughts("gemini", "c2ln"), step=0)
    found = fit(15, history, User("Q"), provider="gemini")
    assert [2800] == [one.tokens // 100 * 100 for one in found.dropped]


def test_bound_reasoning_goes_at_once() -> None:
    """Where reasoning goes with the first thing dropped, nothing else has to go."""
    assert render(User("Q"), provider="anthropic").facts.binds_reasoning
    history = History(thoughts("anthropic", "signed"), step=0)
    found = fit(40, history, User("Q"), provider="anthropic")
    assert "ASK ANSWER " * 5 + "Q" == capitals(found.messages).replace("THOUGHT ", "")


def test_turns_that_merge_may_fit() -> None:
    """What only fits because neighbours are sent as one turn is sent whole."""
    prompt = timeline_of(*[User("a question of some length " * 4, priority=1) for _ in range(9)])
    whole = render(prompt, counter=len)
    found = render(prompt, counter=len, budget=whole.tokens.total)
    assert [whole.messages, ()] == [found.messages, found.dropped]


def test_turns_of_long_words_that_merge_may_fit() -> None:
    """That holds where a token is many characters, which is too long at first sight."""
    prompt = timeline_of(*[User("x" * 30, priority=1) for _ in range(30)])
    count = {"counter": lambda text: len(text.split())}
    whole = render(prompt, **count)
    found = render(prompt, **count, budget=whole.tokens.total)
    assert [whole.messages, ()] == [found.messages, found.dropped]


def test_notes_are_fitted() -> None:
    """What people read is fitted like everything else."""
    note = Note("NOTE", Section("s", "MORE", priority=1))
    assert "A NOTE Q" == left(3, System("A"), note, User("Q"), audience="people")


def test_a_part_in_two_places() -> None:
    """A part that stands in several places costs nothing less than nothing in any."""
    part = Section("p", "A", priority=1)
    held = System(Section("one", part), Section("two", part))
    found = render(timeline_of(held, User("Q")), counter=len, budget=25)
    assert [one.tokens > 0 for one in found.dropped] == [True for _ in found.dropped]
