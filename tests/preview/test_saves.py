"""What a preview shows after a save: the page, or an error over the last page."""

import json
import os
import py_compile
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.preview.running import SUPPORT, Preview, has_error, has_page, preview

pytestmark = pytest.mark.slow
OPTIONS = ("support.py:answer", "--model", "claude-sonnet-4-5", "--budget", "230")


@pytest.fixture
def running(project: Path) -> Iterator[Preview]:
    """Return a preview that shows its first page."""
    with preview(project, *OPTIONS) as running:
        running.follow()
        running.wait(has_page)
        yield running


def saved(running: Preview, file: Path, text: str, is_wanted: Any = has_page) -> dict[str, Any]:
    """Save a file, and return the first state afterwards for which a condition holds."""
    since = len(running.states)
    file.write_text(text)
    return running.wait(is_wanted, since)


def sentences_in(state: dict[str, Any]) -> list[str]:
    """Return what the differ says of the requests of a page."""
    values = state["page"]["values"]
    return [row["sentence"] for row in values if isinstance(row, dict) and "sentence" in row]


def test_changes(running: Preview, project: Path) -> None:
    """The page of a save has what changed since the one before, in the words of the differ."""
    state = saved(running, project / "support.py", SUPPORT.replace("kind", "brief"))
    page = json.dumps(state["page"])
    assert [True, True] == ["Be brief." in page, "Be kind." in page]
    assert ["`role` changed: 1 line"] == sentences_in(state)
    again = saved(running, project / "support.py", SUPPORT.replace("kind", "brief") + "\n")
    assert "Be kind." in json.dumps(again["page"])  # a save that changes nothing is not compared


def test_an_error(running: Preview, project: Path) -> None:
    """An error names its line and has the code around it; who opens the page then sees both."""
    code = SUPPORT.replace("Grounding", "Grouding", 1)
    state = saved(running, project / "support.py", code, has_error)
    line = code[: code.index("Grouding")].count("\n") + 1
    expected = ("NameError: name 'Grouding' is not defined", [f"support.py:{line}"])
    assert expected == (state["error"]["what"], state["error"]["at"])
    assert line in [row["line"] for row in state["error"]["code"]]
    since = len(running.states)
    running.follow()
    opened = running.wait(lambda state: "page" in state, since)
    assert state["error"] == opened["error"]
    assert "Be kind." in json.dumps(opened["page"])
    assert saved(running, project / "support.py", SUPPORT)["error"] is None


def test_a_syntax_error(running: Preview, project: Path) -> None:
    """A syntax error has the line that Python names."""
    state = saved(running, project / "support.py", SUPPORT + "\nx = (\n", has_error)
    assert state["error"]["what"].startswith("SyntaxError: ")
    assert f"support.py:{SUPPORT.count(chr(10)) + 2}" == state["error"]["at"][0]
    assert saved(running, project / "support.py", SUPPORT)["error"] is None


def test_a_file_that_is_removed(running: Preview, project: Path) -> None:
    """A file that is removed is an error until it is there again."""
    since = len(running.states)
    (project / "support.py").unlink()
    state = running.wait(has_error, since)
    assert "no such file: support.py" in state["error"]["what"]
    assert saved(running, project / "support.py", SUPPORT)["error"] is None


def test_a_target_that_is_gone(running: Preview, project: Path) -> None:
    """A name that vanished is an error that says which one."""
    code = SUPPORT.replace("def answer", "def reply")
    state = saved(running, project / "support.py", code, has_error)
    assert "has no name 'answer'" in state["error"]["what"]


def test_templates_and_texts(project: Path) -> None:
    """Files that the code reads are followed; the error of a template has the template's line."""
    (project / "rule.md.j2").write_text("Be {{ how }}.\n")
    (project / "note.txt").write_text("A note.")
    (project / "support.py").write_text(
        "from pathlib import Path\nfrom promptdsl import *\n"
        "def answer() -> System:\n    text = Path('note.txt').read_text()\n"
        "    return System(Template(Path('rule.md.j2'), how='kind'), text)\n"
    )
    with preview(project, "support.py:answer") as running:
        running.follow()
        assert "Be kind." in running.shown(has_page)
        state = saved(running, project / "note.txt", "Another note.")
        assert "Another note." in json.dumps(state["page"])
        state = saved(running, project / "rule.md.j2", "Be very {{ how }}.\n")
        assert "Be very kind." in json.dumps(state["page"])
        state = saved(running, project / "rule.md.j2", "Hi.\n\nBe {{ who }}.\n", has_error)
        assert "rule.md.j2:3" in state["error"]["at"][0]
        assert "Be {{ who }}." in [row["text"] for row in state["error"]["code"]]


def test_a_module_that_was_missing(project: Path) -> None:
    """A module that is written after the error of its import is seen."""
    code = "from rules import RULE\n" + SUPPORT.replace('RULE = "Be kind."', "")
    (project / "support.py").write_text(code)
    with preview(project, *OPTIONS) as running:
        running.follow()
        state = running.wait(has_error)
        assert "No module named 'rules'" in state["error"]["what"]
        assert "Be exact." in json.dumps(saved(running, project / "rules.py", "RULE = 'Be exact.'"))
        assert "Be calm." in json.dumps(saved(running, project / "rules.py", "RULE = 'Be calm.'"))


