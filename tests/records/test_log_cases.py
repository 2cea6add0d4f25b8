"""What logs with two of each thing hold, and what is read of damaged ones, as a file has it."""

import pytest

from tests.cases_file import unlike_cases
from tests.records import log_cases


@pytest.mark.parametrize("case", ["written", "read"])
def test_two_of_each_thing_in_a_log(case: str) -> None:
    """Lines hold each value once and in order; of damaged ones the good are read."""
    names = [name for name in log_cases.LOGS if name.startswith("read: ") == (case == "read")]
    assert [] == unlike_cases(log_cases.__file__, log_cases.LOGS, *names)
