"""The page on the prompts of a run of pytest: ``--prompt-report=FILE``."""

import re

import pytest

from tests.testing.projects import Project

TESTS = """
RULE = "Be kind."

def support(question):
    return Timeline(System(Section("rules", RULE)), User(question), Event(UserAction("left")))

def test_one(prompt_snapshot):
    prompt_snapshot(support("one"))

@pytest.mark.prompt_models("gpt-5", "claude-opus-5-5")
def test_models(prompt_snapshot):
    prompt_snapshot(support("two"))

def test_same(prompt_snapshot):
    prompt_snapshot(User("same"))
"""
FOLDER = "__snapshots__/test_a/"


@pytest.fixture
def changed(project: Project) -> Project:
    """Return a project with a rule that changed after its snapshots were written."""
    project.write(test_a=TESTS)
    project.update()
    project.write(test_a=TESTS.replace("kind", "brief"))
    return project


def failure_sections(project: Project) -> str:
    """Return what a run says of failing tests; its summary repeats that where ``CI`` is set."""
    return project.run().partition("short test summary")[0]


def test_equal_changes_are_shown_once(changed: Project) -> None:
    """The first test that fails shows the lines; another has its summary, and names the first."""
    alike = f"The same changes are shown for {FOLDER}test_one.prompt.txt."
    shown_text = failure_sections(changed)
    assert [1, 1, 2] == [
        shown_text.count(t) for t in ("+ Be brief.", alike, "`rules` changed: 1 line")
    ]
    changed.write(test_a=TESTS.replace("kind", "brief").replace('"two"', '"2"'))
    shown_text = failure_sections(changed)
    assert [2, 0] == [shown_text.count(text) for text in ("+ Be brief.", "The same changes")]


def test_an_expected_failure_shows_no_changes_for_another(project: Project) -> None:
    """Nobody reads the lines of a test that is expected to fail: the next one shows its own."""
    project.write(test_a=TESTS)
    project.update()
    changed = TESTS.replace("kind", "brief").replace(
        "def test_one", "@pytest.mark.xfail\ndef test_one"
    )
    project.write(test_a=changed)
    text = failure_sections(project)
    assert [1, 0] == [text.count(words) for words in ("+ Be brief.", "The same changes")]


def counts(project: Project, file: str = "report.html") -> dict[str, int]:
    """Return how many prompts the page of a run has of each kind."""
    page = project.folder.joinpath(file).read_text("utf-8")
    return {it[1]: int(it[0]) for it in re.findall(r"<b>(\d+)</b> (\w+)</li>", page)}


def names(project: Project, status: str) -> list[str]:
    """Return the names of the prompts of one kind."""
    page = project.folder.joinpath("report.html").read_text("utf-8")
    cards = re.findall(rf"<h3>(.*?)</h3>[^\n]*<span class={status}>", page)
    titles = [re.sub("<.*?>", "", card).removeprefix(FOLDER) for card in cards]
    return [title for title in titles if title.endswith(".txt")]  # the others are of changes


def test_a_rule_that_changed(changed: Project) -> None:
    """It is shown once, with the prompts it is in, those of models too; the run tells the file."""
    shown_text = changed.run("--prompt-report=report.html")
    assert f"prompt report: {changed.folder}/report.html" in shown_text
    assert {"changed": 4, "same": 1} == counts(changed)
    models = [f"test_models{model}.prompt.txt" for model in (".claude-opus-5-5", ".gpt-5", "")]
    assert [*models, "test_one.prompt.txt"] == names(changed, "changed")
    page = changed.folder.joinpath("report.html").read_text("utf-8")
    assert 1 == page.count("<td>Be <del>kind</del>.</td><td>Be <ins>brief</ins>.</td>")


def test_an_update_is_reported(changed: Project) -> None:
    """The page of an update is that of the failing run before it; then nothing differs."""
    changed.run("--prompt-report=before.html")
    changed.update("--prompt-report=report.html")
    before, update = (
        changed.folder.joinpath(f"{name}.html").read_bytes() for name in ("before", "report")
    )
    assert before == update
    changed.run("--prompt-report=report.html")
    assert {"same": 5} == counts(changed)


