"""The commands for section libraries: list, show, new, stubs, eject."""

import ast
import json
import os
import runpy
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import ParamSpec
from unittest.mock import DEFAULT, Mock

import pytest

from promptdsl import Library, System, Template, User, component, render
from tests.cli.conftest import Command
from tests.cli.project import installed_project
from tests.internals import stub_text
from tests.libraries.packages import installed, package
from tests.renders import ruled

P = ParamSpec("P")
SECTIONS = """\
desk:scope(topics, other='decline')
    Scope: What the assistant helps with, and what it does with other
    questions.
desk:tone(language='English', sentences=3)
    How answers sound: their language and their length.
"""
HOUSE = """\
from promptdsl import Library

house = Library("house", sections=[])
LIMIT = 3
"""
SCOPE = """\
You help with:

- refunds

Decline all other questions in one sentence.
"""
USAGE: Mapping[str, tuple[list[str], str]] = {
    "no library": (
        ["list", "dekk"],
        "promptdsl list: error: the library 'dekk' is not allowed: PROMPTDSL_LIBRARIES is 'desk': "
        "add the name to PROMPTDSL_LIBRARIES, or unset this variable",
    ),
    "no qualified name": (
        ["show", "scope"],
        "promptdsl show: error: 'scope' is not a section: write LIBRARY:NAME, such as "
        "starter:untrusted; promptdsl list LIBRARY lists the sections",
    ),
    "no section": (
        ["show", "desk:scop"],
        "promptdsl show: error: desk has no section 'scop': did you mean 'scope'?",
    ),
    "no section that is near": (
        ["show", "desk:nothing"],
        "promptdsl show: error: desk has no section 'nothing': known: scope, tone",
    ),
    "no input": (
        ["show", "desk:scope", "-p", "topic=x"],
        "promptdsl show: error: desk:scope has no input 'topic': did you mean 'topics'?",
    ),
    "no value of the type": (
        ["show", "desk:tone", "-p", "sentences"],
        "promptdsl show: error: -p sentences: write key=value, or key:=JSON",
    ),
    "no name of a library": (
        ["new", "library", "Help-Desk 2"],
        "promptdsl new: error: 'Help-Desk 2' is not a valid name of a library: write lower-case "
        "letters, digits and _, such as help_desk",
    ),
    "a list that is no JSON": (
        ["show", "desk:scope", "-p", "topics=orders"],
        "promptdsl show: error: -p topics=orders: input 'topics' takes list[str], not 'orders': "
        "give a value of that type; a list is JSON: -p 'topics=[\"...\"]'",
    ),
    "a device": (
        ["new", "section", "con"],
        "promptdsl new: error: 'con' cannot be the name of a file on Windows",
    ),
    "a type": (
        ["new", "section", "str"],
        "promptdsl new: error: 'str' is the name of a type: choose another name for the section",
    ),
    "a keyword": (
        ["new", "section", "class"],
        "promptdsl new: error: 'class' is a keyword of Python: choose another name for the section",
    ),
    "a name that is taken": (
        ["new", "library", "promptdsl-sections"],
        "promptdsl new: error: a library cannot have the name 'sections': name it after its "
        "topic, such as support",
    ),
    "no project": (
        ["new", "section", "refunds"],
        "promptdsl new: error: no folder from here up has a pyproject.toml: create a library with "
        "promptdsl new library NAME",
    ),
    "a function in a folder": (
        ["new", "section", "billing/refunds", "--function"],
        "promptdsl new: error: the name of a function cannot have a /: billing/refunds",
    ),
    "no module": (
        ["stubs", "desk.py"],
        "promptdsl stubs: error: desk.py is not a library: write module:name, such as "
        "promptdsl_support.library:support",
    ),
    "a module that only imports the library": (
        ["stubs", "promptdsl_desk:desk"],
        "promptdsl stubs: error: promptdsl_desk only imports desk: promptdsl stubs "
        "promptdsl_desk.library:desk",
    ),
    "no library in a module": (
        ["stubs", "promptdsl_desk.sections:tone"],
        "promptdsl stubs: error: promptdsl_desk.sections:tone is not a Library: its type is "
        "component",
    ),
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the project of the library ``desk``, which is installed."""
    with installed_project("desk", tmp_path_factory.mktemp("desk")) as folder:
        yield folder


@pytest.mark.usefixtures("desk")
def test_installed_libraries_are_listed(cli: Command) -> None:
    """A library is listed with its version and its package; the limit is a note."""
    note = "PROMPTDSL_LIBRARIES is 'desk': all other libraries are left out\n"
    assert (0, "desk  0.1.0  promptdsl-desk\n", note) == cli("list")


@pytest.mark.usefixtures("desk")
def test_listed_libraries_are_data_too(cli: Command) -> None:
    """With --json a library says where it is, and that there is no problem."""
    row = {"name": "desk", "version": "0.1.0", "package": "promptdsl-desk"}
    target = "promptdsl_desk.library:desk"
    assert [{**row, "target": target, "problem": None}] == json.loads(cli("list", "--json").out)


@pytest.mark.usefixtures("desk")
def test_the_sections_of_a_library_are_listed(cli: Command) -> None:
    """The list has the call of each section, and its purpose."""
    assert (0, SECTIONS, "") == cli("list", "desk")


@pytest.mark.usefixtures("desk")
def test_a_section_without_its_inputs_says_which_to_give(cli: Command) -> None:
    """Without a required input all but the text is shown, and how to give it."""
    run = cli("show", "desk:scope")
    last = "to see the rendered text, pass its inputs: -p 'topics=[...]'"
    assert (0, last, "") == (run.code, run.out.split("\n")[-2], run.err)


@pytest.mark.usefixtures("desk")
def test_a_template_that_fails_says_why(cli: Command, desk: Path) -> None:
    """Without front matter, an error names a missing input with its option, or says what failed."""
    for name, text, end in (
        ("share", "{{ n }}", "'n' is undefined: pass it with -p NAME=VALUE"),
        ("ratio", "{{ 1 / 0 }}", "ZeroDivisionError: division by zero: check the variables"),
    ):
        template = desk / "promptdsl_desk" / "templates" / f"{name}.md.j2"
        template.write_text(text, "utf-8")
        out = cli("show", f"desk:{name}").out
        template.unlink()
        assert " ".join(out.split()).endswith(end)


@pytest.mark.usefixtures("desk")
def test_a_section_shows_what_it_renders_to(cli: Command) -> None:
    """With its inputs, a section shows its rendered text and its tokens."""
    out = cli("show", "desk:scope", "-p", 'topics=["refunds"]', "--model", "gpt-5").out
    text = ruled(f"[system]\n{SCOPE}")
    assert f"\n{text}\n23 tokens: exact text, estimated frame\n" == out[out.index("\n── system") :]


@pytest.mark.usefixtures("desk")
def test_the_schema_of_inputs_is_data(cli: Command) -> None:
    """With --json the inputs of a section are a JSON schema."""
    shown = json.loads(cli("show", "desk:scope", "--json").out)
    schema = shown["schema"]
    assert ["topics"] == schema["required"] == shown["missing"]
    assert ["decline", "forward"] == schema["properties"]["other"]["enum"]


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize(("arguments", "error"), USAGE.values(), ids=USAGE)
def test_a_wrong_call_says_what_to_write(cli: Command, arguments: list[str], error: str) -> None:
    """A wrong call exits with 2, one line of advice, and no data."""
    assert (2, "", f"{error}\n") == cli(*arguments)


def test_a_file_that_is_there_is_kept(cli: Command, prompts: Path) -> None:
    """Nothing is written where one of the files of a new library exists."""
    (prompts / "mine").mkdir()
    (prompts / "mine" / "README.md").write_text("Mine.", "utf-8")
    run = cli("new", "library", "support", "--folder", "mine")
    there = "there is a file mine/README.md: --force replaces existing files"
    assert (2, f"promptdsl new: error: {there}\n") == (run.code, run.err)
    assert ["README.md"] == os.listdir(prompts / "mine")


def test_files_are_written_all_or_none(cli: Command, prompts: Path) -> None:
    """Where one of the files cannot be written, none is, and no folder is left."""
    (prompts / "mine" / "tests").mkdir(parents=True)
    (prompts / "mine" / "tests" / "__snapshots__").write_text("Mine.", "utf-8")
    error = "promptdsl new: error: cannot write mine/tests/__snapshots__: File exists\n"
    assert (2, "", error) == cli("new", "library", "support", "--folder", "mine")
    assert ["tests"] == os.listdir(prompts / "mine")


def test_a_new_section_is_an_entry_of_its_library(
    cli: Command, prompts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new function joins the list of its library, with a test and a snapshot."""
    cli("new", "library", "support")
    monkeypatch.chdir(prompts / "promptdsl-support" / "tests")
    run = cli("new", "section", "role", "--function")
    assert [
        "../promptdsl_support/library.py",
        "../promptdsl_support/sections.py",
        "__snapshots__/test_role/test_role.prompt.txt",
        "test_role.py",
    ] == run.out.split()
    library = (prompts / "promptdsl-support" / "promptdsl_support" / "library.py").read_text()
    assert "sections=[sections.tone, sections.role]" in library


def test_a_template_goes_into_a_folder_that_is_written_out(
    cli: Command, prompts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the folder of templates is no text, a new template is refused: nothing is written."""
    cli("new", "library", "support")
    module = prompts / "promptdsl-support" / "promptdsl_support" / "library.py"
    module.write_text(
        'from promptdsl import Library\n\nsupport = Library("support", templates=None)\n', "utf-8"
    )
    monkeypatch.chdir(prompts / "promptdsl-support")
    problem = 'promptdsl_support/library.py:3: to add a template, write templates="templates"'
    assert (2, "", f"promptdsl new: error: {problem}\n") == cli("new", "section", "role")
    assert 0 == cli("new", "section", "role", "--function").code


def test_a_section_joins_the_library_that_is_named(
    cli: Command, prompts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two libraries in a module, the one of the project gets a new section."""
    cli("new", "library", "support")
    module = prompts / "promptdsl-support" / "promptdsl_support" / "library.py"
    other = 'other = Library("other", templates="others")\n'
    module.write_text(
        f'from promptdsl import Library\n\n{other}support = Library("support")\n', "utf-8"
    )
    monkeypatch.chdir(prompts / "promptdsl-support")
    assert "promptdsl_support/templates/role.md.j2" in cli("new", "section", "role").out.split()


@pytest.mark.parametrize("name", ["samples", "my_sample"])
def test_a_library_called_like_the_sample(cli: Command, prompts: Path, name: str) -> None:
    """The name of a new library may contain the placeholder of the scaffold."""
    cli("new", "library", name)
    package = f"promptdsl-{name.replace('_', '-')}"
    lines = (prompts / package / "pyproject.toml").read_text("utf-8").split("\n")
    assert (f'name = "{package}"', f'{name} = "promptdsl_{name}.library:{name}"') == (
        lines[5],
        lines[17],
    )


def test_the_stub_of_a_new_library_is_up_to_date(
    cli: Command, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stub that a new library has is what ``promptdsl stubs`` writes."""
    monkeypatch.chdir(desk)
    run = cli("stubs", "promptdsl_desk.library:desk", "--check")
    assert (0, "promptdsl_desk/library.pyi is up to date\n", "") == run


def test_a_stub_that_is_missing_is_not_up_to_date(
    cli: Command, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check of stubs exits with 1 and says what to run."""
    monkeypatch.chdir(desk)
    stub = desk / "promptdsl_desk" / "library.pyi"
    old = stub.read_text("utf-8")
    stub.unlink()
    run = cli("stubs", "promptdsl_desk.library:desk", "--check")
    stub.write_text(old, "utf-8")
    assert (
        1,
        "",
        "promptdsl stubs: error: promptdsl_desk/library.pyi is not up to date: write it with "
        "promptdsl stubs promptdsl_desk.library:desk\n",
    ) == run


WAITING = """
from concurrent.futures import Future
from promptdsl import Library, Section, component

@component
def wait(answer: Future) -> Section:
    return Section("wait", "Wait.")
"""


def test_a_stub_imports_what_is_public(cli: Command, prompts: Path) -> None:
    """A class of a private module is imported from its public package."""
    (prompts / "waiting_parts.py").write_text(WAITING, "utf-8")
    (prompts / "waiting.py").write_text(
        "from promptdsl import Library\nfrom waiting_parts import wait\n\n"
        'waiting = Library("waiting", sections=[wait])\n',
        "utf-8",
    )
    assert "" == cli("stubs", "waiting:waiting").err
    stub = (prompts / "waiting.pyi").read_text("utf-8")
    assert (True, True) == (
        "\nimport concurrent.futures\n" in stub,
        "def wait(answer: concurrent.futures.Future)" in stub,
    )


def test_a_module_that_holds_more_gets_no_stub(cli: Command, prompts: Path) -> None:
    """A stub would hide the other names of a module: it is refused."""
    (prompts / "house_rules.py").write_text(
        'from promptdsl import Library\nhouse = Library("house", templates=None)\nLIMIT = 3\n',
        "utf-8",
    )
    assert (
        2,
        "",
        "promptdsl stubs: error: house_rules has other names, which house_rules.pyi would "
        "hide: LIMIT; move house into a module of its own\n",
    ) == cli("stubs", "house_rules:house")


@pytest.mark.usefixtures("desk")
def test_an_ejected_template_says_where_it_came_from(cli: Command, prompts: Path) -> None:
    """A copy of a template has a comment, and renders to the same text."""
    cli("eject", "desk:scope", "--to", "copies/")
    copy = prompts / "copies" / "scope.md.j2"
    desk = Library.load("desk")
    assert f"# From {desk.sections['scope'].section}" == copy.read_text("utf-8").split("\n")[1]
    inputs = {"topics": ["refunds"]}
    expected, found = System(desk.scope(**inputs)), System(Template(copy, inputs))
    assert render(expected).messages[0].text == render(found).messages[0].text


@pytest.mark.parametrize(
    "source",
    ["\nBe kind.\n", "  {% if true %}\n  Be kind.\n  {% endif %}\n", "---\r---\rBe kind.\r"],
    ids=["blank line", "indented block", "old line ends"],
)
def test_the_comment_of_a_copy_changes_nothing(
    cli: Command, prompts: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """A copy renders as its section does, whatever it begins with."""
    monkeypatch.setenv("PROMPTDSL_LIBRARIES", "copied")
    code = 'from promptdsl import Library\nlibrary = Library("copied")'
    package(prompts / "site", "copied", code, templates={"2nd.md.j2": source})
    with installed(prompts / "site"):
        run = cli("eject", "copied:2nd", "--to", "copies/")
        expected = Library.load("copied")["2nd"]()
    found = Template(prompts / "copies" / "2nd.md.j2")
    assert render(User(expected)).messages[0].text == render(User(found)).messages[0].text
    assert '_2nd_file = Path("copies/2nd.md.j2")' in run.out


def test_an_ejected_function_of_another_name(
    cli: Command, prompts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy of a component that has a name of its own is imported by that of its function."""
    monkeypatch.setenv("PROMPTDSL_LIBRARIES", "named")
    code = """
from promptdsl import Library, component

@component(name="in-short")
def short():
    return "Be brief."

library = Library("named", sections=[short])
"""
    package(prompts / "site", "named", code)
    with installed(prompts / "site"):
        run = cli("eject", "named:in-short")
    assert (
        "from promptdsl import override\nfrom short import short\n\n"
        'with override({"named:in-short": short}):'
    ) == run.out.rpartition("\n    ...")[0]


@pytest.mark.usefixtures("desk")
def test_an_ejected_function_has_its_imports(cli: Command, prompts: Path) -> None:
    """A copy of a function has the imports that it needs, and its use is printed."""
    run = cli("eject", "desk:tone", "--to", "copies/tone.py")
    text = (prompts / "copies" / "tone.py").read_text("utf-8")
    assert (
        "from promptdsl import List, Section, Text, Value, component",
        "from promptdsl import override\nfrom copies.tone import tone\n\n"
        'with override({"desk:tone": tone}):\n    ...  # the prompt is written here\n',
        "copies/tone.py is written: the code above uses it instead of desk:tone\n",
    ) == (text.split("\n")[2], run.out, run.err)


def test_what_was_put_in_place_is_taken_away_again(
    cli: Command, prompts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a file cannot be put in its place, the new ones before it are removed."""
    cli("new", "library", "support")
    monkeypatch.chdir(prompts / "promptdsl-support")
    before = sorted(Path().rglob("*"))
    full = OSError(28, "No space left on device")
    monkeypatch.setattr(os, "replace", Mock(wraps=os.replace, side_effect=[DEFAULT, full]))
    run = cli("new", "section", "role")
    file = prompts / "promptdsl-support/promptdsl_support/templates/role.md.j2"
    error = f"promptdsl new: error: cannot write {file}: No space left on device\n"
    assert (2, error, before) == (run.code, run.err, sorted(Path().rglob("*")))


def test_a_changed_file_keeps_its_mode_its_line_ends_and_its_link(
    cli: Command, prompts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new function changes the file behind a link, and nothing about it but the text."""
    cli("new", "library", "support")
    monkeypatch.chdir(prompts / "promptdsl-support")
    library, real = Path("promptdsl_support", "library.py"), prompts / "real.py"
    real.write_bytes(library.read_bytes().replace(b"\n", b"\r\n"))
    real.chmod(0o640)
    library.unlink()
    library.symlink_to(real)
    assert 0 == cli("new", "section", "role", "--function").code
    lines = real.read_bytes().split(b"\r\n")
    assert (True, 0o640) == (library.is_symlink(), real.stat().st_mode & 0o777)
    assert b'support = Library("support", sections=[sections.tone, sections.role], ' in lines[5]


@pytest.mark.usefixtures("prompts")
@pytest.mark.parametrize(
    ("call", "options", "expected"),
    [
        ('"desk", sections=()', ["--function"], '"desk", sections=(role,)'),
        ('"desk", templates=None', ["--function"], '"desk", templates=None, sections=[role]'),
        ('"desk", templates=None', [], '"desk", templates=None)'),
    ],
)
def test_a_section_is_added_to_any_call(
    cli: Command, call: str, options: list[str], expected: str
) -> None:
    """A tuple stays a tuple, and a library without templates gets none."""
    Path("pyproject.toml").write_text(
        '[project.entry-points."promptdsl.sections"]\ndesk = "house:desk"\n', "utf-8"
    )
    Path("house.py").write_text(f"from promptdsl import Library\ndesk = Library({call})\n", "utf-8")
    cli("new", "section", "role", *options)
    assert expected in Path("house.py").read_text("utf-8")
    assert not Path("None").exists()


BROKEN = {
    "bad.md.j2": "Bad {{",
    "good.md.j2": "---\ninputs:\n  region: one of EU, US\n---\nGood {{ region }}.",
    "\x1b[31mred\n.md.j2": "Red.",
    "\x1b.md.j2": "{% if %}",
}
PROBLEM = "template 'broken:bad', line 1: unexpected 'end of template'"
RED = "template 'broken:\\x1b', line 1: Expected an expression, got 'end of statement block'"


@pytest.fixture
def broken(prompts: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder of installed libraries: one has broken sections, two cannot be loaded."""
    code = "from promptdsl import Library\nprint('Hello.')\nlibrary = Library('broken')\n"
    package(prompts / "site", "broken", code, templates=BROKEN)
    package(prompts / "site", "gone", "import no_such_module")
    package(prompts / "site", "odd", "", points="odd = acme_odd")
    monkeypatch.setenv("PROMPTDSL_LIBRARIES", "broken,gone,odd")
    with installed(prompts / "site"):
        yield prompts


@pytest.mark.usefixtures("broken")
def test_libraries_are_checked(cli: Command) -> None:
    """--check loads each library, prints what cannot be used, and exits with 1."""
    plain, checked = cli("list"), cli("list", "--check")
    out = """\
broken  1.0  acme-broken
    problem: template 'broken:\\x1b', line 1: Expected an expression, got
    'end of statement block': the mistake may be on an earlier line
    problem: template 'broken:bad', line 1: unexpected 'end of template':
    the mistake may be on an earlier line
gone    1.0  acme-gone
    problem: the library gone 1.0 of acme-gone cannot be loaded:
    ModuleNotFoundError: No module named 'no_such_module': install another
    version of acme-gone, or report it to its authors
odd     1.0  acme-odd
    problem: its entry point 'acme_odd' is not module:name
"""
    limit = "PROMPTDSL_LIBRARIES is 'broken,gone,odd': all other libraries are left out\n"
    assert (1, out, f"Hello.\n{limit}") == checked
    assert (0, ["broken", "gone", "odd", ""]) == (
        plain.code,
        [line.partition(" ")[0] for line in plain.out.split("\n") if line[:1] != " "],
    )


@pytest.mark.usefixtures("broken")
def test_checked_libraries_are_data_too(cli: Command) -> None:
    """With --json the problems are data: of a library, and of its sections by their names."""
    run = cli("list", "--check", "--json")
    rows = {row["name"]: row for row in json.loads(run.out)}
    assert (1, [None, True, True]) == (
        run.code,
        [row["problem"] and bool(row["problem"]) for row in rows.values()],
    )
    assert {"broken:bad": f"{PROBLEM}: the mistake may be on an earlier line"}.items() <= (
        rows["broken"]["broken"].items()
    )


@pytest.mark.usefixtures("broken")
def test_broken_sections_and_odd_names_are_shown_as_such(cli: Command) -> None:
    """A broken template is listed with its problem, a control character as an escape."""
    run = cli("list", "broken")
    advice = "the mistake may be on an earlier line"
    assert [
        "broken:\\x1b",
        f"problem: {RED}: {advice}",
        "broken:\\x1b[31mred\\n(...)",
        "broken:bad",
        f"problem: {PROBLEM}: {advice}",
        "broken:good(region)",
    ] == " ".join(run.out.replace("\nbroken:", "\n|broken:").split()).replace(
        " problem:", "|problem:"
    ).replace(" |", "|").split("|")
    assert (0, 1) == (run.code, cli("list", "broken", "--check").code)
    assert "broken:\\x1b[31mred\\n" == cli("show", "broken:\x1b[31mred\n").out.split(" ")[0]


@pytest.mark.usefixtures("broken")
def test_a_choice_that_is_none_is_told_once(cli: Command) -> None:
    """The error for a value that is no choice lists the choices once."""
    problem = "input 'region' takes one of EU, US, not 'FR': give one of these"
    error = f"Hello.\npromptdsl show: error: -p region=FR: {problem}\n"
    assert (2, "", error) == cli("show", "broken:good", "-p", "region=FR")


@pytest.mark.parametrize(
    "included",
    ["_in/host.md.j2", "../secret.md.j2", "_up/secret.md.j2", "../templates/_in/a.md.j2"],
)
def test_what_is_outside_of_a_library_is_not_copied(
    cli: Command, prompts: Path, monkeypatch: pytest.MonkeyPatch, included: str
) -> None:
    """A template that includes a link or a path out of its library is not copied."""
    monkeypatch.setenv("PROMPTDSL_LIBRARIES", "leaky")
    code = 'from promptdsl import Library\nlibrary = Library("leaky")'
    templates = {"out.md.j2": f"{{% include '{included}' %}}", "_in/a.md.j2": "A."}
    package(prompts / "site", "leaky", code, templates=templates)
    folder = prompts / "site" / "acme_leaky"
    (folder / "secret.md.j2").write_text("Secret.", "utf-8")
    (folder / "templates" / "_in" / "host.md.j2").symlink_to(folder / "secret.md.j2")
    (folder / "templates" / "_up").symlink_to(folder)
    with installed(prompts / "site"):
        run = cli("eject", "leaky:out", "--to", "copies/in/")
    assert (1, True) == (run.code, f"leaky:out includes '{included}', which is not" in run.err)
    assert not (prompts / "copies").exists()


def test_private_files_are_copied(cli: Command, broken: Path) -> None:
    """A copy brings the private files that it includes, a link inside of the library too."""
    folder = broken / "site" / "acme_broken" / "templates"
    (folder / "both.md.j2").write_text("{% include '_a.md.j2' %}{% include '_b.md.j2' %}", "utf-8")
    (folder / "_a.md.j2").write_text("A.{% include '_b.md.j2' %}", "utf-8")
    (folder / "_b.md.j2").symlink_to(folder / "good.md.j2")
    cli("eject", "broken:both", "--to", "copies/")
    assert ["_a.md.j2", "_b.md.j2", "both.md.j2"] == sorted(os.listdir(broken / "copies"))
    assert "Good {{ region }}." in (broken / "copies" / "_b.md.j2").read_text("utf-8")


def test_a_stub_of_somebody_else_is_kept(
    cli: Command, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stub that this command did not write is replaced with --force only."""
    monkeypatch.chdir(desk)
    stub = desk / "promptdsl_desk" / "library.pyi"
    written = stub.read_text("utf-8")
    stub.write_text("desk: object\n", "utf-8")
    refused, kept = cli("stubs", "promptdsl_desk.library:desk"), stub.read_text("utf-8")
    forced = cli("stubs", "promptdsl_desk.library:desk", "--force")
    assert (2, "desk: object\n") == (refused.code, kept)
    assert (0, written) == (forced.code, stub.read_text("utf-8"))


ODD = '''\
"""Sections whose copies are hard to make."""
import sys

from promptdsl import Library, Section, component

try:
    import no_such_module as fast
except ImportError:
    import json as fast

__version__ = "2"


@component(name="odd-json")
def json(word: str = "a"):
    """Quotes: \\"\\"\\"a\\"\\"\\" and \\"\\"\\""""
    return Section("odd", f"{word} {__version__} {fast.dumps(word)}")


odd = Library("odd", sections=[json])
'''


@pytest.fixture
def odd(prompts: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder where the library ``odd`` is installed."""
    package(
        prompts,
        "odd",
        ODD,
        points="odd = acme_odd:odd",
        templates={"late.md.j2": "\n  {% if true %}\nLate {{ 1 }}\n  {% endif %}\n"},
    )
    monkeypatch.setenv("PROMPTDSL_LIBRARIES", "odd")
    with installed(prompts):
        yield prompts


def test_the_copy_of_a_function_runs(cli: Command, odd: Path) -> None:
    """A copy has what it needs, and its file is called as the function is, but not as a module."""
    run = cli("eject", "odd:odd-json")
    assert "from json_section import json\n" in run.out
    copy = runpy.run_path(str(odd / "json_section.py"))["json"]
    expected, found = System(Library.load("odd")["odd-json"]()), System(copy())
    assert 'a 2 "a"' == render(expected).messages[0].text == render(found).messages[0].text


def test_the_copy_of_a_template_keeps_its_first_lines(cli: Command, odd: Path) -> None:
    """The comment in a copy is followed by what the template begins with, blanks too."""
    cli("eject", "odd:late", "--to", "copies/")
    expected = System(Library.load("odd")["late"]())
    found = System(Template(odd / "copies" / "late.md.j2"))
    assert "\nLate 1\n" == render(expected).messages[0].text == render(found).messages[0].text


@pytest.mark.parametrize("doc", ['"""', 'a""""', '\\"', '""" \\"""', '"', 'a\n"""', "\\"])
def test_any_docstring_is_in_a_stub(doc: str) -> None:
    """Quotes and backslashes of a docstring are the same in the stub."""

    def tone() -> object: ...

    tone.__doc__ = doc
    library = Library("desk", sections=[component(tone)], templates=None)
    stub = ast.parse(stub_text(library, "m:desk"))
    methods = [it for it in ast.walk(stub) if isinstance(it, ast.FunctionDef)]
    assert [doc] == [ast.get_docstring(it) for it in methods]


def test_a_callable_without_types_is_in_a_stub() -> None:
    """A bare ``Callable``, and one with a variable for its parameters, have their types."""

    def tone(one: Callable, other: Callable[P, int]) -> object: ...  # type: ignore[type-arg]

    library = Library("desk", sections=[component(tone)], templates=None)
    assert "def tone(one: collections.abc.Callable, other: Callable[..., int])" in stub_text(
        library, "m:desk"
    )
