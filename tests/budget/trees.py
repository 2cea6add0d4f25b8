"""Strategies of prompts that a budget has to fit, as descriptions; and of budgets for them.

What the rules leave open is not drawn: calls stand beside text without a number of its own, marks
stand behind turns, a group that holds the last question has a number or nothing in it has.
"""

from typing import Any, TypeAlias

import attrs
from hypothesis import strategies as st

from tests.budget.descriptions import (
    K,
    Part,
    answer,
    assistant,
    call,
    developer,
    ephemeral,
    event,
    first_fit,
    fragment,
    grounding,
    group,
    history,
    mark,
    numbered,
    section,
    system,
    timeline,
    user,
    words,
)
from tests.budget.oracle import leaves, size, sizes

Parts: TypeAlias = tuple[Part, ...]

WORDS = st.builds(words, st.sampled_from([1, 1, 2, 2, 3, 4, 5, 12]))
PRIORITIES = st.sampled_from([None, None, -2, 0, 1, 1, 3.5])


def _shrinks(forms: list[Part]) -> bool:
    """Return whether no two forms are of one size: frames would say which is smaller."""
    tree = numbered(timeline(*forms))
    sizes = [size(form, leaves(form)) for form in tree.parts]
    return len(set(sizes)) == len(sizes)


def first_fits(forms: st.SearchStrategy[Part]) -> st.SearchStrategy[Part]:
    """Return parts with cheaper forms."""
    several = st.lists(forms, min_size=2, max_size=4).filter(_shrinks)
    return st.builds(lambda forms, p: first_fit(*forms, priority=p), several, PRIORITIES)


def groups(content: st.SearchStrategy[Part]) -> st.SearchStrategy[Part]:
    """Return parts that go whole."""
    several = st.lists(content, min_size=1, max_size=3)
    return st.builds(lambda held, p: group(*held, priority=p), several, PRIORITIES)


def sections(content: st.SearchStrategy[Part]) -> st.SearchStrategy[Part]:
    """Return named parts, some with a title."""
    several = st.lists(content, min_size=1, max_size=3)
    return st.builds(
        lambda held, title, p: section(*held, weight=title, priority=p),
        several,
        st.sampled_from([0, 0, 1, 2]),
        PRIORITIES,
    )


TEXTS = st.recursive(
    WORDS, lambda inner: sections(inner) | groups(inner) | first_fits(inner), max_leaves=5
)
CONTENT = st.lists(TEXTS, min_size=1, max_size=3)


def _turns(
    kind: Any, *, cache: bool = False, content: st.SearchStrategy[Any] = CONTENT
) -> st.SearchStrategy[Part]:
    return st.builds(lambda held, p: kind(*held, priority=p, cache=cache), content, PRIORITIES)


def _spoken(*, cache: bool) -> st.SearchStrategy[Part]:
    happened = st.lists(WORDS, min_size=1, max_size=2)
    return st.one_of(
        _turns(developer, cache=cache),
        _turns(user, cache=cache),
        _turns(assistant, cache=cache),
        _turns(event, cache=cache, content=happened),
    )


def _requests(kind: Any) -> st.SearchStrategy[Part]:
    return st.builds(lambda held, p: kind(*held, priority=p), CONTENT, PRIORITIES)


def _batch(ids: Parts, said: list[Part], priorities: list[float | None]) -> Part:
    """Return an assistant turn with calls, and their results."""
    own, *theirs = priorities
    answers = (answer(one.id, words(), priority=p) for one, p in zip(ids, theirs, strict=False))
    return fragment(assistant(*said, *ids, priority=own), *answers)


BATCHES = st.builds(
    _batch,
    st.sampled_from([(call("a"),), (call("a", 2),), (call("a", 3), call("b"))]),
    st.lists(WORDS, max_size=1),
    st.lists(PRIORITIES, min_size=3, max_size=3),
)
SYSTEMS = _turns(system) | sections(TEXTS)
SPOKEN = _spoken(cache=False)
TURNS = SPOKEN | BATCHES
BODY = st.one_of(
    TURNS,
    SYSTEMS,
    groups(TURNS),
    first_fits(SPOKEN | groups(TURNS)),
    st.builds(fragment, TURNS | SYSTEMS, TURNS),
)


# Recorded conversations.


def _recorded(kind: Any) -> st.SearchStrategy[Parts]:
    return st.builds(lambda said: (kind(said),), WORDS)


ROUNDS = st.one_of(
    _recorded(assistant),
    BATCHES.map(lambda batch: tuple(attrs.evolve(turn, priority=None) for turn in batch.parts)),
    st.builds(lambda one, two: (assistant(one), developer(two)), WORDS, WORDS),
)
ASKED = st.one_of(
    _recorded(user),
    st.builds(lambda one, two: (event(one), user(two)), WORDS, WORDS),
    st.builds(lambda one, two: (user(one), user(two)), WORDS, WORDS),
)
EXCHANGES = st.builds(
    lambda asked, rounds: (*asked, *sum(rounds, ())), ASKED, st.lists(ROUNDS, max_size=4)
)
LEADING = st.one_of(
    st.just(()),
    st.just(()),
    st.just((system(words(0)),)),
    _recorded(assistant),
    _recorded(developer),
)


def _history(
    leading: Parts, exchanges: list[Parts], *, keep: int, step: int | None, priority: float
) -> Part:
    turns = (*leading, *sum(exchanges, ()))
    return history(*turns, keep=keep, step=step, priority=priority)


