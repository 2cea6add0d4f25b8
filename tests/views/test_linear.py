"""Every view takes time in proportion to the prompt."""

from collections.abc import Callable
from time import process_time

import pytest

from promptdsl import Rendered, Section, System, Timeline, User, render

HALF = "<Section 'a' at x: not rendered>"


def turns(count: int) -> Rendered:
    """Return a request of many messages."""
    return render(Timeline(*(User(f"Hi {n}.", merge=False) for n in range(count))), counter=len)


def one_text(text: str) -> Callable[[int], Rendered]:
    """Return what renders a text that often."""
    return lambda count: render(System(Section("a", text * count)), counter=len)


def seconds(view: Callable[[Rendered], object], rendered: Rendered) -> float:
    """Return how long a view takes."""
    start = process_time()
    view(rendered)
    return process_time() - start


@pytest.mark.parametrize(
    "view",
    [
        str,
        repr,
        lambda rendered: rendered._repr_html_(),
        lambda rendered: rendered._repr_markdown_(),
        lambda rendered: rendered.losses,
        lambda rendered: str(rendered.stages()[0].tree),
    ],
    ids=["text", "repr", "html", "markdown", "losses", "outline"],
)
@pytest.mark.parametrize(
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
def test_views_take_linear_time(
    written: Callable[[int], Rendered], view: Callable[[Rendered], object]
) -> None:
    """Ten times as many messages or lines take about ten times as long: squared is a hundred."""
    # What seems too slow is measured again.
    assert any(
        seconds(view, written(1_000)) < 40 * max(seconds(view, written(100)), 0.002)
        for _ in range(2)
    )
