"""Finding TARGET in files and modules."""

import os
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.commands import Done
from tests.renders import ruled

GREETING_TEXT = ruled("[system]\nBe brief.\n\n[user]\nHello.\n")
ALL = (
    "batch, batch read, check, diff, eject, list, new, page, preview, records, render, show, stubs,"
    " tokens, transcript"
)
USER = "from promptdsl import User\n"


def written(path: Path, text: str) -> Path:
    """Write a file of Python, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    "target", ["support.py:GREETING", "./support.py:GREETING", "support:GREETING"]
)
def test_a_file_or_a_module_is_named(cli: Command, target: str) -> None:
    """A prompt is found in a file, by its path, and in a module, by its name."""
    assert Done(0, GREETING_TEXT, "") == cli("render", target)


def test_a_module_may_have_a_name_of_one_letter(cli: Command, prompts: Path) -> None:
    """A letter before a name is a module, and before a path the drive of Windows."""
    written(prompts / "m.py", USER + "ok = User('Hi.')\n")
    error = "promptdsl render: error: no such file: m:\\ok.py: did you mean 'm.py'?\n"
    assert [Done(0, ruled("[user]\nHi.\n"), ""), Done(2, "", error)] == [
        cli("render", "m:ok"),
        cli("render", "m:\\ok.py"),
    ]


def test_a_function_may_be_asynchronous(cli: Command) -> None:
    """What an asynchronous function returns is awaited."""
    assert Done(0, GREETING_TEXT, "") == cli("render", "support.py:later")


def test_what_was_imported_from_promptdsl_is_no_target(cli: Command, prompts: Path) -> None:
    """The constants of the package are suggested to nobody who imported all of it."""
    code = "from promptdsl import *\nSAID = User('Hi.')\nASKED = User('Ho.')\n"
    written(prompts / "all_of_it.py", code)
    run = cli("render", "all_of_it.py")
    assert "all_of_it.py has ASKED, SAID\n" == run.err.rpartition("; ")[2]


@pytest.mark.parametrize(
    "prompt",
    ["SAID = User('Hi.')\n", "def said():\n    return User('Hi.')\n"],
    ids=["object", "function"],
)
@pytest.mark.parametrize("target", ["single.py", "single.py:", "single"])
def test_the_only_prompt_of_a_file_needs_no_name(
    cli: Command, prompts: Path, target: str, prompt: str
) -> None:
    """Of a file with one prompt, or one function, a target needs no name."""
    written(prompts / "single.py", "from promptdsl import *\n_NAME = 'Ann'\n" + prompt)
    assert Done(0, ruled("[user]\nHi.\n"), "") == cli("render", target)


@pytest.mark.parametrize(
    "code",
    [
        "RULES = Section('r', 'a')\nwith Timeline() as prompt:\n    question = User('Hi.')\n",
        "first = second = Timeline(User('Hi.'))\n",
        "@component\ndef card():\n    Text('a')\n\ndef said():\n    return User('Hi.')\n",
    ],
    ids=["turns with names", "two names", "a component"],
)
def test_a_prompt_beside_its_parts(cli: Command, prompts: Path, code: str) -> None:
    """The names of its turns, sections and components are not meant, nor is a second name."""
    written(prompts / "parts.py", "from promptdsl import *\n" + code)
    assert Done(0, ruled("[user]\nHi.\n"), "") == cli("render", "parts.py")


def test_a_file_without_a_prompt(cli: Command, prompts: Path) -> None:
    """A file without a prompt is an error of the call."""
    written(prompts / "none.py", "from promptdsl import *\n_SAID = User('Hi.')\n")
    run = cli("render", "none.py")
    shown_text = "none.py has no prompt and no function\n"
    assert (2, shown_text) == (run.code, run.err.rpartition("; ")[2])


def test_an_absolute_path_is_a_file(cli: Command, prompts: Path) -> None:
    """A file may be anywhere."""
    assert Done(0, GREETING_TEXT, "") == cli("render", f"{prompts / 'support.py'}:GREETING")


def test_a_module_may_stand_in_a_package(cli: Command, prompts: Path) -> None:
    """A module is named with its packages."""
    written(prompts / "inner_package" / "prompts.py", USER + "SAID = User('Hi.')\n")
    assert Done(0, ruled("[user]\nHi.\n"), "") == cli("render", "inner_package.prompts:SAID")


def test_a_file_imports_what_stands_beside_it(cli: Command, prompts: Path) -> None:
    """A file imports its neighbours, also while its function runs, from wherever it is named."""
    written(prompts / "far" / "beside_it.py", "PLAN = 'Pro'\n")
    code = "def demo():\n    from beside_it import PLAN\n    return User(PLAN)\n"
    written(prompts / "far" / "away.py", USER + code)
    assert Done(0, ruled("[user]\nPro\n"), "") == cli("render", "far/away.py:demo")


def test_a_file_is_a_module_of_its_own_name(cli: Command, prompts: Path) -> None:
    """A file runs under its own name, so that what guards a script does not run."""
    code = "def demo():\n    return User(__name__)\n\nif __name__ == '__main__':\n    exit()\n"
    written(prompts / "named_so.py", USER + code)
    assert Done(0, ruled("[user]\nnamed_so\n"), "") == cli("render", "named_so.py:demo")


@pytest.mark.parametrize("name", ["json", "attrs", "promptdsl", "wave"])
def test_a_file_takes_no_name_from_another_module(cli: Command, prompts: Path, name: str) -> None:
    """A file with the name of a module that is installed leaves that one alone."""
    before = sys.modules.get(name)
    code = "import sys\n" + USER + "def demo():\n    return User(__name__)\n"
    written(prompts / "apart" / f"{name}.py", code)
    run = cli("render", f"apart/{name}.py:demo")
    assert (Done(0, ruled(f"[user]\n{name}_\n"), ""), before) == (run, sys.modules.get(name))


def test_a_file_may_define_what_looks_up_its_module(cli: Command, prompts: Path) -> None:
    """A dataclass with annotations as text, which looks for its module, works in a file."""
    code = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "from typing import ClassVar\n" + USER + "@dataclass\nclass Plan:\n"
        "    known: ClassVar[int] = 1\n    name: str\n\nSAID = User(Plan('Pro').name)\n"
    )
    written(prompts / "with_dataclass.py", code)
    assert Done(0, ruled("[user]\nPro\n"), "") == cli("render", "with_dataclass.py:SAID")


def test_a_command_leaves_the_interpreter_as_it_was(cli: Command) -> None:
    """Neither the path of imports nor the table of modules remembers a file."""
    before = list(sys.path), set(sys.modules)
    cli("render", "support.py:demo")
    assert (before[0], set[str]()) == (sys.path, {"support"} & set(sys.modules) - before[1])


def test_a_command_leaves_nothing_in_the_folder(cli: Command, prompts: Path) -> None:
    """Running a file writes no cache into its folder."""
    cli("render", "support.py:demo")
    assert ["support.py"] == [file.name for file in prompts.iterdir()]


def test_a_file_is_read_as_its_encoding_says(cli: Command, prompts: Path) -> None:
    """The encoding a file declares is the one it is read in."""
    code = "# coding: latin-1\nfrom promptdsl import User\nSAID = User('é')\n"
    (prompts / "encoded.py").write_bytes(code.encode("latin-1"))
    assert Done(0, ruled("[user]\né\n"), "") == cli("render", "encoded.py:SAID")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        pytest.param(
            "suport.py:demo",
            "no such file: suport.py: did you mean 'support.py'?",
            id="no file",
        ),
        pytest.param("no/where.py:demo", "no such file: no/where.py", id="no folder"),
        pytest.param(
            "no_module:demo", "no module 'no_module' is in this folder or installed", id="module"
        ),
        pytest.param(
            "support.inner:demo",
            "no module 'support.inner' is in this folder or installed",
            id="inner",
        ),
        pytest.param(
            "support.py:dmeo", "support.py has no name 'dmeo': did you mean 'demo'?", id="near name"
        ),
        pytest.param(
            "support.py:x",
            "support.py has no name 'x'; choose from GREETING, RULES, anything, clicked, "
            "corrected, demo, equipped, failing, later, leaving, loud, misplaced, needs, "
            "nothing, pictured, unknown, waiting",
            id="far name",
        ),
        pytest.param("support.py:__name", "support.py has no name '__name'", id="private name"),
        pytest.param("-", "TARGET is file.py:name or module:name, not '-'", id="dash"),
        pytest.param(
            "what is this?",
            "TARGET is file.py:name or module:name, not 'what is this?'",
            id="words",
        ),
        pytest.param(
            "support.py:Timeline",
            "support.py:Timeline is a class: name a prompt, or a function that returns one",
            id="class",
        ),
    ],
)
def test_a_target_that_is_not_there_is_said(cli: Command, target: str, message: str) -> None:
    """A target that is not there is an error of the call, with the nearest names."""
    run = cli("render", target)
    assert (2, f"promptdsl render: error: {message}") == (run.code, run.err[: len(message) + 25])


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("rendr", "no such command: rendr: did you mean 'render'?"),
        ("x", f"no such command: x; choose from {ALL}"),
        ("a.py:demo", "a command comes first: write promptdsl render a.py:demo"),
        ("a.py", "a command comes first: write promptdsl render a.py"),
    ],
)
def test_a_word_that_is_no_command(cli: Command, word: str, expected: str) -> None:
    """The error for a misspelt command has a similar one, that for a target a command."""
    run = cli(word)
    assert (2, "", f"promptdsl: error: {expected}\n") == (run.code, run.out, run.err)


@pytest.mark.parametrize("target", ["support.py", "support.py:", "support"])
def test_a_target_without_a_name_asks_for_one(cli: Command, target: str) -> None:
    """A target without a name gets the names it may be."""
    place = target.rstrip(":")
    run = cli("render", target)
    assert (
        2,
        f"promptdsl render: error: TARGET is file.py:name or module:name; {place} has "
        "GREETING, RULES, anything, clicked, corrected, demo, equipped, failing, later, "
        "leaving, loud, misplaced, needs, nothing, pictured, unknown, waiting\n",
    ) == (run.code, run.err)


def test_a_name_with_a_dot_is_a_file_as_well(cli: Command, prompts: Path) -> None:
    """A file whose name is no module's is run all the same."""
    written(prompts / "the.prompt.py", USER + "SAID = User('Hi.')\n")
    assert Done(0, ruled("[user]\nHi.\n"), "") == cli("render", "the.prompt.py:SAID")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="every file can be read")