def histories(
    steps: st.SearchStrategy[int | None],
    exchanges: st.SearchStrategy[Parts] = EXCHANGES,
    *,
    min_size: int = 1,
) -> st.SearchStrategy[Part]:
    """Return recorded conversations."""
    return st.builds(
        _history,
        LEADING,
        st.lists(exchanges, min_size=min_size, max_size=min_size + 5),
        keep=st.sampled_from([0, 0, 0, 1, 2]),
        step=steps,
        priority=st.sampled_from([0, 0, -1, 1, 2]),
    )


def _waiting(part: Part) -> Part:
    """Return a history that ends in a call, and the turn that answers it."""
    longer = attrs.evolve(part, parts=(*part.parts, assistant(call("a"))))
    return fragment(longer, answer("a", words(2)))


# Whole prompts.

STEPS = st.none() | st.sampled_from([0, 1, 4, 7, 12, 20])
ASKING = st.builds(
    lambda first, rest, p: user(first, *rest, priority=p),
    WORDS,
    st.lists(TEXTS, max_size=2),
    st.sampled_from([None, None, None, 2]),
)
AFTERWARDS = st.lists(BATCHES | SPOKEN.filter(lambda turn: turn.kind != "user"), max_size=2)


def _ends(steps: st.SearchStrategy[int | None]) -> st.SearchStrategy[Parts]:
    asked = st.builds(lambda one, more: (one, *more), ASKING, AFTERWARDS)
    recorded = histories(steps)
    return st.one_of(asked, asked, st.tuples(recorded), st.tuples(st.builds(_waiting, recorded)))


def _bodies(steps: st.SearchStrategy[int | None]) -> st.SearchStrategy[list[Part]]:
    recorded = histories(steps) | st.builds(_waiting, histories(steps))
    requests = _requests(ephemeral) | _requests(grounding)
    return st.lists(st.one_of(BODY, BODY, BODY, requests, recorded), max_size=5)


def _marked_bodies(steps: st.SearchStrategy[int | None]) -> st.SearchStrategy[list[Part]]:
    """Return bodies with cache marks: system content first, as it is sent, nothing that moves."""
    recorded = histories(steps).map(lambda part: fragment(part, mark()))
    first = st.lists(SYSTEMS | _turns(system, cache=True), max_size=3)
    then = st.one_of(TURNS, _spoken(cache=True), groups(TURNS), histories(steps), recorded)
    return st.builds(lambda one, two: [*one, *two], first, st.lists(then, max_size=4))


def trees(steps: st.SearchStrategy[int | None] = STEPS) -> st.SearchStrategy[Part]:
    """Return prompts with their parts numbered and ids of its own for every call."""
    bodies = st.one_of(_bodies(steps), _bodies(steps), _marked_bodies(steps))
    return st.builds(lambda body, end: numbered(timeline(*body, *end)), bodies, _ends(steps))


SMALL = st.builds(words, st.integers(1, 3))
SHORT = st.builds(lambda one, two: (user(one), assistant(two)), SMALL, SMALL)
STRIDES = st.none() | st.integers(5, 30)
LOOPS = st.lists(ROUNDS, min_size=4, max_size=8).map(lambda rounds: sum(rounds, ()))
BESIDE = st.builds(
    lambda said, priority: developer(said, priority=priority),
    WORDS | st.just(words(30)),
    st.sampled_from([None, -1, 1, 1, 2]),
)


def conversations() -> st.SearchStrategy[Part]:
    """Return long conversations with little beside them: what is cut in steps."""
    long = histories(STRIDES, SHORT, min_size=6)
    loop = st.builds(
        lambda part, rounds: attrs.evolve(part, parts=(*part.parts, *rounds)),
        histories(STRIDES, SHORT),
        LOOPS,
    )
    ends = st.one_of(st.just((user(words()),)), st.tuples(loop))
    return st.builds(
        lambda one, said, two, end: numbered(timeline(*one, said, *two, *end)),
        st.lists(BESIDE, max_size=2),
        long,
        st.lists(BESIDE, max_size=2),
        ends,
    )


@attrs.frozen
class Room:
    """A budget and what of it is reserved, so that no frame decides what fits in ``limit``.

    An eighth of the budget is a whole number of thousands, too.
    """

    budget: int
    reserve: int

    @property
    def limit(self) -> int:
        """The tokens that may be sent."""
        return self.budget - self.reserve

    @property
    def step(self) -> int:
        """The step of a history that says none."""
        return self.budget // 8


def room(limit: int, more: int = 0) -> Room:
    """Return a budget that leaves so many thousands of tokens, and a little for the frames."""
    budget = 8 * K * (limit // 8 + 1 + more)
    return Room(budget, budget - limit * K - K // 2)


def rooms(tree: Part) -> st.SearchStrategy[Room]:
    """Return budgets for a tree, from none to more than enough."""
    whole = size(tree, leaves(tree)) // K
    return st.builds(room, st.integers(0, whole + 1), st.sampled_from([0, 0, 0, 1, 3]))


def exact_room(limit: int, more: int = 0) -> Room:
    """Return a budget that leaves so many tokens, not one more for a frame."""
    budget = 8 * K * (limit // (8 * K) + 1 + more)
    return Room(budget, budget - limit)


def exact_rooms(tree: Part) -> st.SearchStrategy[Room]:
    """Return budgets that a part of a tree meets to the token, or misses by one.

    The part is what is left after some removals, often with one of the last of them back again.
    """
    met = [limit for back in (0, 1, 2, 3) for limit in sizes(tree, back)]
    near = st.builds(int.__add__, st.sampled_from(met), st.sampled_from([0, 0, -1, 1]))
    return st.builds(exact_room, near, st.sampled_from([0, 0, 1, 3]))