@pytest.mark.slow
def test_workers_of_xdist(changed: Project) -> None:
    """With workers the page is the same."""
    changed.write(test_a=TESTS.replace("kind", "brief").replace("_same", "_new"))
    changed.run("--prompt-report=alone.html", apart=True)
    changed.run("--prompt-report=report.html", "-n", "2", apart=True)
    alone, workers = (
        changed.folder.joinpath(f"{name}.html").read_bytes() for name in ("alone", "report")
    )
    assert {"changed": 4, "renamed": 1} == counts(changed)
    assert alone == workers


def test_prompts_that_come_and_go(project: Project) -> None:
    """A new prompt, one whose test is gone, one whose test was renamed."""
    project.write(test_a=TESTS)
    project.update()
    new = TESTS.replace("test_one", "test_new").replace('"one"', '"new"')
    project.write(test_a=new.replace("test_same", "test_other"))
    project.run("--prompt-report=report.html")
    assert ["test_new.prompt.txt"] == names(project, "added")
    assert ["test_one.prompt.txt"] == names(project, "removed")
    assert ["test_other.prompt.txt"] == names(project, "renamed")
    assert {"added": 1, "removed": 1, "renamed": 1, "same": 3} == counts(project)


def test_snapshots_that_cannot_be_read(changed: Project) -> None:
    """The report names a file that is no snapshot, and one with a merge conflict."""
    folder = changed.folder / FOLDER
    folder.joinpath("test_one.prompt.txt").write_text("no snapshot\n")
    same = folder / "test_same.prompt.txt"
    same.write_text(same.read_text().replace("same", "<<<<<<< a\nsame\n>>>>>>> b"))
    changed.run("--prompt-report=report.html")
    assert ["test_one.prompt.txt", "test_same.prompt.txt"] == names(changed, "unreadable")
    page = changed.folder.joinpath("report.html").read_text("utf-8")
    assert "line 1 of the snapshot is not &#x27;---&#x27;" in page
    assert "it has a merge conflict" in page


def test_the_folder_of_the_report_is_made(project: Project) -> None:
    """A path with folders that are not there yet is fine."""
    project.write(test_a=TESTS)
    project.run("--prompt-report=build/prompts/report.html", "-k", "test_same")
    assert {"added": 1} == counts(project, "build/prompts/report.html")


def test_a_report_that_cannot_be_written(project: Project) -> None:
    """A folder is refused before the first test; a later problem is shown at the end."""
    project.write(test_a="def test_nothing(): pass")
    shown_text = project.here(f"--prompt-report={project.folder}")
    shown_text.stderr.fnmatch_lines(
        ["ERROR: --prompt-report=* is not a file: write --prompt-report=prompts.html"]
    )
    shown_text = project.here("--prompt-report=test_a.py/report.html")
    shown_text.stdout.fnmatch_lines(
        ["the prompt report */test_a.py/report.html cannot be written: *"]
    )


def test_a_run_without_snapshots(project: Project) -> None:
    """The page says that there was nothing to compare."""
    project.write(test_a="def test_nothing(): pass")
    project.run("--prompt-report=report.html")
    page = project.folder.joinpath("report.html").read_text("utf-8")
    assert "<h1>No difference in 0 prompts</h1>" in page


@pytest.mark.slow
def test_the_report_is_loaded_with_its_option_alone(project: Project) -> None:
    """A run without the option loads nothing that compares prompts."""
    body = """
import sys
import pytest

@pytest.mark.usefixtures("prompt_snapshot")
def test_loaded():
    assert [] == [it for it in sys.modules if it.startswith("promptdsl") and it.endswith(".report")]
"""
    project.write(test_a=body)
    assert "1 passed" in project.run(apart=True)


TWO_MODELS = """
def talk(rule):
    thought = Reasoning("Hm.", signature="c2ln", origin="anthropic")
    return Timeline(System(rule), User("a"), Assistant(thought, "b"), User("c"))

@pytest.mark.prompt_models("gpt-5", "claude-opus-5-5", "gpt-4o")
def test_both(prompt_snapshot):
    prompt_snapshot(talk("one"))
    prompt_snapshot(talk("two"), name="second")

@pytest.mark.prompt_models("gpt-4o", "gpt-5")
def test_other(prompt_snapshot):
    prompt_snapshot(User("three"))
"""


