"""Whole reports of the linter: files and comments beside others, code and prompts of one line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptdsl import *
from promptdsl.checking import RULES, Checker, CheckReport, CheckSettings, Finding
from tests.errors import raised

Looked = Callable[..., list[str]]


def report_lines(checker: Checker) -> list[str]:
    """Return what a report tells, each finding without its advice."""
    report = checker.report()
    findings = [str(it).partition(";")[0] for it in report.findings]
    return [*findings, report.summary, *report.unread]


@pytest.fixture
def looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Looked:
    """Return a function from files to what is reported about them, and of the prompts in some."""
    monkeypatch.chdir(tmp_path)

    def looked(files: dict[str, str], *run: str, **settings: Any) -> list[str]:  # Any: of settings
        checker = Checker(CheckSettings(**settings))
        for name, text in files.items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(text, "utf-8")
        checker.paths(["."])
        for name in run:
            names: dict[str, Any] = {}
            exec(compile(files[name], str(tmp_path / name), "exec"), names)
            checker.prompt(render(names["prompt"], model="gemini-2.5-pro"))
        return report_lines(checker)

    return looked


IN_A = """\
from promptdsl import *
import time
def f(x): System(Section("a", f"{x}"), Section("a", "b"))
with System() as prompt:
    with Section("a", title="A"):
        "Never."
    Text("{{ x }}", str(time.time()))
    with Section("b", title="B"):
        "Never."
    Section("c", "", title="C")
"""
IN_B = """\
from promptdsl import *
def f(x):
    prompt = System(Section("a", "", title="A"), "{{ y }}")
    return prompt
prompt = f("x")
def g(x): User(f"{x}")
def h(x): Developer(f"{x}", "x %s" % x)
"""


def test_code_and_prompts_of_two_files(looked: Looked) -> None:
    """What is found in the code hides what is found in the prompt at its line, in no other file."""
    assert [
        "a.py:3:31: PD101 an f-string makes the text of `x` an instruction",
        "a.py:3:40: PD104 two sibling sections have the id 'a', the other in line 3",
        "a.py:6:9: PD105 a string on a line of its own is not sent",
        "a.py:7: PD205 '{{ x }}' is sent unchanged: a string is not a template",
        "a.py:7:25: PD102 time.time() changes the instruction in each request, so it is never "
        "read from a cache",
        "a.py:9:9: PD105 a string on a line of its own is not sent",
        "a.py:10: PD104 section c: it has a title but no content",
        "b.py:3: PD104 section a: it has a title but no content",
        "b.py:3: PD205 '{{ y }}' is sent unchanged: a string is not a template",
        "b.py:7:21: PD101 an f-string makes the text of `x` an instruction",
        "b.py:7:29: PD101 % makes the text of `x` an instruction",
        "3 files and 2 prompts checked, 11 findings",
    ] == looked({"b.py": IN_B, "a.py": IN_A, "sub/none.py": "x = 1"}, "a.py", "b.py")


COMMENTS = """\
from promptdsl import *
import time
def f(x, y):
    System(f"{x}", str(time.time()))  # promptdsl: ignore[PD101]
    System(f"{x}", str(time.time()))  # promptdsl: ignore[PD102,PD101]
    System(f"{x}")  # promptdsl: ignore[PD102, PD101, PD103, PD104]
    System(f"{x}")  # promptdsl: ignore[PD101] promptdsl: ignore[PD102]
    with System():  # promptdsl: ignore[PD101]
        Text(f"{x}")
        with Section("a"):  # promptdsl: ignore[PD102]
            Text(str(time.time()), f"{y}")
        Text(str(time.time()))
    Text("x"); System(f"{y}")
    System(
        f"{x}",  # promptdsl: ignore[PD101]
        f"{y}",
    )
    System(
        f"{x}",
        str(time.time()),  # promptdsl: ignore[PD102]
    )  # promptdsl: ignore[PD101]
    System(
        f"{x}", str(time.time())
    )  # promptdsl: ignore[PD102]
    if x is None:  # promptdsl: ignore[PD101]
        System(f"{y}")
    System("a")  # promptdsl: ignore[PD205, PD999, hints, PD1]
    System("a")  # promptdsl: ignore[]
    System("a")  # promptdsl: ignore and PD101
    with User():  # promptdsl: ignore[PD102]
        Text(f"{x}")
    System("# promptdsl: ignore[PD101]", f"{x}")