def test_a_file_that_cannot_be_read_is_said(cli: Command, prompts: Path) -> None:
    """A file without the right to read it is an error of the call."""
    (prompts / "support.py").chmod(0)
    note = "promptdsl render: error: cannot read support.py: Permission denied\n"
    assert Done(2, "", note) == cli("render", "support.py:demo")


def test_a_file_that_cannot_be_compiled_is_wrong(cli: Command, prompts: Path) -> None:
    """A syntax error is at its own line."""
    written(prompts / "broken.py", "x = 1\ndef demo(:\n")
    assert Done(1, "", "broken.py:2: SyntaxError: invalid syntax\n") == cli(
        "render", "broken.py:demo"
    )


@pytest.mark.parametrize("target", ["importing.py:demo", "importing:demo"])
def test_an_import_that_fails_inside_is_wrong(cli: Command, prompts: Path, target: str) -> None:
    """A module that is missing where the code imports it is a fault of the code, at its line."""
    written(prompts / "importing.py", "import sys\nimport not_there_at_all\n")
    run = cli("render", target)
    assert (1, "importing.py:2: ModuleNotFoundError: No module named 'not_there_at_all'\n") == (
        run.code,
        run.err.removeprefix(f"{prompts}/"),
    )


FAR = """\
from promptdsl import Audio, Timeline, User


def lost():
    return Timeline(User("Hi.", Audio.from_bytes(b"ID3", "audio/mpeg")))


def failing():
    return Timeline(User(["Hi."]))
"""


