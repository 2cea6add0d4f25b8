"""Claims about no case at all are found; those about cases, or about what happened, are fine."""

import pytest

from tests.claims import Claims, noting

HELPERS = """
from types import SimpleNamespace

import pytest

EVERY = pytest.mark.parametrize("cases", [[], [1, 2]])


def wrong(cases):
    return [case for case in cases if case > 2]


def late(cases):
    for case in cases:
        if case > 2:
            yield case
"""
OVER_CASES = (
    "assert [] == [case for case in cases if case > 2]",
    "assert {} == {case: 1 for case in cases if case > 2}",
    "assert [] == [way for case in cases for way in sorted((case, 2)) if way > 2]",
    "assert [] == [way for way in (1, 2) for case in cases if way > 2]",
    "assert not [case for case in cases if case > 2]",
    "assert all(case < 3 for case in cases)",
    "assert [] == wrong(cases)",
    "assert () == tuple(late(cases))",
    "assert [] == [*sorted(wrong(cases))]",
    "found, count = wrong(cases), 1; assert [] == found",
    "wrong([1]); assert [] == wrong(cases)",
    "assert [] == wrong([]); assert [] == wrong(cases)",
)
OF_WHAT_HAPPENED = (
    "assert [] == cases",
    "assert [] == cases.copy()",
    "assert [] == SimpleNamespace(losses=cases).losses",
    "losses = cases; assert [] == [loss for loss in losses]",
    "log = SimpleNamespace(entries=cases); assert [] == [entry for entry in log.entries]",
    "assert cases == [case for case in cases]",
)


def ran(pytester: pytest.Pytester, code: str) -> Claims:
    """Return what was noted of tests."""
    file = pytester.makepyfile(test_some=code)
    claims = Claims()
    with noting(claims, pytester.path):
        pytester.inline_run(file, "--assert=plain", plugins=[claims])
    return claims


def test_claims_over_cases(pytester: pytest.Pytester) -> None:
    """A claim over no case is found, and one over two is not, also where a helper has the loop."""
    code = [f"@EVERY\ndef test_{n}(cases): {claim}" for n, claim in enumerate(OVER_CASES)]
    claims = ran(pytester, "\n".join([HELPERS, *code]))
    expected = [f"test_{n}[cases0]" for n in range(len(OVER_CASES))]
    assert expected == [test.rpartition("::")[2] for test in claims.empty]
    assert (12, 1) == (claims.seeing, claims.verdict())


def test_the_place_of_a_claim(pytester: pytest.Pytester) -> None:
    """A test is told with file and line of its claim."""
    claims = ran(pytester, "def test_it():\n    cases = []\n    assert [] == [*(c for c in cases)]")
    assert ["test_some.py:3 test_some.py::test_it"] == claims.empty


def test_other_claims(pytester: pytest.Pytester) -> None:
    """What says that nothing happened has no cases; without any claim the check fails as well."""
    code = [f"def test_{n}(cases=[]): {claim}" for n, claim in enumerate(OF_WHAT_HAPPENED)]
    claims = ran(pytester, "\n".join([HELPERS, *code]))
    assert ([], 0, 2) == (claims.empty, claims.seeing, claims.verdict())
