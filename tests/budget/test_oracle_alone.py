"""The oracle itself, on prompts small enough to fit them in one's head."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import render
from tests.budget.descriptions import (
    K,
    Part,
    answer,
    assistant,
    below,
    built,
    call,
    developer,
    ephemeral,
    first_fit,
    fragment,
    group,
    history,
    mark,
    numbered,
    section,
    seen,
    system,
    timeline,
    user,
    weigh,
    words,
)
from tests.budget.oracle import kept, leaves, removals, sent, shown, size
from tests.budget.trees import Room, exact_rooms, room, rooms, trees
from tests.searching import examples

ASKED = user(words(1))


def stays(limit: int, *parts: Part, step: int = 0) -> Any:
    """Return the places, among the words in document order, of those that stay."""
    tree = numbered(timeline(*parts))
    every = [one.word for one in below(tree) if one.kind in ("words", "call")]
    found = kept(tree, limit * K + K // 2, step * K)
    return None if found is None else [every.index(word) for word in found if word in every]


def titles(limit: int, *parts: Part) -> list[int]:
    """Return the weights of the titles that stay."""
    found = kept(numbered(timeline(*parts)), limit * K + K // 2, 0) or []
    return [weigh(word) // K for word in found if word[0] == "t"]


def exchange(weight: int, answered: int = 1) -> tuple[Part, Part]:
    """Return a question and its answer."""
    return user(words(weight)), assistant(words(answered))


def rounds(*weights: int) -> list[Part]:
    """Return calls of these weights with results of one."""
    made = [(assistant(call("c", weight)), answer("c", words(1))) for weight in weights]
    return [turn for pair in made for turn in pair]


def test_what_fits_stays() -> None:
    """Nothing goes when all fits."""
    parts = [system(words(2), priority=1), ASKED]
    assert [[0, 1], [1]] == [stays(3, *parts), stays(2, *parts)]


def test_the_lowest_goes_first() -> None:
    """Among siblings a bigger number is kept longer, negative ones go first."""
    parts = [
        developer(words(1), priority=1),
        developer(words(1), priority=-1),
        developer(words(1), priority=0),
        ASKED,
    ]
    assert [[0, 2, 3], [0, 3], [3]] == [stays(limit, *parts) for limit in (3, 2, 1)]


def test_ties() -> None:
    """Of equals the earlier goes first, and behind the last mark before what stands in front."""
    turns = [developer(words(1), priority=1) for _ in range(3)]
    assert [1, 2, 3] == stays(3, *turns, ASKED)
    assert [0, 1, 3] == stays(3, *turns[:2], mark(), turns[2], ASKED)
    covered = developer(words(1), priority=1, cache=True)
    assert [0, 1, 3] == stays(3, turns[0], covered, turns[2], ASKED)


def test_the_required_is_too_much() -> None:
    """What has no number stays, and where it is too much there is nothing to say."""
    assert stays(1, system(words(1)), ASKED) is None


def test_scopes() -> None:
    """A number orders siblings: what stands in a lower one goes before a higher one, whatever."""
    inner = section(words(1), section(words(1), priority=9), priority=0)
    parts = [user(inner, section(words(1), priority=5), words(1))]
    assert [[0, 2, 3], [2, 3], [3]] == [stays(limit, *parts) for limit in (3, 2, 1)]


def test_lending() -> None:
    """What has no number lends what stands in it to what it stands in."""
    lends = system(section(words(1), section(words(1), priority=3)))
    parts = [lends, developer(words(1), priority=2), ASKED]
    assert [[0, 1, 3], [0, 3]] == [stays(limit, *parts) for limit in (3, 2)]


def test_groups() -> None:
    """A group goes whole, by its own number or the lowest in it, and stays when there is none."""
    inner = (section(words(1), priority=1), section(words(1), priority=4))
    assert [2, 3] == stays(3, user(group(*inner), section(words(1), priority=2), words(1)))
    numbered_group = group(*inner, priority=3)
    assert [0, 1, 3] == stays(3, user(numbered_group, section(words(1), priority=2), words(1)))
    assert stays(2, user(group(words(1), words(1)), words(1))) is None


def test_calls_with_results() -> None:
    """A call goes with its results, at the lower number, and stays when one of them has none."""
    one = [assistant(call("c"), priority=5), answer("c", words(1), priority=1)]
    other = developer(words(1), priority=3)
    assert [2, 3] == stays(3, *one, other, ASKED)
    stuck = [assistant(call("c"), priority=5), answer("c", words(1))]
    assert [0, 1, 3] == stays(3, *stuck, other, ASKED)


def test_two_results() -> None:
    """A batch is one unit with all its results."""
    calls = assistant(call("a"), call("b"), priority=5)
    answers = [answer("a", words(1), priority=6), answer("b", words(1), priority=7)]
    assert [4] == stays(4, calls, *answers, ASKED)


def test_a_group_with_half_a_pair() -> None:
    """A group that holds a call goes with the result beside it."""
    held = group(assistant(call("c")), priority=4)
    assert [2] == stays(2, held, answer("c", words(1), priority=2), ASKED)


def test_titles_go_with_the_last() -> None:
    """A section that is emptied goes with its title, and costs it when something comes back."""
    inner = [section(words(2), priority=1), section(words(1), priority=2)]
    parts = [system(section(*inner, weight=3)), ASKED]
    assert [[1, 2], [2], [2]] == [stays(limit, *parts) for limit in (5, 4, 1)]
    assert [[3], []] == [titles(limit, *parts) for limit in (5, 4)]


def test_cheaper_forms_with_a_number() -> None:
    """Forms step down before the last one goes, one that is not smaller is passed over."""
    forms = first_fit(words(5), words(6), words(5), words(2), priority=1)
    parts = [user(forms, words(1))]
    assert [[0, 4], [3, 4], [3, 4], [4]] == [stays(limit, *parts) for limit in (6, 5, 3, 2)]


def test_cheaper_forms_without_a_number() -> None:
    """Without a number they step after all that has one, and the last form stays."""
    forms = first_fit(words(5), words(2))
    parts = [user(forms, section(words(1), priority=9), words(1))]
    assert [[0, 2, 3], [0, 3], [1, 2, 3], [1, 3]] == [stays(n, *parts) for n in (7, 6, 4, 3)]
    assert stays(2, *parts) is None


def test_exchanges() -> None:
    """A history loses whole exchanges from its beginning, the greeting with the first."""
    said = history(assistant(words(1)), *exchange(2), *exchange(3), *exchange(1))
    parts = [said, ASKED]
    assert [[3, 4, 5, 6, 7], [5, 6, 7], [7]] == [stays(limit, *parts) for limit in (10, 3, 2)]


def test_where_exchanges_start() -> None:
    """Neither at a second user turn in a row nor while a call is open, and not at a result."""
    said = history(
        user(words(1)),
        user(words(1)),
        assistant(call("c")),
        answer("c", words(1)),
        *exchange(1),
    )
    assert [4, 5, 6] == stays(6, said, ASKED)


def test_what_a_history_keeps() -> None:
    """Its last exchanges stay, its own system text, and the one with the last question."""
    said = [*exchange(1), *exchange(1), *exchange(1)]
    assert [2, 3, 4, 5, 6] == stays(5, history(*said, keep=2), ASKED)
    assert stays(4, history(*said, keep=2), ASKED) is None
    assert [0, 5, 6] == stays(2, history(system(words(0)), *said))
    assert stays(1, history(*said)) is None


def test_the_priority_of_a_history() -> None:
    """It goes by its own number; what has a lower one goes before."""
    said = history(*exchange(1), *exchange(1), priority=2)
    assert [0, 1, 2, 3, 5] == stays(5, said, developer(words(1), priority=1), ASKED)
    assert [5] == stays(2, said, developer(words(1), priority=1), ASKED)


def test_rounds() -> None:
    """When only the last exchange is left its oldest rounds go, never its question or newest."""
    said = history(*exchange(1), user(words(1)), *rounds(1, 1, 1))
    assert [[2, 5, 6, 7, 8], [2, 7, 8]] == [stays(limit, said) for limit in (5, 4)]
    assert stays(2, said) is None


def test_no_rounds_under_a_longer_keep() -> None:
    """Where more than one exchange has to stay the rounds of the last do."""
    said = history(*exchange(1), user(words(1)), *rounds(1, 1, 1), keep=2)
    assert stays(8, said) is None


def test_a_call_that_is_answered_later() -> None:
    """The exchange stays whose call a turn behind the history answers."""
    said = history(*exchange(1), user(words(1)), assistant(call("c")))
    assert [2, 3, 4, 5] == stays(4, said, answer("c", words(1)), ASKED)


def test_steps() -> None:
    """The cut stands where an exchange starts at or behind a multiple of the step."""
    said = history(*(turn for _ in range(6) for turn in exchange(1)), step=4)
    found = [stays(limit, said, ASKED) for limit in range(13, 0, -1)]
    assert [0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12] == [one[0] for one in found]


def test_the_default_step() -> None:
    """A history that says no step takes the one it is given."""
    said = history(*(turn for _ in range(6) for turn in exchange(1)))
    assert 4 == stays(12, said, ASKED, step=4)[0]


def test_one_oversize_part() -> None:
    """What was dropped before the one that made room comes back, the highest first."""
    parts = [
        developer(words(2), priority=1),
        developer(words(1), priority=2),
        developer(words(9), priority=3),
        ASKED,
    ]
    assert [[0, 1, 3], [1, 3]] == [stays(limit, *parts) for limit in (4, 3)]


def test_a_history_comes_back_by_steps() -> None:
    """A history's cut moves back by whole steps, and where it stays nothing more comes back."""
    said = history(*(turn for _ in range(4) for turn in exchange(1)), step=4)
    parts = [developer(words(1), priority=-1), said, developer(words(12), priority=1), ASKED]
    assert [0, 1, 2, 3, 4, 5, 6, 7, 8, 10] == stays(10, *parts)
    assert [1, 2, 3, 4, 5, 6, 7, 8, 10] == stays(9, *parts)
    assert [5, 6, 7, 8, 10] == stays(8, *parts)


