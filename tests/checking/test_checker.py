"""Files, comments, settings and hostile values: what the linter looks at, and how."""

import ast
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from promptdsl.checking import Checker, CheckSettings
from tests.hostile import HOSTILE
from tests.searching import examples

Find = Callable[..., list[str]]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('def f(x): System(f"{x}")  # promptdsl: ignore[PD101]', []),
        ('def f(x): System(f"{x}")  # promptdsl: ignore[PD102, PD101] why', ["PD001:1"]),
        ('def f(x): System(f"{x}")  # promptdsl: ignore', ["PD001:1", "PD101:1"]),
        ('System("a")  # promptdsl:ignore[pd101]', ["PD001:1"]),
        ('System("a")  # promptdsl: ignore[PD1] # promptdsl: ignore[PD102]', ["PD001:1"] * 2),
        ('System("a")  # promptdsl: ignored', []),
        ('def f(x): System(f"{x}", "# promptdsl: ignore[PD101]")', ["PD101:1"]),
        ('def f(x):\n    System(f"""\n{x}""")  # promptdsl: ignore[PD101]', []),
        ('def f(x):\n    with System():  # promptdsl: ignore[PD101]\n        Text(f"{x}")', []),
        (
            'def f(x):\n    with System():  # promptdsl: ignore[PD101]\n        Text("a")',
            ["PD001:2"],
        ),
        (
            "def f(x):\n    with System(\n"
            '        id="a",  # promptdsl: ignore[PD101]\n    ):\n        Text(f"{x}")',
            [],
        ),
        (
            "def f(x):\n    with System():\n"
            '        Text(f"{x}")  # promptdsl: ignore[PD101]\n        Text(f"{x}")',
            ["PD101:4"],
        ),
        (
            'def f(x):\n    with System():\n        with Section("a"):'
            '  # promptdsl: ignore[PD101]\n            Text(f"{x}")\n        Text(f"{x}")',
            ["PD101:5"],
        ),
        ('System("a")  # promptdsl: ignore[PD999]', ["PD001:1"]),
        ('System("a")  # promptdsl: ignore[PD205]', []),
        ('prompt = System("a")  # promptdsl: ignore[PD205]', []),
        ('prompt = System("{{ a }}")  # promptdsl: ignore[PD205]', []),
    ],
)
def test_comments(code: str, expected: list[str], findings_of: Find) -> None:
    """A comment lets a finding of its line, statement or block stand; an unused one is found."""
    assert expected == findings_of(f"{code}\n", run=code.startswith("prompt"))


def test_templates_in_folders(tmp_path: Path) -> None:
    """Templates that declare inputs are looked at, and their comments hold."""
    folder = tmp_path / "prompts"
    folder.mkdir()
    head = "---\ninputs:\n  a: str\n  b: str\n---\n"
    files = {
        "good.md.j2": head + "{{ a }} {{ b }}{% include 'part.md.j2' %}",
        "part.md.j2": "Anything {{ x }}",
        "unused.md.j2": head + "{{ a }}",
        "unknown.md.j2": head + "{{ a }} {{ b }}\n{{ c }}",
        "absent.md.j2": head + "{{ a }} {{ b }}\n{% include 'parts.md.j2' %}",
        "ignored.md.j2": head + "{{ a }} {{ b }}\n{{ c }} {# promptdsl: ignore[PD103] #}",
        "page.html.jinja": "{% other %}",
    }
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    checker = Checker()
    checker.paths([str(tmp_path)])
    report = checker.report()
    assert ["absent.md.j2:7", "unknown.md.j2:7", "unused.md.j2:4"] == [
        f"{os.path.basename(it.file)}:{it.line}" for it in report.findings
    ]
    assert "7 files and 0 prompts checked, 3 findings" == report.summary


SUM = b"from promptdsl import System\ndef f(x):\n    System('a'%s)"