@pytest.fixture
def far(prompts: Path) -> Path:
    """Return the file of a module that is imported from a folder below."""
    (prompts / "far").mkdir()
    (prompts / "far" / "away.py").write_text(FAR, "utf-8")
    return prompts / "far" / "away.py"


@pytest.mark.parametrize("named", ["far.away:", "far/away.py:", "{}:"])
def test_lines_are_relative_to_the_folder(cli: Command, far: Path, named: str) -> None:
    """However a prompt is named, its losses, errors and parts have lines relative to the folder."""
    target = named.format(far)
    model = ("--model", "claude-opus-4-5")
    lost, outline, tokens, failed, traced = (
        cli("render", f"{target}lost", *model),
        cli("render", f"{target}lost", "--outline"),
        cli("tokens", f"{target}lost"),
        cli("render", f"{target}failing"),
        cli("render", f"{target}failing", "--traceback"),
    )
    assert ("content:", "far/away.py:5") == (lost.err.split()[0], lost.err.split()[-1])
    assert ["user", "far/away.py:5"] == outline.out.split()[:2]
    assert "  far/away.py:5\n" in tokens.out
    assert "far/away.py:9: a list" == failed.err[:21]
    assert '  File "far/away.py", line 9, in failing' in traced.err.split("\n")
    assert str(far.parent) not in lost.err + outline.out + tokens.out + failed.err + traced.err


