"""``assert_checked`` and ``pytest --prompt-check``: what is found in the prompts of tests."""

import pytest

from promptdsl import *
from promptdsl.testing import assert_checked
from tests.errors import this_line

WRONG = render(System("You work for {{ shop }}."))


def test_a_good_prompt_passes() -> None:
    """A prompt without findings passes, and so does one whose findings are ignored."""
    assert_checked(render(System("Be brief.")))
    assert_checked(WRONG, ignore=["PD205"])
    assert_checked(WRONG, select=["PD1"])


def test_a_finding_fails() -> None:
    """A failure is the line of a finding, with its file and what to do."""
    rendered, line = render(System("You work for {{ shop }}.")), this_line()
    with pytest.raises(AssertionError) as caught:
        assert_checked(rendered)
    place, _, shown_text = str(caught.value).partition(": ")
    assert place.endswith(f"test_checked.py:{line}")
    assert shown_text == (
        "PD205 '{{ shop }}' is sent unchanged: a string is not a template; "
        "write Template.from_string(...), or Value(...) there"
    )


SEVERAL = [
    render(System("Be brief.")),
    render(System("Work for {{ shop }}.")),
    render(Timeline(User("a"), System("Be\u200b brief."))),
]


@pytest.mark.parametrize(
    ("select", "ignore", "expected"),
    [
        (["PD"], [], ["PD205", "PD206", "PD207"]),
        (["PD"], ["PD205"], ["PD206", "PD207"]),
        (["PD"], ["PD206", "PD205"], ["PD207"]),
        (["PD206", "PD205"], [], ["PD205", "PD206"]),
        (["PD206", "PD205"], ["PD206"], ["PD205"]),
        (["PD207"], ["PD1"], ["PD207"]),
    ],
)
def test_findings_of_several_prompts(
    select: list[str], ignore: list[str], expected: list[str]
) -> None:
    """A failure has all that is found in all prompts, but for the rules that are left out."""
    with pytest.raises(AssertionError) as caught:
        assert_checked(*SEVERAL, select=select, ignore=ignore)
    assert expected == [it.split(": ")[1].split()[0] for it in str(caught.value).split("\n")]


def test_what_is_no_prompt() -> None:
    """A tree and an unknown rule are errors that say what to do."""
    with pytest.raises(ContentError, match="render the prompt first"):
        assert_checked(System("Be brief."))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="did you mean"):
        assert_checked(WRONG, ignore=["PD925"])


TESTS = """
import pytest
from promptdsl import System, Timeline, User, Video

def test_prompt(prompt_snapshot):
    prompt_snapshot(System("You work for {{ shop }}."))

@pytest.mark.prompt_models("gpt-5")
def test_models(prompt_snapshot):
    prompt_snapshot(User("a", Video.from_url("https://example.com/a.mp4")))
"""


def test_the_prompts_of_a_run(pytester: pytest.Pytester) -> None:
    """With the option, every prompt of the fixture is looked at, for its models too."""
    pytester.makepyfile(TESTS)
    pytester.runpytest_inprocess("--snapshot-update").assert_outcomes(passed=2)
    pytester.runpytest_inprocess().assert_outcomes(passed=2)
    went = pytester.runpytest_inprocess("--prompt-check")
    went.assert_outcomes(failed=2)
    went.stdout.fnmatch_lines(["*py:5: PD205 '{{ shop }}' is sent*", "*py:9: PD210 *gpt-5*"])