"""
CHANGES = "changes the instruction in each request, so it is never read from a cache"
BUILT = "an f-string makes the text of"


def test_comments_beside_each_other(looked: Looked) -> None:
    """Each id of each comment is about its line, its statement or its block, and no other."""
    assert [
        f"a.py:4:24: PD102 time.time() {CHANGES}",
        "a.py:6: PD001 the comment ignores PD102, but PD102 has no finding here",
        "a.py:7: PD001 the comment ignores PD102, but PD102 has no finding here",
        f"a.py:12:18: PD102 time.time() {CHANGES}",
        f"a.py:13:23: PD101 {BUILT} `y` an instruction",
        f"a.py:23:9: PD101 {BUILT} `x` an instruction",
        "a.py:25: PD001 the comment ignores PD101, but PD101 has no finding here",
        f"a.py:26:16: PD101 {BUILT} `y` an instruction",
        "a.py:27: PD001 'PD1' in the comment is not a rule",
        "a.py:27: PD001 'PD999' in the comment is not a rule",
        "a.py:28: PD001 the comment names no rule",
        "a.py:29: PD001 the comment names no rule",
        "a.py:30: PD001 the comment ignores PD102, but PD102 has no finding here",
        f"a.py:32:42: PD101 {BUILT} `x` an instruction",
        "1 file and 0 prompts checked, 14 findings",
    ] == looked({"a.py": COMMENTS})


def test_comments_about_rules_that_are_not_selected(looked: Looked) -> None:
    """A comment is unused only if its rule looks and finds nothing there."""
    assert [
        f"a.py:4:24: PD102 time.time() {CHANGES}",
        "a.py:6: PD001 the comment ignores PD102, but PD102 has no finding here",
        "a.py:7: PD001 the comment ignores PD102, but PD102 has no finding here",
        f"a.py:12:18: PD102 time.time() {CHANGES}",
        "a.py:27: PD001 'PD1' in the comment is not a rule",
        "a.py:27: PD001 'PD999' in the comment is not a rule",
        "a.py:28: PD001 the comment names no rule",
        "a.py:29: PD001 the comment names no rule",
        "a.py:30: PD001 the comment ignores PD102, but PD102 has no finding here",
        "1 file and 0 prompts checked, 9 findings",
    ] == looked({"a.py": COMMENTS}, select=("PD0", "PD102"))


HEAD = '---\ninputs:\n  plan: str\n  a_plan: str\n  tone: str = "x"\n---\n'
TEMPLATES = {
    "a.j2": f"{HEAD}{{{{ plan }}}}\n{{% include 'gone.j2' %}}\n{{% include 'part.j2' %}}\n"
    "{% include './lost.j2' %}{% include 'rules:tone' %}",
    "b.jinja": f"{HEAD}{{{{ a_plan }}}} {{{{ tone }}}}\n{{{{ x }}}}",
    "c.jinja2": f"{HEAD}{{# promptdsl: ignore[PD103] #}}\n{{# promptdsl: ignore[PD104] #}}",
    "d.j2": "---\nname: d\n---\n{{ x }}{% other %}",
    "e.j2": "{{ x }}",
    "f.j2": f"{HEAD}{{{{ plan }}}}{{{{ a_plan }}}}{{{{ tone }}}}\n\n{{% if plan %}}\n",
    "sub/part.j2": "{{ x }}",
    "sub/g.j2": f"{HEAD}{{% include 'e.j2' %}}{{% include 'part.j2' %}}{{% include 'f.j' %}}",
    "sub/h.j2": HEAD.replace("tone", "# promptdsl: ignore[PD103]\n  tone") + "{{ plan }}",
}


def test_templates_beside_each_other(looked: Looked) -> None:
    """Each input that is not used and each template that is not there has its own line."""
    absent = "is not in this folder, above it, or among the checked files"
    assert [
        f"a.j2:8: PD103 the template 'gone.j2' {absent}",
        f"a.j2:10: PD103 the template './lost.j2' {absent}",
        "b.jinja:8: PD103 template 'b.jinja', line 8: 'x' is not an input",
        "c.jinja2:3: PD103 the template does not use 'plan'",
        "c.jinja2:4: PD103 the template does not use 'a_plan'",
        "c.jinja2:5: PD103 the template does not use 'tone'",
        "f.j2:9: PD103 template 'f.j2', line 9: Unexpected end of template. Jinja was looking for "
        "the following tags: 'elif' or 'else' or 'endif'. The innermost block that needs to be "
        "closed is 'if'.",
        f"sub/g.j2:7: PD103 the template 'f.j' {absent}",
        "sub/h.j2:4: PD103 the template does not use 'a_plan'",
        "sub/h.j2:6: PD103 the template does not use 'tone'",
        "9 files and 0 prompts checked, 10 findings",
    ] == looked(TEMPLATES)


def test_a_template_of_an_earlier_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A template is there if it was looked at in an earlier call, or in one path of several."""
    monkeypatch.chdir(tmp_path)
    body = "{{ a }}{% include 'one.j2' %}{% include 'two.j2' %}{% include 'three.j2' %}"
    texts = {
        "a/one.j2": "1",
        "b/two.j2": "2",
        "c/three.j2": "3",
        "d/x.j2": f"---\ninputs:\n  a: str\n---\n{body}",
    }
    for name, text in texts.items():
        Path(name).parent.mkdir()
        Path(name).write_text(text, "utf-8")
    checker = Checker()
    checker.paths(["a", "a/one.j2"])
    checker.paths(["d", "b", "d/x.j2"])
    assert [
        "d/x.j2:5: PD103 the template 'three.j2' is not in this folder, above it, or among the "
        "checked files",
        "3 files and 0 prompts checked, 1 finding",
    ] == report_lines(checker)


