"""Two of a thing in a prompt: what is sent and told of each, from the whole to the refusal."""

import pytest

from tests.budget.two_of_each import PROMPTS, expected_steps, outcome

STEPS = expected_steps()


def test_every_prompt_has_its_steps() -> None:
    """The file has what each prompt comes to, and no other prompt."""
    assert [*STEPS] == [*PROMPTS]


@pytest.mark.parametrize("name", PROMPTS)
def test_what_is_sent_and_told(name: str) -> None:
    """What meets a budget to the token is sent, what went is told, and why less is refused."""
    assert STEPS[name] == {budget: outcome(name, int(budget)) for budget in STEPS[name]}
