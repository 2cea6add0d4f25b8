"""What is kept and told of prompts with two of each thing, whole, as the files of cases have it."""

import pytest

from tests.cases_file import unlike_cases
from tests.comparing import difference_cases, report_cases, snapshot_cases


@pytest.mark.parametrize("case", snapshot_cases.FILES)
def test_snapshots_of_two_of_each_thing(case: str) -> None:
    """A snapshot, those of models beside it, and those of payloads have each thing in its place."""
    assert [] == unlike_cases(snapshot_cases.__file__, snapshot_cases.FILES, case)


@pytest.mark.parametrize("family", difference_cases.DIFFERENCES)
def test_differences_of_two_of_each_thing(family: str) -> None:
    """Each change of two snapshots is reported once, with its kind and its place on both sides."""
    assert [] == unlike_cases(difference_cases.__file__, difference_cases.DIFFERENCES, family)


@pytest.mark.parametrize("case", report_cases.REPORTS)
def test_reports_on_two_of_each_thing(case: str) -> None:
    """Reports, prefixes, tokens and alignments tell each of two things, in order."""
    assert [] == unlike_cases(report_cases.__file__, report_cases.REPORTS, case)
