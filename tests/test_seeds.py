"""Seeds: which examples properties try."""

import re
from pathlib import Path

import pytest
from hypothesis import settings

pytestmark = [pytest.mark.native, pytest.mark.slow]

PROPERTY = """
from hypothesis import given, strategies as st

import promptdsl
from tests.searching import examples

{imports}

@examples(100)
@given(st.text())
def test_text(text):
    print("tried", ascii(text))

def test_failure():
    assert False
"""
OTHER_IMPORTS = "promptdsl.render, promptdsl.Template, promptdsl.Table"
"""What loads modules of the package, whose texts Hypothesis would try otherwise."""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> "Run":
    """Give what runs a property in a process of its own."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    return Run(pytester)


class Run:
    """Runs of a property and of a test that fails."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester

    def __call__(self, *arguments: str, imports: str = "") -> str:
        """Return what a run writes."""
        self.pytester.makepyfile(PROPERTY.format(imports=imports))
        plugin = ("-p", "tests.seeds", "-p", "no:cacheprovider")
        return self.pytester.runpytest_subprocess(*plugin, "-q", "-s", *arguments).stdout.str()


def tried(output: str) -> list[str]:
    """Return the texts that a run tried."""
    return re.findall(r"tried (.*)", output)


def test_a_seed_chooses_the_examples(run: Run) -> None:
    """A seed tries other examples, the same ones in every process, and is said at the end."""
    one = "--hypothesis-seed=1"
    first, again = run(one), run(one, imports=OTHER_IMPORTS)
    other = run("--hypothesis-seed=2")
    assert tried(first) == tried(again)
    assert 25 == len(tried(first)) == len(tried(other))
    assert tried(first) != tried(other)
    assert [True, False] == [one in output for output in (first, other)]


def test_without_a_seed_the_examples_stay(run: Run) -> None:
    """Without a seed every process tries the same examples, whatever is loaded."""
    fast = "--hypothesis-profile=fast"
    usual, again = run(fast), run(fast, imports=OTHER_IMPORTS)
    assert 5 == len(tried(usual))
    assert tried(usual) == tried(again)
    assert "--hypothesis-seed" not in usual


def test_a_run_inside_of_a_run(pytester: pytest.Pytester) -> None:
    """What a run inside of this one tries decides nothing about the others of this one."""
    before = settings.default
    pytester.makepyfile("def test_nothing(): pass")
    pytester.runpytest_inprocess("-p", "tests.seeds").assert_outcomes(passed=1)
    assert before is settings.default