def test_what_is_no_python_is_passed_over(tmp_path: Path) -> None:
    """Files with errors, of other languages and encodings are no findings and no crash."""
    bad = {
        "a.py": b"promptdsl (",
        "b.py": b"promptdsl\xff\x00",
        "deep.py": b"import promptdsl\nx = " + b"-" * 100_000 + b"1",
        "sum.py": b"from promptdsl import System\ndef f(x):\n    System('a'"
        + b" + x" * 3_000
        + b")",
        "d/c.txt": b"x",
        ".#e.py": b"promptdsl (",
    }
    good = {
        "long.py": b"from promptdsl import System\ndef f(x):\n    System('a'"
        + b" + x" * 300
        + b")",
        "bom.j2": b"\xef\xbb\xbf---\ninputs:\n  a: str\n---\nb",
    }
    (tmp_path / "d").mkdir()
    for name, data in (bad | good).items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "gone.py").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe.j2")
    (tmp_path / "self").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "loop.py").symlink_to("loop.py")
    checker = Checker()
    checker.paths([str(tmp_path), str(tmp_path / "d/c.txt")])
    report = checker.report()
    assert (2, ["PD101", "PD103"]) == (report.files, sorted(it.rule for it in report.findings))
    assert ["a.py", "b.py", "c.txt", "deep.py", "gone.py", "loop.py", "pipe.j2", "sum.py"] == [
        re.split("[/:]", it.partition(": ")[0])[-1] for it in report.unread
    ]


def test_time_of_names_and_comments(tmp_path: Path) -> None:
    """Neither names that are made of each other nor comments take long."""
    names = "\n".join(f"    a{n} = f'{{a{n + 1}}}{{a{n + 1}}}'" for n in range(40))
    code = f"from promptdsl import System\ndef f(x):\n{names}\n    System(f'{{a0}}')\n"
    code += "System(f'{input()}')  # promptdsl: ignore[PD101]\n" * 500
    (tmp_path / "a.py").write_text(code, "utf-8")
    checker, start = Checker(), time.perf_counter()
    checker.paths([str(tmp_path)])
    assert () == checker.report().findings
    assert time.perf_counter() - start < 5


def test_templates_beside_and_above(tmp_path: Path) -> None:
    """A template that is included may be on disk: beside a file, or in a folder above it."""
    (tmp_path / "a").mkdir()
    (tmp_path / "rules.j2").write_text("Rules.", "utf-8")
    text = "---\ninputs:\n  a: str\n---\n{{ a }}{% include 'rules.j2' %}{% include 'no.j2' %}"
    (tmp_path / "a" / "x.j2").write_text(text, "utf-8")
    checker = Checker()
    checker.paths([str(tmp_path / "a" / "x.j2")])
    assert ["no.j2"] == [it.message.split("'")[1] for it in checker.report().findings]


