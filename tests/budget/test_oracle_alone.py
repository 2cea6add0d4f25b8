"""The oracle itself, on prompts small enough to fit them in one's head.

``test_oracle`` compares it with the package.
"""

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
    first_fit,
    group,
    history,
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
from tests.budget.trees import Room, exact_rooms, rooms, trees
from tests.searching import examples

ASKED = user(words(1))
EXCHANGE = (user(words(1)), assistant(words(1)))


def stays(limit: int, *parts: Part) -> Any:
    """Return the places, among the words in document order, of those that stay."""
    tree = numbered(timeline(*parts))
    every = [one.word for one in below(tree) if one.kind in ("words", "call")]
    found = kept(tree, limit * K + K // 2, 0)
    return None if found is None else [every.index(word) for word in found if word in every]


@pytest.mark.parametrize(
    ("limit", "parts", "expected"),
    [
        pytest.param(2, (system(words(2), priority=1), ASKED), [1], id="a number"),
        pytest.param(1, (system(words(1)), ASKED), None, id="what is required is too much"),
        pytest.param(
            2,
            (*(developer(words(1), priority=number) for number in (1, -1, 0)), ASKED),
            [0, 3],
            id="the lowest first",
        ),
        pytest.param(
            3,
            (user(group(*(section(words(1), priority=n) for n in (1, 4))), words(1)),),
            [0, 1, 2],
            id="a group whole",
        ),
        pytest.param(
            3,
            (
                assistant(call("c"), priority=5),
                answer("c", words(1), priority=1),
                developer(words(1), priority=3),
                ASKED,
            ),
            [2, 3],
            id="a call with its result",
        ),
        pytest.param(
            3,
            (user(first_fit(words(5), words(6), words(5), words(2), priority=1), words(1)),),
            [3, 4],
            id="cheaper forms",
        ),
        pytest.param(4, (history(*EXCHANGE * 3), ASKED), [4, 5, 6], id="whole exchanges"),
        pytest.param(5, (history(*EXCHANGE * 3, keep=2), ASKED), [2, 3, 4, 5, 6], id="kept ones"),
        pytest.param(
            9, (history(*EXCHANGE * 6, step=4), ASKED), [4, 5, 6, 7, 8, 9, 10, 11, 12], id="a step"
        ),
        pytest.param(
            4,
            (*(developer(words(n), priority=p) for n, p in ((2, 1), (1, 2), (9, 3))), ASKED),
            [0, 1, 3],
            id="what comes back",
        ),
    ],
)
def test_what_stays(limit: int, parts: tuple[Part, ...], expected: object) -> None:
    """Each kind of unit goes and comes back as the rules say."""
    assert expected == stays(limit, *parts)


@examples(50)
@given(trees(), st.data())
def test_it_counts_what_is_sent(tree: Part, data: st.DataObject) -> None:
    """A prompt says all its words, and has as many tokens as it is told to have."""
    rendered = render(built(tree), counter=weigh)
    assert sorted(shown(tree, leaves(tree))) == sorted(seen(rendered.messages))
    assert sent(tree, leaves(tree)) == rendered.tokens.total
    assert 0 == data.draw(exact_rooms(tree)).step % K


@examples(50)
@given(trees(), st.data())
def test_the_order_is_one(tree: Part, data: st.DataObject) -> None:
    """Every word goes once, and what is left after all removals is what is required."""
    gone = [word for removal in removals(tree) for word in removal.gone]
    assert sorted(set(gone)) == sorted(gone)
    found: Room = data.draw(rooms(tree))
    left = kept(tree, found.limit, found.step)
    assert left is None or sum(map(weigh, left)) <= found.limit


def test_sizes() -> None:
    """A prompt weighs what its words, titles and frames do, of forms the first."""
    tree = numbered(timeline(user(first_fit(words(5), words(2)), section(words(1), weight=3))))
    assert 9 * K + 3 == size(tree, leaves(tree))