def test_models_that_differ_in_what_they_get(project: Project) -> None:
    """Each model is compared by the prompt without a model, not by the model before it."""
    project.write(test_a=TWO_MODELS)
    project.update()
    project.run("--prompt-report=report.html")
    assert {"same": 11} == counts(project)


def test_some_of_several_prompts_for_models(project: Project) -> None:
    """Of two prompts of a test one changed, for each model; of the other tests none did."""
    project.write(test_a=TWO_MODELS)
    project.update()
    project.write(test_a=TWO_MODELS.replace('"two"', '"2"'))
    project.run("--prompt-report=report.html")
    assert {"changed": 4, "same": 7} == counts(project)
    models = (".claude-opus-5-5", ".gpt-4o", ".gpt-5", "")
    assert [f"test_both[second]{it}.prompt.txt" for it in models] == names(project, "changed")


AGAIN = """
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    runtestprotocol(item, nextitem=None, log=True)
    item._initrequest()
    runtestprotocol(item, nextitem=nextitem)
    return True
"""
REPEATED = """
CALLS = []
def text(first, second):
    CALLS.append(1)
    return User(first if len(CALLS) % 2 else second)
def test_one(prompt_snapshot):
    prompt_snapshot(text("a", "a"))
def test_two(prompt_snapshot):
    prompt_snapshot(text("a", "a"))
def test_three(prompt_snapshot):
    prompt_snapshot(text("a", "a"))
"""


def test_a_prompt_that_differs_in_one_of_two_runs(project: Project) -> None:
    """A test that is run twice differs if its prompt did in the first run or in the second."""
    project.write(conftest=AGAIN, test_a=REPEATED)
    project.update()
    body = REPEATED.replace('"a", "a"', '"b", "a"', 1)
    project.write(test_a=body[::-1].replace('"a" ,"a"', '"b" ,"a"', 1)[::-1])
    project.run("--prompt-report=report.html")
    assert {"changed": 2, "same": 1} == counts(project)
    assert ["test_one.prompt.txt", "test_three.prompt.txt"] == names(project, "changed")


def test_two_prompts_of_each_kind(project: Project) -> None:
    """Two that come, go, change, are renamed and stay: each is counted and named once."""
    tests = {
        name: f"\ndef test_{name}(prompt_snapshot):\n    prompt_snapshot(User({text!r}))\n"
        for name, text in (
            *(("a1", "same 1"), ("a2", "same 2"), ("b1", "old 1"), ("b2", "old 2")),
            *(("c1", "gone 1"), ("c2", "gone 2"), ("d1", "moved 1"), ("d2", "moved 2")),
        )
    }
    project.write(test_a="".join(tests.values()), test_z=tests["a1"])
    project.update()
    del tests["c1"], tests["c2"]
    now = "".join(tests.values()).replace("old", "new")
    now = now.replace("test_d1", "test_f2").replace("test_d2", "test_f1")
    added = tests["a1"].replace("a1", "e1").replace("same", "added")
    added += tests["a2"].replace("a2", "e2").replace("same", "added")
    project.write(test_a=now + added)
    project.run("--prompt-report=report.html")
    kinds = ("added", "removed", "renamed", "changed")
    assert {
        "added": ["test_e1.prompt.txt", "test_e2.prompt.txt"],
        "removed": ["test_c1.prompt.txt", "test_c2.prompt.txt"],
        "renamed": ["test_f1.prompt.txt", "test_f2.prompt.txt"],
        "changed": ["test_b1.prompt.txt", "test_b2.prompt.txt"],
    } == {kind: names(project, kind) for kind in kinds}
    assert {**dict.fromkeys(kinds, 2), "same": 3} == counts(project)
    page = project.folder.joinpath("report.html").read_text("utf-8")
    moves = re.findall(
        r"(test_f.).prompt.txt renamed \nIt was .*(test_d.)", re.sub("<.*?>", "", page)
    )
    assert [("test_f1", "test_d2"), ("test_f2", "test_d1")] == moves
