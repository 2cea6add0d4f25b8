"""What holds of any prompt in any budget, whatever counts its tokens."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from promptdsl import *
from tests.budget.descriptions import (
    K,
    Part,
    assistant,
    built,
    grounding,
    history,
    lengthy,
    numbered,
    timeline,
    user,
    weigh,
    words,
)
from tests.budget.fitted import (
    COUNTERS,
    asked,
    broken,
    cuts,
    dropped_tokens,
    fitted,
    heard,
    in_order,
    least,
    split,
    without,
)
from tests.budget.oracle import least as required
from tests.budget.oracle import leaves, positions, removals, shown, size, starts_of, step_of
from tests.budget.trees import EXCHANGES, Room, histories, room, rooms, trees
from tests.providers.every_target import SERVICES, every_check_of
from tests.renders import short_form
from tests.searching import examples, with_each

FIXED = trees(st.sampled_from([0, 1, 4, 7, 12, 20]))
every_counter = pytest.mark.parametrize("name", COUNTERS)


@st.composite
def kept_of(draw: st.DrawFn) -> tuple[Part, Room, Rendered]:
    """Return a prompt, a budget it fits into without something, and what it comes to."""
    tree = draw(trees())
    low, high = required(tree) // K, size(tree, leaves(tree)) // K
    assume(low < high)
    found = room(draw(st.integers(low, high - 1)))
    rendered = fitted(tree, found)
    assert rendered is not None
    return tree, found, rendered


# It fits.


def verdict(tree: Part, count: Callable[[str], int], share: float, **request: Any) -> list[str]:
    """Return what is wrong with a prompt in a share of the tokens it has."""
    prompt = built(lengthy(tree))
    budget = int(render(prompt, counter=count, **request).tokens.total * share) + 8
    try:
        found = render(prompt, budget=budget, reserve=5, counter=count, **request)
    except BudgetError as error:
        return _refusal(error, budget - 5)
    fits = found.tokens.total + 5 <= budget
    counted = least(found, count) <= found.tokens.total
    return [] if fits and counted else [f"{found.tokens.total} of {budget}"]


def _refusal(error: BudgetError, limit: int) -> list[str]:
    named = [needed.source for needed in error.largest]
    tokens = [needed.tokens for needed in error.largest]
    good = error.required > error.limit == limit and None not in named
    told = str(named[0]) in str(error)
    return [] if good and told and tokens == sorted(tokens, reverse=True) else [str(error)]


NOTHING_STAYS = numbered(timeline(user(words(1), priority=2)))
"""All of it may go: no message is left."""


@every_counter
@examples(30)
@given(trees(), st.floats(0, 1.1))
def test_it_fits(name: str, tree: Part, share: float) -> None:
    """What is sent fits by the counter it was fitted with, or what cannot go is named."""
    assert [] == verdict(tree, COUNTERS[name], share)


ENDS_IN_WHITE_SPACE = numbered(
    timeline(
        user(words(1)),
        assistant(*(words(12) for _ in range(7))),
    )
)
"""The last text has 48 blanks at its end: more than a target's own form adds."""


@pytest.mark.parametrize("provider", ["openai", "openai_responses", "anthropic", "gemini"])
@with_each([ENDS_IN_WHITE_SPACE], 1.0)
@with_each([NOTHING_STAYS], 0.0)
@examples(20)
@given(trees(), st.floats(0, 1.1))
def test_it_fits_a_target(provider: str, tree: Part, share: float) -> None:
    """So does what a target's own form adds."""
    assert [] == verdict(tree, len, share, provider=provider)


def test_white_space_that_is_not_sent() -> None:
    """The white space at the end of the last answer, which no target is sent, is not counted."""
    prompt = Timeline(User("Hi."), Assistant("Rain." + 40 * " "))
    kept, ended = (render(prompt, counter=len, provider=it) for it in (None, "anthropic"))
    shorter = render(Timeline(User("Hi."), Assistant("Rain.")), counter=len, provider="anthropic")
    assert (48, 8) == (least(kept, len), least(ended, len))
    assert ended.tokens.total == shorter.tokens.total == kept.tokens.total - 40


