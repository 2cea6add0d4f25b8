"""What a budget keeps is what the oracle says, for any prompt and any budget."""

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.budget.descriptions import (
    K,
    Part,
    assistant,
    below,
    history,
    numbered,
    timeline,
    user,
    words,
)
from tests.budget.fitted import dropped_tokens, fitted, heard, in_order
from tests.budget.oracle import FRAME, FRAMED, kept, leaves, size
from tests.budget.trees import Room, conversations, exact_rooms, rooms, trees
from tests.searching import examples


def budgeted(prompts: st.SearchStrategy[Part]) -> st.SearchStrategy[tuple[Part, Room]]:
    """Return prompts, each with a budget."""
    return prompts.flatmap(lambda tree: st.tuples(st.just(tree), rooms(tree)))


ANY = budgeted(trees())
LONG = budgeted(conversations())


def begins_with_instructions(tree: Part) -> bool:
    """Return whether a recording begins with system text.

    It shares a frame with other system text. The plan counts one for each, so a few tokens of a
    budget that is met exactly stay unused then.
    """
    recorded = [part for part in below(tree) if part.kind == "history" and part.parts]
    return any(part.parts[0].kind == "system" for part in recorded)


EXACT = trees().flatmap(lambda tree: st.tuples(st.just(tree), exact_rooms(tree)))


@examples(250, fast=10)
@given(ANY)
def test_what_is_kept(case: tuple[Part, Room]) -> None:
    """The words that stay are those the rules leave, or the budget is refused."""
    tree, room = case
    assert kept(tree, room.limit, room.step) == in_order(heard(fitted(tree, room)))


@examples(200, fast=10)
@given(LONG)
def test_where_conversations_are_cut(case: tuple[Part, Room]) -> None:
    """So they do of long conversations, whose cuts move in steps."""
    tree, room = case
    assert kept(tree, room.limit, room.step) == in_order(heard(fitted(tree, room)))


@examples(250, fast=6)
@given(EXACT)
def test_a_budget_that_is_met_exactly(case: tuple[Part, Room]) -> None:
    """What is sent may be all there is room for, and not a token more."""
    tree, room = case
    assume(not begins_with_instructions(tree))
    assert kept(tree, room.limit, room.step) == in_order(heard(fitted(tree, room)))


@examples(60)
@given(ANY)
def test_what_is_dropped(case: tuple[Part, Room]) -> None:
    """The tokens of what was dropped are those of all that is missing, frames and titles too.

    Each message has a frame of its own there, although neighbours that merge share one: those that
    were dropped, and those on both sides of what was dropped.
    """
    tree, room = case
    rendered = fitted(tree, room)
    expected = kept(tree, room.limit, room.step)
    assert (rendered is None) == (expected is None)
    if rendered is not None and expected is not None:
        missing = size(tree, leaves(tree)) - size(tree, frozenset(expected))
        merged = FRAME * len([part for part in below(tree) if part.kind in FRAMED])
        joined = FRAME * len(rendered.dropped)
        assert missing - joined <= dropped_tokens(rendered) <= missing + merged


def test_neighbours_of_a_cut_share_a_frame() -> None:
    """What is dropped counts its own frames; the turns on both sides of it may then share one."""
    answer = assistant(words(12))
    recorded = history(answer, user(words(12)), answer, user(words(12)), answer, keep=1, step=0)
    tree = numbered(timeline(user(words(1)), recorded))
    rendered = fitted(tree, Room(budget=30 * K, reserve=0))
    everything = fitted(tree, Room(budget=90 * K, reserve=0))
    assert rendered is not None
    assert everything is not None
    assert 36 * K + 3 * FRAME == dropped_tokens(rendered)
    assert 36 * K + 4 * FRAME == everything.tokens.total - rendered.tokens.total


@examples(60)
@given(ANY, st.sampled_from(["openai", "anthropic", "gemini", "openai_responses"]))
def test_for_a_target(case: tuple[Part, Room], provider: str) -> None:
    """A target's own form decides nothing while its frames are small."""
    tree, room = case
    expected = kept(tree, room.limit, room.step)
    assert expected == in_order(heard(fitted(tree, room, provider=provider)))
