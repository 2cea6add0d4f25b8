"""What a reader chooses: the newest choice is shown, and none is lost."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.preview.running import SUPPORT, Preview, has_error, has_page, preview

pytestmark = pytest.mark.slow
TARGETS = ("support.py:answer", "--model", "claude-sonnet-4-5", "--budget", "230")
SLOW = (
    SUPPORT.replace('"I am ",', 'Lazy(wait), "I am ",')
    + """

def wait(context: LazyContext) -> str:
    import os

    while os.path.exists("slow"):
        pass
    return "x"
"""
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preview]:
    """Return a preview that shows its first page."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "support.py").write_text(SUPPORT)
    with preview(folder, *TARGETS) as running:
        running.follow()
        running.wait(has_page)
        yield running


def chosen(running: Preview, **choices: Any) -> dict[str, Any]:
    """Choose something, and return the first state afterwards that has been made."""
    since = len(running.states)
    running.choose(**choices)
    return running.wait(
        lambda state: not state["work"] and ("page" in state or state["error"]), since
    )


def dropped_in(state: dict[str, Any]) -> int:
    """Return how many tokens the page of a state leaves out."""
    figures: dict[str, int] = state["page"]["prompts"][0]["requests"][0]["figures"]
    return figures["dropped"]


def test_a_budget(running: Preview) -> None:
    """Another budget drops other parts; one that is too small is an error over the last page."""
    assert dropped_in(chosen(running, budget=150)) > 0
    state = chosen(running, budget=5)
    assert (5, True) == (state["error"]["budget"]["limit"], state["hasPage"])
    assert 0 == dropped_in(chosen(running))


def test_a_model_and_payloads(running: Preview) -> None:
    """Another model, and payloads for other targets; an unknown name is an error."""
    state = chosen(running, model="gpt-5", targets=["gemini"])
    (request,) = state["page"]["prompts"][0]["requests"]
    values = json.dumps(state["page"]["values"])
    assert ["gpt-5", "gemini"] == [*request["targets"]]
    assert '"contents"' in values
    assert dropped_in(chosen(running)) == 0


def test_the_newest_choice(running: Preview) -> None:
    """Of many choices the last one is shown, and as started is one of them."""
    since = len(running.states)
    for budget in range(100, 230):
        running.choose(budget=budget)
    running.choose()
    expected_choices = {"prompt": None, "budget": None, "model": None, "targets": []}
    state = running.wait(
        lambda state: (
            not state["work"]
            and "page" in state
            and state["choices"] == expected_choices
            and dropped_in(state) == 0
        ),
        since,
    )
    assert state["choices"] == expected_choices
    assert len([row for row in running.states[since:] if "page" in row]) < 130


def test_an_answer_that_is_slow(project: Path) -> None:
    """An answer that takes longer than its limit is ended, and the next choice is shown."""
    (project / "support.py").write_text(SLOW)
    with preview(project, *TARGETS) as running:
        running.follow()
        running.wait(has_page)
        (project / "slow").touch()
        running.choose(budget=150)
        assert "ran longer than" in running.wait(has_error)["error"]["what"]
        (project / "slow").unlink()
        assert 0 == dropped_in(chosen(running))


def test_several_prompts(project: Path) -> None:
    """A folder, a file and a library have all their prompts; the one that is chosen is rendered."""
    (project / "more.py").write_text(
        "from promptdsl import *\n\n\ndef find(query: str) -> str:\n    return query\n\n\n"
        "def first() -> Timeline:\n    return Timeline(System('One.'))\n\n\n"
        "SECOND = Timeline(System('Two.'))\nPART = System('Three.')\n"
    )
    with preview(project, ".", "starter", "--model", "gpt-5") as running:
        running.follow()
        state = running.wait(has_page)
        assert ["more.py:first", "more.py:SECOND", "support.py:answer"] == state["names"][:3]
        assert "starter:untrusted" in state["names"]
        assert "One." in json.dumps(state["page"])
        state = chosen(running, prompt="more.py:SECOND")
        assert ["Two.", "more.py:SECOND"] == [
            text for text in ("One.", "Two.", state["prompt"]) if text in json.dumps(state)
        ][-2:]
        state = chosen(running, prompt="starter:untrusted")
        assert "starter:untrusted" == state["prompt"]


def test_a_prompt_that_needs_longer(project: Path) -> None:
    """The first render of another prompt has its own limit; what was ended can be chosen again."""
    (project / "support.py").write_text(
        "import os, time\nfrom promptdsl import *\n\n\n"
        "def first() -> Timeline:\n    return Timeline(System('One.'))\n\n\n"
        "def second() -> Timeline:\n    return Timeline(System('Two.'), User(Lazy(wait)))\n\n\n"
        "def wait(context: LazyContext) -> str:\n"
        "    time.sleep(60 if os.path.exists('slow') else 2.5)\n    return 'x'\n"
    )
    with preview(project, "support.py", "--timeout", "8") as running:
        running.follow()
        running.wait(has_page)
        assert "Two." in json.dumps(chosen(running, prompt="support.py:second")["page"])
        (project / "slow").touch()
        state = chosen(running, prompt="support.py:second")
        assert "the prompt ran longer than 5" in state["error"]["what"]
        (project / "slow").unlink()
        assert "Two." in json.dumps(chosen(running, prompt="support.py:second")["page"])


def test_named_inputs(project: Path) -> None:
    """Each of the named inputs of a function is a prompt of the list; a save changes them, too."""
    file = project / "cases.py"
    file.write_text('CASES = {"ann": {"name": "Ann"}, "bo": {"name": "Bo"}}\n')
    with preview(project, "support.py:answer", "--inputs", "cases.py:CASES") as running:
        running.follow()
        state = running.wait(has_page)
        assert ["support.py:answer (ann)", "support.py:answer (bo)"] == state["names"]
        assert "I am Ann." in json.dumps(state["page"])
        assert "I am Bo." in json.dumps(chosen(running, prompt="support.py:answer (bo)")["page"])
        since = len(running.states)
        file.write_text('CASES = {"bo": {"name": "Bo Lee"}}\n')
        assert "I am Bo Lee." in running.shown(has_page, since)