def test_a_text_that_was_missing(project: Path) -> None:
    """After an error each new file is tried, once: nothing opens what a template includes."""
    rule = 'Path("rule.md").exists() and Path("rule.md").read_text() or 1 / 0'
    code = SUPPORT.replace('"Be kind."', rule)
    (project / "support.py").write_text(f"from pathlib import Path\n{code}")
    with preview(project, *OPTIONS) as running:
        running.follow()
        assert "ZeroDivisionError" in running.wait(has_error)["error"]["what"]
        assert "Be exact." in json.dumps(saved(running, project / "rule.md", "Be exact."))


def test_a_new_file_of_code_with_an_error(project: Path) -> None:
    """A file that code with an error writes each time is tried once: that would never end."""
    line = 'import os; os.path.exists("x") and os.remove("x"); os.mknod("x"); 1 / 0'
    (project / "support.py").write_text(SUPPORT.replace("    with", f"    {line}\n    with", 1))
    with preview(project, *OPTIONS) as running:
        running.follow()
        running.wait(has_error)
        time.sleep(3)
        assert running.states[-1]["renders"] <= 2


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes there alone")
def test_a_name_that_is_no_text(project: Path) -> None:
    """A file whose name is no UTF-8 does not end the preview."""
    with preview(project, *OPTIONS) as running:
        running.follow()
        running.wait(has_page)
        name = os.path.join(os.fsencode(project), b"\xff.md")
        for text in ("a", "b"):
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
            time.sleep(0.4)
        state = saved(running, project / "support.py", SUPPORT.replace("kind", "brief"))
        assert "Be brief." in json.dumps(state["page"])


def test_a_save_during_an_import(project: Path) -> None:
    """A module that Python has compiled before is followed from when it was loaded."""
    (project / "rules.py").write_text("RULE = 'Be exact.'\n")
    py_compile.compile(str(project / "rules.py"))
    (project / "slow.py").write_text("open('began', 'w').close()\nimport time; time.sleep(2)\n")
    code = "from rules import RULE\nimport slow\n" + SUPPORT.replace('RULE = "Be kind."', "")
    (project / "support.py").write_text(code)
    with preview(project, *OPTIONS) as running:
        running.follow()
        running.wait(lambda _: (project / "began").exists())
        (project / "rules.py").write_text("RULE = 'Be very calm.'\n")
        running.wait(lambda state: "Be very calm." in json.dumps(state.get("page")))


def test_a_file_that_changes_all_the_time(project: Path) -> None:
    """Where a file changes faster than the code is imported, a page is shown now and then."""
    (project / "tick.txt").write_text("0")
    code = SUPPORT.replace('RULE = "Be kind."', "RULE = open('tick.txt').read()")
    (project / "support.py").write_text("import time; time.sleep(1.5)\n" + code)
    with preview(project, *OPTIONS) as running:
        running.follow()
        since = running.wait(has_page)["version"]
        for number in range(30):
            (project / "tick.txt").write_text(f"tick {number}")
            time.sleep(0.3)
        assert [row for row in running.states if row["version"] > since and "page" in row]


@pytest.mark.parametrize("options", [(), ("--cold",)])
def test_fifty_saves_in_a_second(project: Path, options: tuple[str, ...]) -> None:
    """Many saves cost at most three renders, and the last one is shown."""
    with preview(project, *OPTIONS, *options) as running:
        running.follow()
        before = running.wait(has_page)["renders"]
        since = len(running.states)
        for number in range(50):
            (project / "support.py").write_text(SUPPORT.replace("Be kind.", f"Be kind {number}."))
            os.sched_yield()
        last = running.wait(lambda state: "Be kind 49." in json.dumps(state.get("page")), since)
        assert 1 <= last["renders"] - before <= 3


WRITES = """
    import os, pathlib, time
    file, new = pathlib.Path("cache.txt"), pathlib.Path("new.txt")
    file.exists() and file.read_text()
    new.write_text(str(time.time()))
    os.replace(new, file)
"""
"""Code that reads a file and replaces it, as a cache does."""


def test_a_file_that_the_code_writes(project: Path) -> None:
    """A file that the code itself writes is not followed: that would never end."""
    code = SUPPORT.replace("    with", f"{WRITES}    with", 1)
    (project / "support.py").write_text(code)
    with preview(project, *OPTIONS) as running:
        running.follow()
        first = running.wait(has_page)
        for word in ("brief", "exact"):
            state = saved(running, project / "support.py", code.replace("kind", word))
        since = len(running.states)
        running.choose(budget=150)
        state = running.wait(lambda state: "page" in state, since)
        assert 2 == state["renders"] - first["renders"]


def test_cold_children(project: Path) -> None:
    """Where nothing can be forked, each save starts a new process, and the page can say so."""
    with preview(project, *OPTIONS, "--cold") as running:
        running.follow()
        first = running.wait(has_page)
        assert first["isCold"]
        state = saved(running, project / "support.py", SUPPORT.replace("kind", "brief"))
        assert "Be brief." in json.dumps(state["page"])
        since = len(running.states)
        running.choose(budget=150)
        state = running.wait(lambda state: "page" in state, since)
        assert 150 == state["choices"]["budget"]
