"""Every view takes time in proportion to the prompt."""

from collections.abc import Callable
from time import process_time

import pytest

from promptdsl import Rendered, Section, System, Timeline, User, render
from tests.lines_run import times_more
from tests.renders import reported

HALF = "<Section 'a' at x: not rendered>"


def turns(count: int) -> Rendered:
    """Return a request of many messages."""
    return render(Timeline(*(User(f"Hi {n}.", merge=False) for n in range(count))), counter=len)


def one_text(text: str) -> Callable[[int], Rendered]:
    """Return what renders a text that often."""
    return lambda count: render(System(Section("a", text * count)), counter=len)


def viewing(
    written: Callable[[int], Rendered], view: Callable[[Rendered], object]
) -> Callable[[int], Callable[[], object]]:
    """Return what makes a view of a prompt of some size."""

    def work(count: int) -> Callable[[], object]:
        rendered = written(count)
        return lambda: view(rendered)

    return work


def seconds(work: Callable[[], object]) -> float:
    """Return how long it takes."""
    start = process_time()
    work()
    return process_time() - start


every_view = pytest.mark.parametrize(
    "view",
    [
        str,
        repr,
        lambda rendered: rendered._repr_html_(),
        lambda rendered: rendered._repr_markdown_(),
        reported,
        lambda rendered: str(rendered.stages()[0].tree),
    ],
    ids=["text", "repr", "html", "markdown", "losses", "outline"],
)
every_prompt = pytest.mark.parametrize(
    "written",
    [
        turns,
        one_text("── user ──\n"),
        one_text("`" * 9 + "\n"),
        one_text("\u200b\n"),
        one_text(HALF),
    ],
    ids=["turns", "rules", "fences", "unseen", "outlines"],
)


@every_view
@every_prompt
def test_views_are_linear_work(
    written: Callable[[int], Rendered], view: Callable[[Rendered], object]
) -> None:
    """Ten times as many messages or lines are about ten times the work."""
    assert times_more(10, 50, viewing(written, view)) < 11


@pytest.mark.slow
@every_view
@every_prompt
def test_views_take_linear_time(
    written: Callable[[int], Rendered], view: Callable[[Rendered], object]
) -> None:
    """Ten times as many messages or lines take about ten times as long: squared is a hundred."""
    work = viewing(written, view)
    # What seems too slow is measured again.
    assert any(seconds(work(1_000)) < 24 * max(seconds(work(100)), 0.002) for _ in range(3))