# A larger budget keeps more.


def losses(tree: Part, budgets: list[int]) -> list[int]:
    """Return how many tokens are dropped at each of some budgets."""
    return [dropped_tokens(fitted(tree, Room(budget, 0))) for budget in budgets]


@examples(50)
@given(FIXED)
def test_a_larger_budget_never_keeps_less(tree: Part) -> None:
    """With fixed steps what is dropped never grows with the budget."""
    whole = size(tree, leaves(tree))
    found = losses(tree, [*range(K // 2, whole + 2 * K, max(K, whole // 16))])
    assert sorted(found, reverse=True) == found


@pytest.mark.parametrize("name", ["characters", "words", "o200k"])
@examples(15)
@given(FIXED)
def test_nor_with_real_texts(name: str, tree: Part) -> None:
    """Nor where frames count, and texts do not add up."""
    prompt, count = built(lengthy(tree)), COUNTERS[name]
    whole = render(prompt, counter=count).tokens.total
    found = [_lost(prompt, count, budget) for budget in range(1, whole + 9, whole // 20 + 1)]
    assert sorted(found, reverse=True) == found


def test_counts_that_do_not_add_up() -> None:
    """What is found too big once it is counted whole loses what that takes, and no more."""
    forms = FirstFit("w3x1000 ", "w4 plain words.", "w5   \t", priority=1)
    prompt = Timeline(
        Developer(forms, Text("w6x1000"), priority=1),
        Event("w8x1000 a few plain words and more.", priority=1),
    )
    found = [_lost(prompt, COUNTERS["o200k"], budget) for budget in range(3, 60)]
    assert sorted(found, reverse=True) == found


def _lost(prompt: Any, count: Callable[[str], int], budget: int) -> int:
    try:
        return dropped_tokens(render(prompt, budget=budget, counter=count))
    except BudgetError:
        return dropped_tokens(None)


# What is whole stays whole.


@examples(60)
@given(kept_of())
def test_nothing_is_split(case: tuple[Part, Room, Rendered]) -> None:
    """A group, and a call with its result, is there or is not."""
    tree, _, rendered = case
    assert ([], []) == (split(tree, heard(rendered) or []), broken(rendered.messages))


@examples(60)
@given(kept_of())
def test_the_question_stays(case: tuple[Part, Room, Rendered]) -> None:
    """The last user turn stays with all after it that has no number of its own."""
    tree, _, rendered = case
    assert [] == [word for word in asked(tree) if word not in (heard(rendered) or [])]


@examples(60)
@given(kept_of())
def test_nothing_moves(case: tuple[Part, Room, Rendered]) -> None:
    """What is sent is what an author would have written who knew what has to go."""
    tree, _, rendered = case
    kept = without(tree, heard(rendered) or [])
    assume(kept is not None)
    assert short_form(render(built(kept)).messages) == short_form(rendered.messages)


@every_check_of(*SERVICES)
@examples(50)
@given(
    case=kept_of(),
    provider=st.sampled_from(["openai", "openai_responses", "anthropic", "gemini", "bedrock"]),
)
def test_what_is_sent_is_taken(
    check: Any, case: tuple[Part, Room, Rendered], provider: str
) -> None:
    """After every cut there is a request that its target takes."""
    tree, found, _ = case
    sent = fitted(tree, found, provider=provider)
    check(sent.payload(), sent.facts)  # type: ignore[union-attr]


# What is trimmed.


@examples(60)
@given(kept_of())
def test_a_trimmed_history_is_a_run(case: tuple[Part, Room, Rendered]) -> None:
    """What stays of a history is a run of whole exchanges, or rounds, to its end."""
    tree, _, rendered = case
    assert None not in [cut for _, cut in cuts(tree, heard(rendered) or [])]


@examples(60)
@given(kept_of())
def test_a_cut_stands_at_a_step(case: tuple[Part, Room, Rendered]) -> None:
    """Where it is cut an item starts first behind a multiple of the step, or all went that may."""
    tree, room, rendered = case
    found = [
        (cut, allowed(tree, part, room))
        for part, cut in cuts(tree, heard(rendered) or [])
        if cut is not None
    ]
    assert [] == [(cut, places) for cut, places in found if cut not in places]


def allowed(tree: Part, part: Part, room: Room) -> list[int]:
    """Return where a history may be cut."""
    starts = starts_of(tree, part)
    step = step_of(part, tree, room.limit, room.step)
    return [*positions(starts, step), len(starts) - 1]


LONG = st.lists(EXCHANGES, min_size=4, max_size=8).map(lambda held: sum(held, ()))


@examples(50)
@given(LONG, st.integers(1, 15), st.lists(st.integers(0, 30), min_size=4, max_size=12))
def test_other_content_moves_it_by_steps(
    turns: tuple[Part, ...], step: int, weights: list[int]
) -> None:
    """As what stands beside it changes, the cut takes no other place than its steps."""
    limit = room(20)
    trees = [
        numbered(timeline(history(*turns, step=step), grounding(words(weight)), user(words(1))))
        for weight in sorted(weights)
    ]
    places = [_cut(tree, limit) for tree in trees]
    known = [place for place in places if place is not None]
    assert known == sorted(known)
    assert {*known} <= {*allowed(trees[0], trees[0].parts[0], limit)}


def _cut(tree: Part, limit: Room) -> int | None:
    found = heard(fitted(tree, limit))
    return None if found is None else next(cuts(tree, found))[1]


@given(histories(st.just(0)), st.integers(0, 60))
def test_an_exact_fit(part: Part, limit: int) -> None:
    """With a step of 0 one item more would not fit."""
    tree = numbered(timeline(part, user(words(1))))
    cut = _cut(tree, room(limit))
    items = [one.gone for one in removals(tree)]
    more = leaves(tree).difference(*items[: (cut or 0) - 1])
    assert cut in (None, 0) or size(tree, more) > limit * K


# What does not matter.


@examples(50)
@given(trees(), st.data())
def test_the_same_bytes(tree: Part, data: st.DataObject) -> None:
    """Twice the same prompt in the same budget is the same, and so are its losses."""
    found = data.draw(rooms(tree))
    one, two = fitted(tree, found), fitted(tree, found)
    assert heard(one) == heard(two)
    assert one is None or (one.messages, one.dropped) == (two.messages, two.dropped)  # type: ignore[union-attr]


@examples(50)
@given(trees())
def test_no_need(tree: Part) -> None:
    """A budget with room for all changes nothing."""
    prompt, ample = built(tree), size(tree, leaves(tree)) + K
    one, two = render(prompt), render(prompt, budget=ample, counter=weigh)
    assert (one.messages, ()) == (two.messages, two.dropped)


@examples(50)
@given(trees())
def test_no_budget(tree: Part) -> None:
    """Without a budget nothing is dropped, and of what has several forms the first is sent."""
    rendered = render(built(tree))
    assert (shown(tree, leaves(tree)), ()) == (in_order(heard(rendered)), rendered.dropped)


@examples(50)
@given(trees(), st.data())
def test_a_target_that_is_chosen_later(tree: Part, data: st.DataObject) -> None:
    """Rendered for a target later, a prompt keeps its budget and its counter."""
    found = data.draw(rooms(tree))
    now, later = fitted(tree, found, provider="openai"), fitted(tree, found)
    assert (now is None) == (later is None)
    assert now is None or now.payload() == later.for_target("openai").payload()  # type: ignore[union-attr]


@examples(50)
@given(trees(), st.data())
def test_everything_that_is_missing_is_told(tree: Part, data: st.DataObject) -> None:
    """Nothing is dropped without a word: what, why, how much, and where it was written."""
    rendered = fitted(tree, data.draw(rooms(tree)))
    assume(rendered is not None and rendered.dropped)
    told = rendered.dropped  # type: ignore[union-attr]
    assert [] == [one for one in told if not (one.what and one.why and one.source)]
    assert [] == [one for one in told if one.tokens <= 0]


def test_these_prompts_are_trimmed() -> None:
    """The strategies draw what the claims above are about."""
    tree = numbered(timeline(history(user(words(3)), assistant(words(3))), user(words(1))))
    assert 6 == dropped_tokens(fitted(tree, room(2))) // K