def test_what_is_inside_comes_back_after() -> None:
    """What stood in a part comes back only where the part did."""
    held = section(words(4), section(words(1), priority=1), priority=1)
    parts = [user(held, section(words(9), priority=2), words(1))]
    assert [[0, 1, 3], [0, 3], [3]] == [stays(limit, *parts) for limit in (6, 5, 4)]


def test_forms_come_back_up() -> None:
    """Forms step back up when there is room, one after the other."""
    forms = first_fit(words(6), words(4), words(2), priority=1)
    parts = [user(forms, section(words(9), priority=2), words(1))]
    places = [stays(limit, *parts)[0] for limit in (7, 6, 4, 2)]
    assert [0, 1, 2, 4] == places


def test_forms_are_whole() -> None:
    """Nothing in a form or a group goes by itself."""
    form = section(words(1), section(words(1), priority=-5))
    assert [2, 3] == stays(2, user(first_fit(form, words(1)), words(1)))


@examples(50)
@given(trees())
def test_all_is_seen(tree: Part) -> None:
    """What is built of a description says all its words, once, and few frames stand around them."""
    messages = render(built(tree)).messages
    assert sorted(shown(tree, leaves(tree))) == sorted(seen(messages))
    assert 10 * len(messages) < K


@examples(50)
@given(trees(), st.data())
def test_the_order_is_one(tree: Part, data: st.DataObject) -> None:
    """Every word goes once, and what is left after all removals is what is required."""
    order = removals(tree)
    gone = [word for removal in order for word in removal.gone]
    assert sorted(set(gone)) == sorted(gone)
    found: Room = data.draw(rooms(tree))
    left = kept(tree, found.limit, found.step)
    assert left is None or sum(map(weigh, left)) <= found.limit


