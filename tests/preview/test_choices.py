"""What a page may choose, and what names the end of a prompt."""

from typing import Any

import pytest

from tests.internals import Choices, ended_problem, slow_problem, warm_up

NOTHING: dict[str, Any] = {"prompt": None, "budget": None, "model": None, "targets": []}


def test_choices() -> None:
    """Names and a number of tokens are choices."""
    assert Choices() == Choices.from_data(NOTHING)
    data = {"prompt": "a.py:b", "budget": 900, "model": "gpt-5", "targets": ["gemini"]}
    assert Choices("a.py:b", 900, "gpt-5", ("gemini",)) == Choices.from_data(data)


@pytest.mark.parametrize(
    "change",
    [
        {"budget": 0},
        {"budget": True},
        {"budget": 1.5},
        {"budget": "900"},
        {"budget": 10**10},
        {"model": ""},
        {"model": "x" * 501},
        {"prompt": 1},
        {"targets": "gpt-5"},
        {"targets": [""]},
        {"targets": ["x"] * 21},
        {"more": None},
    ],
)
def test_no_choices(change: dict[str, Any]) -> None:
    """Anything else is refused."""
    with pytest.raises(ValueError, match=r"is not a|that are not"):
        Choices.from_data({**NOTHING, **change})


@pytest.mark.parametrize("data", [None, [], "", 1, {}])
def test_no_object(data: object) -> None:
    """What is no object with these names is refused."""
    with pytest.raises(ValueError, match="an object with prompt, budget, model, targets"):
        Choices.from_data(data)


def test_the_end_of_a_prompt() -> None:
    """The end of a process names its code, its signal, or its limit."""
    assert [
        "the process of the prompt ended with the exit code 3",
        "the process of the prompt ended by the signal SIGKILL",
        "the process of the prompt ended by the signal 99",
        "the process that starts the processes of prompts has ended",
        "the prompt ran longer than 60 s, so it was ended",
    ] == [
        ended_problem(b"3", is_nursery=False)["what"],
        ended_problem(b"-9", is_nursery=False)["what"],
        ended_problem(b"-99", is_nursery=False)["what"],
        ended_problem(b"nursery", is_nursery=True)["what"],
        slow_problem(60, 60)["what"],
    ]


@pytest.mark.slow
def test_the_nursery_is_warm() -> None:
    """The prompt that warms the nursery renders: an error would leave it cold."""
    assert [] == warm_up()