def test_a_template_whose_name_ends_alike(tmp_path: Path) -> None:
    """A template is not there because another one has a longer name with the same end."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "xrules.j2").write_text("Rules.", "utf-8")
    (tmp_path / "b" / "tone.j2").write_text("Tone.", "utf-8")
    text = "---\ninputs:\n  a: str\n---\n{{ a }}{% include 'rules.j2' %}{% include 'tone.j2' %}"
    (tmp_path / "a" / "x.j2").write_text(text, "utf-8")
    checker = Checker()
    checker.paths([str(tmp_path)])
    assert ["rules.j2"] == [it.message.split("'")[1] for it in checker.report().findings]


def test_what_is_excluded(tmp_path: Path) -> None:
    """A file and a folder are passed over by their names, in every folder."""
    for name in ("a.py", "old.py", "below/old.py", "below/b.py", "drafts/c.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(SUM % b" + x")
    checker = Checker(CheckSettings(exclude=("old.py", "drafts")))
    checker.paths([str(tmp_path)])
    found = [it.file.removeprefix(f"{tmp_path}/") for it in checker.report().findings]
    assert ["a.py", "below/b.py"] == sorted(found)


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ('select = ["PD1"]\nignore = ["PD104"]', (("PD1",), ("PD104",))),
        ("", (("PD",), ())),
    ],
)
def test_settings(toml: str, expected: object, tmp_path: Path) -> None:
    """The nearest pyproject.toml has the settings."""
    (tmp_path / "pyproject.toml").write_text(f"[tool.promptdsl.check]\n{toml}\n", "utf-8")
    (tmp_path / "below").mkdir()
    settings = CheckSettings.near(str(tmp_path / "below"))
    assert expected == (settings.select, settings.ignore)


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        ('selct = ["PD1"]', "has no 'selct'"),
        ('select = "PD1"', "select in [tool.promptdsl.check] is not a list of strings"),
        ('select = ["PD9"]', "there is no rule 'PD9'"),
        ("select = [", "cannot be read"),
        ("[tool]\npromptdsl = 1", "[tool.promptdsl.check] is not a table"),
        ("tool = 1", "[tool.promptdsl.check] is not a table"),
        ("[tool.promptdsl]\ncheck = true", "[tool.promptdsl.check] is not a table"),
    ],
)
def test_wrong_settings(toml: str, problem: str, tmp_path: Path) -> None:
    """A wrong setting is an error that names it."""
    head = "" if "promptdsl" in toml or "tool" in toml else "[tool.promptdsl.check]\n"
    (tmp_path / "pyproject.toml").write_text(f"{head}{toml}\n", "utf-8")
    with pytest.raises(ConfigError) as caught:
        CheckSettings.near(str(tmp_path))
    assert problem in caught.value.what


def everywhere(text: str) -> Timeline:
    """Return a prompt that has a value wherever one can be."""
    with Timeline() as prompt:
        with System("Be brief."):
            Section("plan", "Plan: ", Value(text), title=Value(text))
            Template.from_string("A {{ x }} b", x=text)
        History([{"role": "user", "content": text}, {"role": "assistant", "content": text}])
        User("Q: ", Value(text), text)
        Assistant(ToolUse("lookup", {"a": text}, id="c1"))
        ToolMessage("c1", text)
        with Event():
            UserAction("opened", target=text)
        Grounding("facts", text, title=text)
        User(text)
    return prompt


ODD = ("# a\n### b", "{{ x }}", "`lookup_oder(` tool", "a\u200b\u202e", "\ud800", "x: %s {y}", "")


def judged(text: str) -> list[str]:
    """Return what is found in a prompt with a text as its values."""
    checker = Checker(CheckSettings(ignore=("PD104",)))  # an empty value may empty its container
    checker.prompt(render(everywhere(text)))
    checker.prompt(render(everywhere(text), model="gpt-5"))
    return [str(it) for it in checker.report().findings]


@pytest.mark.parametrize("text", [*ODD, *HOSTILE[:20]], ids=repr)
def test_values_are_never_judged(text: str) -> None:
    """No value, no recorded text and no call is a finding."""
    assert [] == judged(text)


@pytest.mark.slow
def test_no_hostile_value_is_judged() -> None:
    """None of the corpus of hostile texts is."""
    assert [] == [it for it in HOSTILE if judged(it)]


@examples(40)
@given(st.text())
def test_any_value_is_never_judged(text: str) -> None:
    """No text at all is."""
    assert [] == judged(text)


FILE = """
from promptdsl import Section, System, Text, Timeline, User, Value, render

RULES = "Be brief."


def support(question: str, plan: str) -> Timeline:
    with Timeline() as prompt:
        with System():
            Section("role", f"You are an agent. {RULES}")
            with Section("plan", title="Plan"):
                Text("Plan: ", Value(plan))
        User(question)
    return prompt
""" + "".join(
    f"\n\ndef helper_{n}(x):\n    return [it + {n} for it in x if it]\n" for n in range(20)
)


@pytest.mark.parametrize("count", [20, pytest.param(1_000, marks=pytest.mark.slow)])
def test_time(count: int, tmp_path: Path) -> None:
    """Looking at files takes at most ten times as long as parsing them."""
    for number in range(count):
        (tmp_path / f"f{number}.py").write_text(FILE, "utf-8")

    def look() -> None:
        checker = Checker()
        checker.paths([str(tmp_path)])
        assert (count, ()) == (checker.report().files, checker.report().findings)

    def parse() -> None:
        for path in tmp_path.iterdir():
            ast.parse(path.read_text("utf-8"))

    def least(run: Callable[[], None]) -> float:
        times: list[float] = []
        for _ in range(3):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        return min(times)

    ratio = least(look) / least(parse)
    print(f"{count} files: {ratio:.1f} times ast.parse")
    assert ratio <= 10