@pytest.mark.parametrize("limit", [0, 7, 8, 23])
def test_rooms(limit: int) -> None:
    """A budget leaves its limit and half a thousand, and an eighth of it is a whole thousand."""
    found = room(limit, 2)
    assert (limit * K + K // 2, 0) == (found.limit, found.step % K)


def test_sizes() -> None:
    """A prompt weighs what its words, titles and frames do, of forms the first."""
    tree = numbered(timeline(user(first_fit(words(5), words(2)), section(words(1), weight=3))))
    assert 9 * K + 3 == size(tree, leaves(tree))


def test_to_the_token() -> None:
    """What meets a limit exactly fits, with the frames of a turn, the system text and the reply."""
    tree = numbered(timeline(system(words(2), priority=1), developer(words(1), priority=2), ASKED))
    words_kept = [len(kept(tree, limit, 0) or []) for limit in (4_012, 4_011, 2_009, 2_008, 1_006)]
    assert [3, 2, 2, 1, 1] == words_kept
    assert kept(tree, 1_005, 0) is None


@examples(50)
@given(trees(), st.data())
def test_frames(tree: Part, data: st.DataObject) -> None:
    """A prompt has as many tokens as it is told to have, frames included."""
    assert sent(tree, leaves(tree)) == render(built(tree), counter=weigh).tokens.total
    found: Room = data.draw(exact_rooms(tree))
    assert 0 == found.step % K


def test_requests_and_fragments() -> None:
    """Request-only turns are units, fragments only hold others."""
    parts = [fragment(ephemeral(words(1), priority=0), developer(words(1), priority=1)), ASKED]
    assert [1, 2] == stays(2, *parts)
