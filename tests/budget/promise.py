"""What a budget promises, tried on prompts as an author describes them: not on the plan.

Never over, and no call without its result. Where no history is cut in steps, nothing is dropped
whose keeping, alone, would fit with ``SPARE`` tokens to spare: each dropped unit is written back
into the description, and that prompt is rendered without a budget.
``python -m tests.budget.promise 10000`` tries so many prompts and prints what it found.
"""

import sys
from collections import Counter
from collections.abc import Iterator

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from promptdsl import BudgetError, Rendered, render
from tests.budget.descriptions import (
    Part,
    below,
    built,
    event,
    group,
    lengthy,
    numbered,
    seen,
    timeline,
    user,
    words,
)
from tests.budget.fitted import broken, cuts, without
from tests.budget.oracle import Removal, Words, removals, words_of
from tests.budget.trees import TURNS, conversations, trees

SPARE = 40
"""The tokens that a part has to leave free for the promise to hold for it."""
MODELS = (None, "gpt-5", "claude-opus-4-1", "gemini-2.5-pro")
RANKS = st.sampled_from([0, 1, 1, 2])
EXACT = trees(st.sampled_from([0, 0, 0, 4]))
SMALL = st.builds(lambda kind, p: kind(words(0), priority=p), st.sampled_from([event, user]), RANKS)
MANY = st.builds(
    lambda turns, p: group(*turns, priority=p), st.lists(SMALL, min_size=8, max_size=25), RANKS
)
MERGING = st.builds(
    lambda turns: numbered(timeline(*turns, user(words(2)))),
    st.lists(st.one_of(SMALL, MANY, TURNS), min_size=3, max_size=30),
)
"""Prompts of many short turns: most neighbours are sent as one message."""
ANY = st.one_of(EXACT, EXACT, MERGING, trees(), conversations())
SHARES = st.sampled_from([0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99])


def fitted_as_written(tree: Part, share: float, model: str | None) -> tuple[int, Rendered | None]:
    """Return a budget that is a share of a prompt, and the prompt in it, ``None`` if refused."""
    budget = int(render(built(tree), model=model).tokens.total * share)
    try:
        return budget, render(built(tree), budget=budget, model=model)
    except BudgetError:
        return budget, None


def broken_promises(tree: Part, share: float, model: str | None) -> list[str]:
    """Return in words what a budget does against its promise."""
    tree = lengthy(tree)
    budget, rendered = fitted_as_written(tree, share, model)
    if rendered is None:
        return []
    wrong = [f"orphan {id}" for id in broken(rendered.messages)]
    if rendered.tokens.total > budget:
        wrong.append(f"over: {rendered.tokens.total} of {budget}")
    present = frozenset(seen(rendered.messages))
    if not is_cut_in_steps(tree, present):
        for gone in could_stay(tree, present):
            total = tokens_of(tree, present | gone, model)
            if total + SPARE <= budget:
                wrong.append(f"{sorted(gone)} would fit: {total} of {budget}")
    return wrong


def is_cut_in_steps(tree: Part, present: Words) -> bool:
    """Return whether a history with a step, by default or its own, is cut."""
    return any(part.step != 0 and cut != 0 for part, cut in cuts(tree, sorted(present)))


def could_stay(tree: Part, present: Words) -> Iterator[Words]:
    """Yield the words of each dropped unit that might have been kept alone.

    That is no unit in another one that is dropped, nor an alternative of another one that is sent,
    and of a history only what is next to the cut.
    """
    choices = [part for part in below(tree) if part.kind == "first_fit"]
    alternatives = frozenset[str]().union(*(words_of(part) for part in choices))
    order = removals(tree)
    dropped = [one for one in order if one.gone and not one.gone & present]
    for removal in dropped:
        if removal.gone & alternatives or any(_is_inside(removal, other) for other in dropped):
            continue
        if removal.history is not None and not _is_next_to_the_cut(removal, order, present):
            continue
        yield removal.gone


def _is_inside(removal: Removal, other: Removal) -> bool:
    around = other.unit
    return len(around) < len(removal.unit) and removal.unit[: len(around)] == around


def _is_next_to_the_cut(removal: Removal, order: list[Removal], present: Words) -> bool:
    items = [one for one in order if one.history == removal.history]
    later = items[items.index(removal) + 1 :]
    return not later or bool(later[0].gone & present)


def tokens_of(tree: Part, present: Words, model: str | None) -> int:
    """Return the tokens of the prompt that an author writes who knows which words stay."""
    written = without(tree, sorted(present))
    assert written is not None
    return render(built(written), model=model).tokens.total


def main(count: int) -> None:
    """Try prompts and print what was found."""
    found: Counter[str] = Counter()

    @seed(count)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )
    @given(ANY, SHARES, st.sampled_from(MODELS))
    def attempt(tree: Part, share: float, model: str | None) -> None:
        written = lengthy(tree)
        _, rendered = fitted_as_written(written, share, model)
        found["prompts"] += 1
        found["refused" if rendered is None else "dropped" if rendered.dropped else "whole"] += 1
        if rendered is not None and rendered.dropped:
            present = frozenset(seen(rendered.messages))
            stepped = is_cut_in_steps(written, present)
            found["cut in steps"] += stepped
            found["units written back"] += 0 if stepped else len([*could_stay(written, present)])
        for wrong in broken_promises(tree, share, model):
            found["against the promise"] += 1
            print(wrong, share, model, tree, flush=True)

    attempt()
    print(dict(found))


if __name__ == "__main__":
    main(int(sys.argv[1]))
