"""What reports say of prompts with two of each thing, whole, as the files of cases have it."""

import pytest

from tests.cases_file import unlike_cases
from tests.reports import compared_pairs, request_cases


@pytest.mark.parametrize("family", compared_pairs.PAIRS)
def test_each_two_of_a_family(family: str) -> None:
    """What two requests share, their blocks and first difference are as written for each pair."""
    assert [] == unlike_cases(compared_pairs.__file__, compared_pairs.PAIRS, family)


@pytest.mark.parametrize("case", request_cases.REQUESTS)
def test_two_of_each_thing_in_a_request(case: str) -> None:
    """Counts, records, attributes and views of a request are whole, and in its order."""
    assert [] == unlike_cases(request_cases.__file__, request_cases.REQUESTS, case)
