"""What goes first, and what goes together: section 1 of the rules on budgets, row by row."""

from collections.abc import Callable

import pytest

from promptdsl import *
from tests.budget.cases import capitals, fit, left, talk, too_big
from tests.errors import this_line
from tests.internals import FirstFitNode, LimitNode, walk
from tests.renders import stage, timeline_of

Q = User("Q")


def section(text: str, priority: float | None = None) -> Section:
    """Return a section that is named like its text."""
    return Section(text.lower().replace(" ", "_"), text, priority=priority)


def a_low() -> Developer:
    """Return a turn that goes first."""
    return Developer("LOW", priority=-1)


# Bigger number, kept longer.


KINDS: dict[str, Callable[[str, float | None], Node]] = {
    "system": lambda text, p: System(text, priority=p),
    "developer": lambda text, p: Developer(text, priority=p),
    "user": lambda text, p: User(text, priority=p),
    "assistant": lambda text, p: Assistant(text, priority=p),
    "event": lambda text, p: Event(text, priority=p),
    "ephemeral": lambda text, p: Ephemeral(text, priority=p),
    "grounding": lambda text, p: Grounding(f"g_{text.lower()}", text, priority=p),
    "section": section,
    "section of a system": lambda text, p: System(section(text, p)),
    "section of a user": lambda text, p: User(section(text, p)),
    "section of a grounding": lambda text, p: Grounding(f"g_{text.lower()}", section(text, p)),
    "group": lambda text, p: Group(User(text), priority=p),
    "group in a turn": lambda text, p: User(Group(Text(text), priority=p)),
    "forms": lambda text, p: FirstFit(User(text), priority=p),
    "forms in a turn": lambda text, p: Developer(FirstFit(text, priority=p)),
    "history": lambda text, p: History(talk(f"user {text}"), priority=p or 0),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_a_bigger_number_is_kept_longer(kind: str) -> None:
    """Whatever has a number: of siblings the lowest goes first, and all of it goes in time."""
    make = KINDS[kind]
    parts = [make("ONE", 1), make("MINUS", -1), make("TWO", 2.5), Q]
    kept = [left(words, *parts) for words in (4, 3, 2, 1)]
    assert ["ONE MINUS TWO Q", "ONE TWO Q", "TWO Q", "Q"] == kept


@every_kind
def test_all_of_it_stays_where_it_fits(kind: str) -> None:
    """A budget that is large enough, and none at all, change nothing."""
    parts = [KINDS[kind]("ONE", 1), Q]
    ample = fit(50, *parts)
    assert (render(timeline_of(*parts)).messages, ()) == (ample.messages, ample.dropped)


@pytest.mark.parametrize("kind", ["system", "developer", "user", "section", "grounding"])
def test_without_a_number_it_stays(kind: str) -> None:
    """What has no number is required, and a budget too small for it is refused."""
    parts = [KINDS[kind]("A", None), section("B", 9), Q]
    assert "A Q" == left(2, *parts)
    with pytest.raises(BudgetError):
        left(1, *parts)


# The scope is local.


def test_the_scope_is_local() -> None:
    """What stands in a part goes with the number of the part, however high its own is."""
    low = Section("low", "A", section("HIGH", 100), priority=1)
    parts = [System(low, section("OTHER", 2), "S"), Q]
    kept = [left(words, *parts) for words in (5, 4, 3, 2)]
    assert ["A HIGH OTHER S Q", "A OTHER S Q", "OTHER S Q", "S Q"] == kept


def test_its_own_children_go_first() -> None:
    """Of the part that is next, what may go in it goes before the rest of it, lowest first."""
    turn = User("X", section("B", 7), section("A", 5), priority=1)
    kept = [left(words, turn, Developer("D", priority=3), Q) for words in (5, 4, 3, 2, 1)]
    assert ["X B A D Q", "X B D Q", "X D Q", "D Q", "Q"] == kept


@component
def wrapped(part: Node) -> System:
    """Return a system turn that a component wrote."""
    return System(part)


AROUND: dict[str, Callable[[Node], Node]] = {
    "turn": System,
    "section": lambda part: User(Section("s", part)),
    "section of a section": lambda part: System(Section("s", Section("t", part))),
    "loose section": lambda part: Section("s", part),
    "fragment": lambda part: Fragment(System(part)),
    "component": wrapped,
    "grounding": lambda part: Grounding("g", part),
}


@pytest.mark.parametrize("around", AROUND)
def test_what_has_no_number_lends(around: str) -> None:
    """Parts without a number lend what stands in them to what they stand in."""
    parts = [
        Developer("A", priority=1),
        AROUND[around](section("B", 2)),
        Developer("C", priority=3),
    ]
    kept = [sorted(left(words, *parts, Q).split()) for words in (3, 2, 1)]
    assert [["B", "C", "Q"], ["C", "Q"], ["Q"]] == kept


def test_a_group_lends_nothing() -> None:
    """A group goes whole, also when a part in it has a higher number than its siblings."""
    held = Group(section("A", 1), section("B", 9))
    assert "C Q" == left(3, System(held, section("C", 5)), Q)


# Ties.


def test_equal_numbers() -> None:
    """Of equals the one written first goes first."""
    parts = [section("A", 1), section("B", 1), section("C", 1), Q]
    assert ["B C Q", "C Q"] == [left(words, *parts) for words in (3, 2)]


def test_an_authors_mark_protects() -> None:
    """Of equals those that a cache mark covers go last."""
    parts = [
        Developer("A", priority=1),
        Developer("B", priority=1, cache=True),
        Developer("C", priority=1),
        Q,
    ]
    kept = [left(words, *parts) for words in (3, 2, 1)]
    assert ["A B Q", "B Q", "Q"] == kept


def test_a_breakpoint_protects() -> None:
    """So does a breakpoint, also between the sections of a turn."""
    turn = User(section("A", 1), CacheBreakpoint(), section("B", 1), "C")
    assert "A C" == left(2, turn)


@pytest.mark.parametrize(
    "group",
    [
        Group(Section("s", "A", cache=True), priority=1),
        Group(User("A"), CacheBreakpoint(), priority=1),
    ],
)
def test_a_mark_in_a_group_protects(group: Group) -> None:
    """So does a mark or a breakpoint inside a group."""
    assert "A Q" == left(2, group, Assistant("B", priority=1), Q)


def test_a_mark_protects_parts_of_a_part() -> None:
    """It covers a part inside a part that may go itself, too."""
    marked = Section("a", "A", priority=1, cache=True)
    outer = Section("r", "R", marked, section("B", 1), priority=9)
    assert ["R A Q", "R Q"] == [left(words, System("x", outer), Q) for words in (3, 2)]


def test_a_mark_protects_among_equals_only() -> None:
    """A lower number goes first, covered or not."""
    parts = [Developer("A", priority=1, cache=True), Developer("B", priority=2), Q]
    assert "B Q" == left(2, *parts)


def test_automatic_marks_change_nothing() -> None:
    """Marks that are placed by themselves never change what is kept."""
    parts = [System("S"), User("A", priority=1), Assistant("B", priority=1), Q]
    plain = left(3, *parts, provider="anthropic")
    assert "S B Q" == plain == left(3, *parts, provider="anthropic", cache="auto")


# Whole units.


def test_a_group_goes_whole() -> None:
    """A group without a number has the lowest anywhere in it, and goes whole."""
    held = Group(User("A"), Assistant("B", section("C", 2)))
    assert [left(words, held, section("D", 3), Q) for words in (4, 5)] == ["D Q", "D A B C Q"]


def test_a_group_without_any_number() -> None:
    """A group in which nothing has a number is required."""
    with pytest.raises(BudgetError):
        left(2, Group(User("A"), Assistant("B")), Q)


def test_a_call_goes_with_its_result() -> None:
    """They go at the lower number."""
    pair = [Assistant(ToolUse("t", {"q": "A"}, id="c"), priority=9)]
    pair += [ToolMessage("c", "B", priority=1)]
    assert "D Q" == left(3, *pair, Developer("D", priority=2), Q)
    assert "A B Q" == left(3, *pair, Developer("D", priority=0), Q)


@pytest.mark.parametrize(("call", "result"), [(1, None), (None, 1)])
def test_a_call_with_a_required_result(call: float | None, result: float | None) -> None:
    """Both stay when either has no number."""
    pair = [Assistant("T", ToolUse("t", {"q": "A"}, id="c"), priority=call)]
    pair += [ToolMessage("c", "B", priority=result)]
    assert "T A B Q" == left(4, *pair, Developer("D", priority=2), Q)


def test_results_in_a_user_turn() -> None:
    """A user turn with a result goes with the call it answers."""
    pair = [Assistant(ToolUse("t", {"q": "A"}, id="c"), priority=2)]
    pair += [User(ToolResult("c", "B"), priority=3)]
    assert "D Q" == left(3, *pair, Developer("D", priority=4), Q)


def test_a_batch_is_one_unit() -> None:
    """All calls of a turn and all their results go together."""
    batch = [
        Assistant(ToolUse("t", {"q": "A"}, id="a"), ToolUse("t", {"q": "B"}, id="b"), priority=5),
        ToolMessage("b", "C", priority=6),
        ToolMessage("a", "D", priority=7),
    ]
    assert "E Q" == left(5, *batch, Developer("E", priority=8), Q)


def test_ids_that_come_back() -> None:
    """Calls pair by turn: an id that comes back later is another call."""
    first = [Assistant(ToolUse("t", {"q": "A"}, id="c"), priority=2)]
    first += [ToolMessage("c", "B", priority=2)]
    second = [Assistant(ToolUse("t", {"q": "C"}, id="c"), priority=1)]
    second += [ToolMessage("c", "D", priority=1)]
    assert "A B Q" == left(3, *first, *second, Q)


def test_half_a_pair_in_a_group() -> None:
    """A group that holds a call goes with the result beside it."""
    held = Group(User("A"), Assistant(ToolUse("t", {"q": "B"}, id="c")), priority=3)
    parts = [held, ToolMessage("c", "C", priority=3), Developer("D", priority=4), Q]
    assert "D Q" == left(4, *parts)


def test_an_emptied_section_goes_with_its_title() -> None:
    """When the last part of a section goes, so does its title."""
    inner = [section("A", 1), section("B", 2)]
    rules = Section("rules", *inner, title="RULES")
    kept = [left(words, System("S", rules), Q) for words in (5, 4, 3, 2)]
    assert ["S RULES A B Q", "S RULES B Q", "S Q", "S Q"] == kept


def test_an_emptied_turn_makes_no_message() -> None:
    """A turn and a grounding whose last part goes are no message any more."""
    parts = [Grounding("g", section("A", 1), title="account"), User(section("B", 2)), Q]
    assert ["user"] == [message.role for message in fit(1, *parts).messages]


def test_an_empty_answer_stays() -> None:
    """A result of which all goes is still the result of its call."""
    pair = [Assistant(ToolUse("t", {}, id="c")), ToolMessage("c", section("A", 1))]
    roles = [message.role for message in fit(1, *pair, Q).messages]
    assert ["assistant", "tool", "user"] == roles


# The last question.


def test_the_last_question_with_a_number() -> None:
    """The last user turn goes when it has a number itself, or its group has."""
    parts = [User("A"), Assistant("B")]
    assert "A B" == left(2, *parts, User("C", priority=1))
    assert "A B" == left(2, *parts, Group(User("C"), priority=1))


def test_the_last_question_in_a_group_without_a_number() -> None:
    """It stays when only a part of its group has a number."""
    group = Group(User("C"), Assistant("D", priority=1))
    assert "C D" == left(2, User("A", priority=2), Assistant("B", priority=2), group)
    with pytest.raises(BudgetError):
        left(1, User("A", priority=2), Assistant("B", priority=2), group)


def test_after_the_last_question() -> None:
    """What is said after it stays, but for what has a number."""
    parts = [Q, Assistant("A"), Developer("B", priority=1), Event(UserAction("left"), "C")]
    assert "Q A C" == left(3, *parts)


def test_parts_of_the_last_question() -> None:
    """A section of the last user turn goes by its own number."""
    assert "Q" == left(1, User("Q", section("A", 1)))


# Cheaper forms.


def test_forms_step_down() -> None:
    """A part steps down form by form before it goes."""
    forms = FirstFit("A A A A", "B B", "C", priority=1)
    kept = [left(words, User(forms, "X")) for words in (5, 4, 3, 2, 1)]
    assert ["A A A A X", "B B X", "B B X", "C X", "X"] == kept


@pytest.mark.parametrize(
    "forms",
    [
        FirstFit(User(""), User("B")),
        FirstFit(User(Section("s", "")), User("B")),
        FirstFit(History([]), User("B")),
    ],
)
def test_a_form_that_says_nothing(forms: FirstFit) -> None:
    """The first form is sent that says anything, with a budget or without one."""
    whole = render(timeline_of(forms, Q))
    assert ["B Q"] * 3 == [capitals(whole.messages), left(9, forms, Q), left(2, forms, a_low(), Q)]


def test_forms_without_a_number() -> None:
    """They step after everything that has one, and the last form is required."""
    parts = [User(FirstFit("A A A", "B"), section("D", 99), "X")]
    kept = [left(words, *parts) for words in (5, 4, 3, 2)]
    assert ["A A A D X", "A A A X", "B D X", "B X"] == kept
    with pytest.raises(BudgetError):
        left(1, *parts)


def test_a_form_that_is_not_smaller() -> None:
    """A form that is as large as the one before or larger is passed over."""
    parts = [User(FirstFit("A A A", "B B B", "C C C C", "D", priority=1), "X")]
    assert ["D X", "X"] == [left(words, *parts) for words in (3, 1)]


def test_forms_are_whole() -> None:
    """Nothing in a form goes by itself."""
    form = Section("s", "A", section("B", -9))
    parts = [System(FirstFit(form, section("C")), section("D", 5)), Q]
    assert ["A B Q", "C Q"] == [left(words, *parts) for words in (3, 2)]


def test_forms_share_ids() -> None:
    """Two forms may be one section, or one call, worded in two ways."""
    rules = FirstFit(Section("s", "A A A"), Section("s", "B"))
    one, two = [
        Group(Assistant(ToolUse("t", {"q": text}, id="c")), ToolMessage("c", "R"))
        for text in ("L L L", "M")
    ]
    assert "B M R Q" == left(4, System(rules), FirstFit(one, two), Q)


def test_the_first_form_without_a_budget() -> None:
    """Without a budget the first form is sent."""
    tree = timeline_of(User(FirstFit("A A", "B"), "X"))
    assert "A A X" == capitals(render(tree).messages)


def test_nothing_of_a_budget_is_left_in_the_tree() -> None:
    """After fitting no forms and limits are left, whatever the budget."""
    tree = timeline_of(System(FirstFit(section("A"), "B")), Q)
    nodes = [type(node) for node, _ in walk(stage("fit", tree))]
    assert not {FirstFitNode, LimitNode} & {*nodes}


# One part that is too big.


def test_one_oversize_part() -> None:
    """A part that alone is too big goes, and what went before it comes back."""
    parts = [section("A", 1), section("B", 2), section("X X X X X X", 3), Q]
    assert ["A B Q", "B Q"] == [left(words, *parts) for words in (3, 2)]


def test_highest_first() -> None:
    """What comes back is what has the higher number, and then what still fits."""
    parts = [section("A", 1), section("B B", 2), section("C C", 3), section("X X X X X X", 4), Q]
    assert ["A C C Q", "C C Q", "A Q"] == [left(words, *parts) for words in (4, 3, 2)]


def test_a_title_is_paid_again() -> None:
    """What comes back into a section that was empty needs room for the title, too."""
    rules = Section("r", section("A", 1), section("B", 2), title="RULES RULES")
    parts = [System(rules, section("X X X X X X", 3)), Q]
    assert ["RULES RULES B Q", "Q"] == [left(words, *parts) for words in (4, 3)]


# Deep.


DEEPER: dict[str, Callable[[Node], Node]] = {
    "sections": lambda part: Section("s", part, "A", priority=1),
    "groups": Group,
    "groups with a number": lambda part: Group(part, priority=1),
    "forms": lambda part: FirstFit(part, "b"),
}


@pytest.mark.parametrize("kind", DEEPER)
def test_deep(kind: str) -> None:
    """A thousand levels of anything are fitted like one."""
    part: Node = Section("s", "A", priority=1)
    for _ in range(1_000):
        part = DEEPER[kind](part)
    assert left(1, User(part, "Q")).split()[-1] == "Q"


# What is told.


def test_what_was_dropped() -> None:
    """Everything that goes is told: address, tokens, number, reason and line."""
    tone = Section("tone", "A A", priority=3)
    written = this_line() - 1
    [gone] = fit(2, System(Section("rules", "B", tone)), Q).dropped
    told = (gone.path, gone.priority, str(gone.source))
    assert ("rules/tone", 3, f"{__file__}:{written}") == told
    assert 200 <= gone.tokens < 210
    assert gone.what
    assert gone.why


def test_what_was_shrunk() -> None:
    """A part that stepped down is told, with what that saved."""
    [shrunk] = fit(2, User(FirstFit("A A A", "B"), "X")).dropped
    assert 200 == shrunk.tokens


def test_counts_add_up() -> None:
    """The tokens of a prompt are those of its messages, its tools and its form."""
    tokens = fit(9, System(Section("s", "A A"), "B"), Q, provider="openai").tokens
    assert tokens.total == sum(tokens.messages) + tokens.tools + tokens.frame
    assert (200, 100) == (tokens.sections["s"] // 100 * 100, tokens.messages[1] // 100 * 100)


# What is refused.


def test_a_refused_prompt() -> None:
    """The error says the limit, what is needed, and the largest parts with their lines."""
    parts = [System("A A A"), User("Q Q")]
    error = too_big(*parts)
    first = error.largest[0]
    assert 500 <= error.required < 530
    assert (100, 300) == (error.limit, first.tokens // 100 * 100)
    assert f"{__file__}:{this_line() - 5}" == str(first.source)
    assert str(first.source) in str(error)
    assert all(str(number) in str(error) for number in (error.limit, error.required))


def test_the_advice_for_turns() -> None:
    """Where the largest are turns of a conversation the advice is a History."""
    turns = [User("A A A"), Assistant("B B B"), Q]
    assert "History" in str(too_big(*turns))
    assert "History" not in str(too_big(System("A A A A"), Q))
