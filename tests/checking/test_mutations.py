"""Mistakes that are put into good examples are found, and nothing else is."""

import pytest

from tests.checking.mutations import NAMES, table


@pytest.mark.parametrize(
    ("names", "count"),
    [(NAMES[:1], 14), pytest.param(NAMES, 60, marks=pytest.mark.slow)],
    ids=["one", "all"],
)
def test_mistakes_in_examples(names: tuple[str, ...], count: int) -> None:
    """Each rule finds nine in ten of its mistakes, and no rule finds something else."""
    rows = table(names, count)
    assert [] == [rule for rule, (made, found, _) in rows.items() if found < 0.9 * made]
    assert {0} == {others for _, _, others in rows.values()}