def test_files_that_are_passed_over(looked: Looked) -> None:
    """Of two files that cannot be read each is named; hidden and excluded ones are passed over."""
    bad = "from promptdsl import *\ndef f(x): System(f'{x}')\n"
    names = ("b.py", "z.py", ".hidden.py", ".git/a.py", "venv/a.py", "old/a.py", "old.py", "a.txt")
    files = {
        **dict.fromkeys(names, bad),
        "y.py": "promptdsl (",
        "c.py": "import promptdsl\n1 +",
        "d.py": "(",
    }
    assert [
        f"b.py:2:18: PD101 {BUILT} `x` an instruction",
        f"z.py:2:18: PD101 {BUILT} `x` an instruction",
        "3 files and 0 prompts checked, 2 findings",
        "c.py: invalid syntax (line 2)",
        "y.py: '(' was never closed (line 1)",
    ] == looked(files, exclude=("old", "old.py"))


def test_prompts_that_cannot_be_rendered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is found at the first of its lines that is in a file, if no comment is there."""
    monkeypatch.chdir(tmp_path)
    line = "System(Section('a'), Section('a'))"
    text = f"from promptdsl import *\n{line}\n\n# promptdsl: ignore[PD002]\nx = 1\n"
    Path("a.py").write_text(text, "utf-8")
    Path("b.py").write_text("\n\n", "utf-8")
    checker = Checker()
    checker.paths(["a.py"])
    places = {
        "one": ["<input>:3", "gone.py:1", "a.py:3", "b.py:1"],
        "two": ["a.py:2", "b.py:1"],
        "three": ["a.py:4", "b.py:1"],
        "four": ["gone.py:1"],
        "five": [],
        "six": ["b.py:2", "a.py:3"],
    }
    for name, at in places.items():
        checker.failed(name, PromptError(f"of {name}", fix="", at=at))
    assert [
        "a.py:2:22: PD104 two sibling sections have the id 'a', the other in line 2",
        "a.py:3: PD002 the prompt cannot be rendered: of one",
        "b.py:2: PD002 the prompt cannot be rendered: of six",
        "five: PD002 the prompt cannot be rendered: of five",
        "four: PD002 the prompt cannot be rendered: of four",
        "1 file and 6 prompts checked, 5 findings",
    ] == report_lines(checker)
    silent = Checker(CheckSettings(ignore=("PD002", "PD1")))
    silent.failed("one", PromptError("x", fix="y", at=[]))
    assert ["0 files and 1 prompt checked, 0 findings"] == report_lines(silent)


HINTED = """\
from promptdsl import *
prompt = Timeline(
    Tool(name="a", input_schema={"type": "object"}),
    System(Section("a", "", title="A")),
    User(Section("b", "", title="B"), "b", name="ann"),
)
"""
HINTS = {
    "tool": "a.py:3: PD201 no description (a): a model chooses tools by their descriptions",
    "one": "a.py:4: PD104 section a: it has a title but no content",
    "two": "a.py:5: PD104 section b (user[0]/b): it has a title but no content",
    "name": "a.py:5: hints name of a speaker (user[0]): the target takes no speaker's name",
}


@pytest.mark.parametrize(
    ("select", "ignore", "expected"),
    [
        (("PD", "hints"), (), ["tool", "one", "two", "name"]),
        (("PD", "hints"), ("PD104",), ["tool", "name"]),
        (("PD", "hints"), ("hints", "PD2"), ["one", "two"]),
        (("PD201", "hints"), (), ["tool", "name"]),
        (("PD1", "PD201"), (), ["tool", "one", "two"]),
        (("PD0", "PD101"), (), []),
    ],
)
def test_hints_by_the_rules_that_take_them(
    select: tuple[str, ...], ignore: tuple[str, ...], expected: list[str], looked: Looked
) -> None:
    """A hint belongs to its rule or to all hints, and is found only where this is selected."""
    *findings, _ = looked({"a.py": HINTED}, "a.py", select=select, ignore=ignore)
    assert [HINTS[it] for it in expected] == findings


@pytest.mark.parametrize(
    ("findings", "files", "prompts", "summary"),
    [
        (0, 0, 0, "0 files and 0 prompts checked, 0 findings"),
        (1, 1, 1, "1 file and 1 prompt checked, 1 finding"),
        (2, 1, 3, "1 file and 3 prompts checked, 2 findings"),
        (1, 1_000, 2, "1,000 files and 2 prompts checked, 1 finding"),
    ],
)
def test_summaries(findings: int, files: int, prompts: int, summary: str) -> None:
    """A summary has the right count of each, one of them in the singular."""
    finding = Finding("a.py", 1, 1, "PD101", "a", "b")
    assert summary == CheckReport((finding,) * findings, files, prompts).summary


def test_places_of_findings() -> None:
    """A place has the line and the column that are known, and a finding is one line."""
    assert ["a.py:1:2: P m; f", "a.py:1: P m; f", "a: P m\\nn; f"] == [
        str(Finding(*it))
        for it in (
            ("a.py", 1, 2, "P", "m", "f"),
            ("a.py", 1, 0, "P", "m", "f"),
            ("a", 0, 0, "P", "m\nn", "f"),
        )
    ]


SELECTED = {
    (("PD1", "PD203"), ("PD101", "PD104")): "PD102 PD103 PD105 PD203",
    (("PD20",), ("PD202", "PD20")): "",
    (("PD0", "hints"), ()): "PD001 PD002 hints",
    (("hints", "PD21"), ("PD2",)): "hints",
    (("PD",), ("PD1", "PD20")): "PD001 PD002 PD210",
    ((), ()): "",
}


@pytest.mark.parametrize(("select", "ignore"), SELECTED)
def test_rules_that_are_selected(select: tuple[str, ...], ignore: tuple[str, ...]) -> None:
    """A rule looks if one of several beginnings is its own, and none of those to leave out is."""
    settings = CheckSettings(select=select, ignore=ignore)
    assert SELECTED[select, ignore].split() == [
        it for it in (*RULES, "hints") if settings.selects(it)
    ]


def test_settings_that_are_changed() -> None:
    """Other rules replace those there were, rules to leave out are added; the rest stays."""
    before = CheckSettings(("PD1",), ("PD101",), ("a", "b"), ("c.py:d",), ("gpt-5", "o3"))
    assert before == before.changed()
    assert CheckSettings(
        ("PD2", "hints"), ("PD101", "PD209", "PD210"), ("a", "b"), ("c.py:d",), ("gpt-5", "o3")
    ) == before.changed(select=iter(["PD2", "hints"]), ignore=iter(["PD209", "PD210"]))


def test_settings_of_the_nearest_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest pyproject.toml counts alone; names of files are those from the folder."""
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text(
        '[tool.promptdsl.check]\nselect = ["PD1", "PD2"]\nignore = ["PD101", "PD202"]\n'
        'exclude = ["x", "y.py"]\nmodels = ["gpt-5", "o3"]\n'
        'targets = ["shop.py:one", "pkg.mod:two", "../other.py:three", "b/shop.py:four"]\n'
        '[tool.other]\nselect = ["E"]\n',
        "utf-8",
    )
    (tmp_path / "pyproject.toml").write_text('[tool.promptdsl.check]\nselect = ["PD9"]\n', "utf-8")
    rules = (("PD1", "PD2"), ("PD101", "PD202"), ("x", "y.py"))
    models = ("gpt-5", "o3")
    monkeypatch.chdir(tmp_path / "a")
    here = ("shop.py:one", "pkg.mod:two", "../other.py:three", "b/shop.py:four")
    assert CheckSettings(*rules, here, models) == CheckSettings.near()
    monkeypatch.chdir(tmp_path / "a" / "b" / "c")
    below = ("../../shop.py:one", "pkg.mod:two", "../../../other.py:three", "../../b/shop.py:four")
    assert CheckSettings(*rules, below, models) == CheckSettings.near()
    (tmp_path / "a" / "b" / "pyproject.toml").write_text("[tool.promptdsl]\nx = 1\n", "utf-8")
    assert CheckSettings() == CheckSettings.near()


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"select": ("PD1", "PD9")}, "there is no rule 'PD9'"),
        ({"select": ("PD1", ""), "ignore": ("PD8",)}, "there is no rule ''"),
        ({"ignore": ("PD101", "PD1011")}, "there is no rule 'PD1011'"),
        ({"select": ("hints", "hintss")}, "there is no rule 'hintss'"),
    ],
)
def test_the_second_of_two_names_is_wrong(settings: dict[str, Any], what: str) -> None:
    """Each name of a rule is looked up, in both settings."""
    assert what == raised(ConfigError, lambda: CheckSettings(**settings)).what


@pytest.mark.parametrize(
    ("toml", "what"),
    [
        ('select = ["PD1"]\nignor = ["PD2"]', "[tool.promptdsl.check] has no 'ignor'"),
        ('select = ["PD1"]\nmodels = "gpt-5"', "models in [tool.promptdsl.check] is not a list"),
        ('exclude = ["a", 1]', "exclude in [tool.promptdsl.check] is not a list of strings"),
        ("targets = []\nmodels = [1]", "models in [tool.promptdsl.check] is not a list of strings"),
    ],
)
def test_the_second_of_two_settings_is_wrong(toml: str, what: str, tmp_path: Path) -> None:
    """Each setting of the table is looked at, and each text of its list."""
    (tmp_path / "pyproject.toml").write_text(f"[tool.promptdsl.check]\n{toml}\n", "utf-8")
    assert what in raised(ConfigError, lambda: CheckSettings.near(str(tmp_path))).what