def test_the_prompt_keeps_its_paths(cli: Command, prompts: Path) -> None:
    """A path that is said in the prompt is text of the prompt."""
    said = f"{prompts}/support.py:3"
    (prompts / "pathed.py").write_text(
        f"from promptdsl import User\nSAID = User({said!r})", "utf-8"
    )
    assert f"{said}\n" == cli("render", "pathed.py:SAID").out.split("─\n")[1]


def test_a_file_elsewhere_keeps_its_path(
    cli: Command, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The line of a file outside of the folder has its complete path."""
    path = tmp_path_factory.mktemp("elsewhere") / "away.py"
    path.write_text(FAR, "utf-8")
    assert f"{path}:9: a list" == cli("render", f"{path}:failing").err.partition(" cannot")[0]


def test_a_section_of_a_library(cli: Command, prompts: Path) -> None:
    """It is rendered in a system turn, its inputs are read from texts, and a module comes first."""
    asked = ("render", "starter:handover", "-p", "to=Ann", "-p", "attempts=7")
    first = cli(*asked)
    assert (0, True, True) == (first.code, "to Ann in" in first.out, "tried 7 times" in first.out)
    wrong = cli(*asked, "-p", "attempts=x")
    assert (2, True) == (wrong.code, "'attempts'" in wrong.err)
    written(prompts / "starter.py", USER + "def handover(to, attempts): return User('Mine.')\n")
    assert Done(0, ruled("[user]\nMine.\n"), "") == cli(*asked)
    del sys.modules["starter"]


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("starter:nope", "starter has no section 'nope'"),
        ("starter", "'starter' is not a section: write LIBRARY:NAME, such as starter:untrusted"),
        ("startr:handover", "no module 'startr' is in this folder or installed"),
    ],
)
def test_a_section_that_is_not_there(cli: Command, target: str, problem: str) -> None:
    """The error for an unknown section names the library; an unknown library is a module."""
    run = cli("render", target)
    assert (2, "", True) == (run.code, run.out, problem in run.err)


@pytest.mark.parametrize("option", ["--bugdet", "--bugdet=5"])
def test_an_unknown_option(cli: Command, option: str) -> None:
    """An unknown option is an error with the nearest known one."""
    run = cli("render", "prompts.py:support", option)
    assert 2 == run.code
    assert "promptdsl render: error: no such option: --bugdet: did you mean '--budget'?" in run.err


def test_a_call_as_a_target(cli: Command) -> None:
    """A target with arguments in brackets, and JSON for a file, say how arguments are written."""
    run = cli("render", "support.py:demo(3)")
    assert (2, "") == (run.code, run.out)
    assert "demo(3) is a call: write demo, and arguments as -p KEY=VALUE" in run.err
    run = cli("render", "support.py:demo", "--props", '{"n": 3}')
    assert 2 == run.code
    assert "this is JSON, not a file name: write -p NAME:=JSON for each argument" in run.err


def test_an_argument_in_two_words(cli: Command) -> None:
    """An argument of a prompt is one word: for two, the error says how to write it."""
    run = cli("render", "support.py:support", "-p", "plan", "Pro")
    error = "promptdsl render: error: -p plan: join the name and the value: -p plan=Pro"
    assert (2, error) == (run.code, run.err.splitlines()[-1])
