"""What must be true of the prompts, whatever their words are."""

from datetime import date

import pytest

from promptdsl import Timeline, render
from promptdsl.testing import (
    assert_fits,
    assert_injection_safe,
    assert_no_losses,
    assert_section,
)
from support_desk.prompts import Account, answer, hand_over

TODAY = date(2026, 5, 29)
MODELS = ("gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro")


def answer_ann(question: str, plan: str = "Pro") -> Timeline:
    """Return the prompt for a question of Ann, who has no history yet."""
    return answer(question, [], Account("Ann Lee", plan), invoice=1881, today=TODAY)


@pytest.mark.parametrize("model", MODELS)
def test_no_text_is_lost(model: str) -> None:
    """Every model gets the complete prompt; only cache marks and roles may differ."""
    assert_no_losses(render(answer_ann("Hi."), model=model))


def test_it_stays_small() -> None:
    """Without a history the prompt has at most 400 tokens."""
    assert_fits(render(answer_ann("Hi."), model="gpt-5"), tokens=400)


def test_the_rules_come_before_the_escalation() -> None:
    """The rule on passwords is in the rules, and the rules are before the escalation."""
    rendered = render(answer_ann("Hi."))
    assert_section(rendered, "rules", contains="Never ask for a password", before="escalation")


@pytest.mark.parametrize("argument", ["question", "plan"])
def test_no_customer_changes_the_prompt(argument: str) -> None:
    """A text that a customer writes or chooses changes no other text."""
    assert_injection_safe(answer_ann, argument, question="Hi.")


def test_no_team_changes_the_summary() -> None:
    """The name of a team is a value, wherever it comes from."""
    assert_injection_safe(hand_over, "team", history=[])
