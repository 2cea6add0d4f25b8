"""How long properties search: one table of profiles, and the share of it that a test asks for."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import engine, providers

EXAMPLES = {"fast": 5, "all": 25, "random": 100, "mutants": 15}
"""By profile, how many examples a property tries that does not say; chosen on the command line."""

Tried = TypeVar("Tried", bound=Callable[..., None])

SEARCH = (Phase.explicit, Phase.generate)
PHASES = {"fast": (*SEARCH, Phase.shrink), "mutants": SEARCH}
"""By profile, what a search does; the others do all of it.

An explanation of a failure takes minutes where a prompt is large, and nobody reads one of a mutant.
"""
SHRINKING = 10
"""The seconds in which a failing example is made smaller: hypothesis takes up to 300."""


def register_profiles(seed: str | None) -> None:
    """Register the profiles and load ``all``; ``--hypothesis-profile=fast`` chooses another.

    Without a seed the same examples are tried in every run, but for ``random``. A seed, the one
    of ``--hypothesis-seed``, chooses others; the same seed chooses the same ones in every process:
    neither what failed before nor which modules of the package are loaded decides anything.
    Machines that run tests are shared, and slow for a moment now and then: nor does time.
    """
    for name, count in EXAMPLES.items():
        settings.register_profile(
            name,
            deadline=None,
            derandomize=name != "random" and seed is None,  # it would win over a seed
            database=None,
            max_examples=count,
            print_blob=name == "random",
            suppress_health_check=[HealthCheck.too_slow],
            phases=PHASES.get(name, tuple(Phase)),
        )
    settings.load_profile("all")
    # Hypothesis has no setting for these two: the time, and texts of modules that are loaded.
    engine.MAX_SHRINKING_SECONDS = SHRINKING
    providers._get_local_constants = lambda: providers._local_constants


def examples(count: int, fast: int | None = None) -> settings:
    """Return the setting of a property that tries ``count`` examples in a random run.

    In the profile ``all`` it tries a quarter of them, which keeps CI short. In the fast profile
    it tries ``fast`` examples, and twice as many where mistakes are made; where that is not said,
    the same share of them as every other property, three at least.
    """
    usual, whole = settings.default.max_examples, EXAMPLES["random"]
    if fast is not None and usual < EXAMPLES["all"]:
        count, whole = fast if usual == EXAMPLES["fast"] else 2 * fast, usual
    return settings(max_examples=max(count * usual // whole, 3))


def with_each(values: Iterable[Any], *others: Any) -> Callable[[Tried], Tried]:
    """Return a decorator that tries a property with each value, and the others, in every run."""

    def decorate(tried: Tried) -> Tried:
        for value in values:
            tried = example(value, *others)(tried)
        return tried

    return decorate


def outcomes(
    judge: Callable[[Any], str], good: Any, anything: st.SearchStrategy[Any], count: int = 100
) -> set[str]:
    """Return the set of verdicts on good data, on any data, and on good data with a wrong value.

    ``judge`` takes data and returns its verdict, such as ``"read"`` or ``"refused"``. The test is
    marked ``@pytest.mark.hypothesis``, as it is no property itself: so it is run with the others.
    """
    found = set()

    @examples(count)
    @example(good)
    @given(anything | spoiled(good, anything))
    def search(data: Any) -> None:
        found.add(judge(data))

    search()
    return found


@st.composite
def spoiled(draw: st.DrawFn, good: Any, anything: st.SearchStrategy[Any]) -> Any:
    """Draw good data as it is, or with one value, or the whole, replaced by anything."""
    place = draw(st.sampled_from([*places_in(good), None]))
    return good if place is None else with_value(good, place, draw(anything))


def places_in(data: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value of plain data, that to the whole first."""
    yield ()
    values = enumerate(data) if isinstance(data, list) else ()
    for key, value in data.items() if isinstance(data, dict) else values:
        yield from ((key, *way) for way in places_in(value))


def with_value(data: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Return plain data with another value in a place."""
    if not place:
        return value
    copied = data.copy()
    copied[place[0]] = with_value(data[place[0]], place[1:], value)
    return copied
