"""``--inputs`` of the commands: which inputs are used, by which command, and what is wrong."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.commands import Done
from tests.internals import checked_out_inputs
from tests.page.read import data_in, requests_of

CODE = """\
from dataclasses import dataclass
from promptdsl import *


@dataclass
class Customer:
    name: str


def answer(question: str, customer=None, history=(), count: int = 1):
    assert customer is None or isinstance(customer, Customer)
    with Timeline() as prompt:
        System("Be kind.")
        History(history)
        User(question, f" {count}", customer and f" from {customer.name}")
    return prompt


CASES = {
    "short": {"question": "Why?", "customer": Customer("Ada"), "count": "3"},
    "talk": {"question": "Now?", "history": [{"role": "user", "content": "Hi."}]},
}
WRONG = {"a": {"qestion": "Why?"}, "b": {"question": "Why?"}}
EMPTY = {}
FLAT = {"question": "Why?"}


def made():
    return CASES


def broken():
    return 1 / 0
"""
OTHER = """\
from shop import Customer

CASES = {"only": {"question": "Why?", "customer": Customer("Bo")}}
"""
SHOP = "shop.py:answer"


@pytest.fixture
def shop(prompts: Path) -> Path:
    """Return a folder with a prompt and inputs, in the same file and in another one."""
    (prompts / "shop.py").write_text(CODE, "utf-8")
    (prompts / "cases.py").write_text(OTHER, "utf-8")
    return prompts


def user(run: Done) -> str:
    """Return the last text that was rendered."""
    return run.out.splitlines()[-1]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("--inputs shop.py:CASES --input short", "Why? 3 from Ada"),
        ("--inputs shop:CASES --input talk", "Now? 1"),
        ("--inputs shop.py:made --input short", "Why? 3 from Ada"),
        ("--inputs cases.py:CASES", "Why? 1 from Bo"),
        ("--inputs cases:CASES --input only", "Why? 1 from Bo"),
        ("--inputs shop.py:CASES --input short -p count=7", "Why? 7 from Ada"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_render(cli: Command, options: str, text: str) -> None:
    """A value is of the class that the prompt knows, whichever file names it; ``-p`` replaces."""
    run = cli("render", SHOP, *options.split())
    assert (0, text, "") == (run.code, user(run), run.err)


@pytest.mark.usefixtures("shop")
def test_tokens(cli: Command) -> None:
    """``tokens`` counts the prompt of the named inputs."""
    short, talk = (
        json.loads(cli("tokens", SHOP, "--inputs", "shop.py:CASES", "--input", name, "--json").out)
        for name in ("short", "talk")
    )
    assert [["system[0]", "user[0]"], ["system[0]", "history[0]", "user[0]"]] == [
        [part["path"] for part in data["parts"] if part["path"]] for data in (short, talk)
    ]


def test_a_record_has_the_arguments(cli: Command, shop: Path) -> None:
    """What JSON cannot express is the name of its type."""
    assert 0 == cli("render", SHOP, "--inputs", "cases.py:CASES", "--record", "r.json").code
    record = json.loads((shop / "r.json").read_text("utf-8"))
    assert {"question": "Why?", "customer": "(Customer)"} == record["inputs"]


def test_a_page(cli: Command, shop: Path) -> None:
    """A page has a prompt for each inputs; one that fails shows its error."""
    assert 0 == cli("page", SHOP, "--inputs", "shop.py:CASES", "-o", "page.html").code
    data = data_in(shop / "page.html")
    assert [(f"{SHOP} (short)", "short"), (f"{SHOP} (talk)", "talk")] == [
        (prompt["name"], prompt["inputs"]) for prompt in data["prompts"]
    ]
    assert "Why? 3 from Ada" in json.dumps(requests_of(data)[0]["record"]["messages"])
    run = cli("page", SHOP, "--inputs", "shop.py:WRONG", "-o", "page.html")
    assert (1, True) == (run.code, "shop.py:answer (a): inputs 'a': " in run.err)
    wrong, right = requests_of(data_in(shop / "page.html"))
    assert "did you mean 'question'?" == wrong["error"]["fix"]
    assert right["record"]["messages"]
    options = ("--inputs", "shop.py:CASES", "--without-content", "-o", "page.html")
    assert 0 == cli("page", SHOP, *options).code
    data = data_in(shop / "page.html")
    assert [("prompt 1", None), ("prompt 2", None)] == [
        (prompt["name"], prompt["inputs"]) for prompt in data["prompts"]
    ]


def test_check(cli: Command, shop: Path) -> None:
    """Each inputs are rendered; a finding has the names of those in which it was found."""
    (shop / "loud.py").write_text(
        "from promptdsl import System, Timeline, User\n\n\n"
        "def ask(tone: str, *, braces: bool = False):\n"
        "    text = 'Call {{ name }}.' if braces else 'Be kind.'\n"
        "    return Timeline(System(text), User(tone))\n\n\n"
        "INPUTS = {str(n): {'tone': 'a', 'braces': n % 2 == 0} for n in range(9)}\n"
        "INPUTS['wrong'] = {}\n",
        "utf-8",
    )
    run = cli("check", "loud.py:ask", "--inputs", "loud.py:INPUTS")
    assert 1 == run.code
    unfilled, failed = run.out.splitlines()[:2]
    assert "PD205" in unfilled
    assert "(inputs: 0, 2, 4 and 2 more)" in unfilled
    assert "inputs 'wrong' have no 'tone', which loud.py:ask needs (inputs: wrong)" in failed
    assert "1 file and 10 prompts checked, 2 findings" == run.out.splitlines()[-1]
    options = ("--inputs", "loud.py:INPUTS", "--format", "json")
    findings = json.loads(cli("check", "loud.py:ask", *options).out)["findings"]
    assert [["0", "2", "4", "6", "8"], ["wrong"]] == [row["inputs"] for row in findings]
    run = cli("check", "loud.py:ask", "--inputs", "loud.py:INPUTS", "--input", "1")
    assert (0, "1 file and 1 prompt checked, 0 findings") == (run.code, run.out.strip())


@pytest.mark.usefixtures("shop")
def test_diff(cli: Command) -> None:
    """Both sides are made with the named inputs; options of one side replace them."""
    options = ("--inputs", "shop.py:CASES", "--input", "short")
    assert 0 == cli("diff", SHOP, SHOP, *options).code
    run = cli("diff", SHOP, SHOP, *options, "--after", "count=4")
    assert (1, True) == (run.code, "+ Why? 4 from Ada" in run.out)


@pytest.mark.parametrize(
    ("target", "expected", "text"),
    [
        ("shop.py:CASES", "shop.py:CASES", "old"),
        ("new.py:CASES", "new.py:CASES", "new"),
        ("{tree}/new.py:CASES", "{files}/new.py:CASES", "new"),
        ("absent.py:CASES", "absent.py:CASES", None),
        ("cases:CASES", "cases:CASES", None),
    ],
)
def test_inputs_at_a_revision(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    target: str,
    expected: str,
    text: str | None,
) -> None:
    """The file is that of the revision; one that it has not yet is copied into the checkout."""
    tree, files = tmp_path / "tree", tmp_path / "checkout"
    for folder, name, content in (
        (tree, "shop", "now"),
        (files, "shop", "old"),
        (tree, "new", "new"),
    ):
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(content, "utf-8")
    monkeypatch.chdir(tree)
    folders = {"tree": tree, "files": files}
    checked_out = checked_out_inputs(target.format(**folders), tree, files)
    assert expected.format(**folders) == checked_out
    path = files / Path(target.rpartition(":")[0]).name
    assert text == (path.read_text("utf-8") if path.is_file() else None)


@pytest.mark.slow
@pytest.mark.parametrize("inputs", ["shop.py:CASES", "cases.py:CASES"])
def test_diff_at_a_revision(cli: Command, shop: Path, inputs: str) -> None:
    """The inputs are those of the revision; a file of inputs that it has not yet is copied."""
    for command in (
        "init -q -b main",
        "add shop.py support.py",
        "-c user.name=a -c user.email=a@example.org commit -qm one",
    ):
        subprocess.run(["git", *command.split()], cwd=shop, check=True, capture_output=True)
    (shop / "shop.py").write_text(CODE.replace("Be kind.", "Be brief."), "utf-8")
    options: list[Any] = ["--inputs", inputs, *["--input", "short"] * (inputs[0] == "s")]
    run = cli("diff", f"git:main:{SHOP}", SHOP, *options)
    assert (1, "") == (run.code, run.err)
    assert "- Be kind.\n+ Be brief." in run.out


def test_names_that_are_not_plain(cli: Command, shop: Path) -> None:
    """A name with control characters is shown with escapes, on the line of the error."""
    (shop / "odd.py").write_text("CASES = {'a\\x1b[31m\\nb': {}, 'c': {}}\n", "utf-8")
    run = cli("render", SHOP, "--inputs", "odd.py:CASES")
    assert r"choose one with --input NAME: a\x1b[31m\nb, c" in run.err
    assert 1 == len(run.err.splitlines())


@pytest.mark.parametrize("command", ["render", "tokens", "diff"])
@pytest.mark.parametrize(
    ("options", "code", "problem"),
    [
        (
            "--inputs shop.py:CASES",
            2,
            "shop.py:CASES has several inputs: choose one with --input NAME: short, talk",
        ),
        (
            "--inputs shop.py:CASES --input shrot",
            2,
            "shop.py:CASES: no inputs are named 'shrot'; did you mean 'short'?",
        ),
        ("--input short", 2, "--input chooses one of the --inputs: write --inputs TARGET, too"),
        ("--inputs none.py:CASES", 2, "no such file: none.py"),
        ("--inputs none:CASES", 2, "no module 'none' is in this folder or installed"),
        ("--inputs shop.py:CASSE", 2, "shop.py has no name 'CASSE': did you mean 'CASES'?"),
        (
            "--inputs shop.py",
            2,
            "--inputs is file.py:name or module:name; choose from CASES, EMPTY, FLAT, WRONG, "
            "answer, broken, made",
        ),
        ("--inputs shop.py:CASES --input short -p cuont=1", 2, "has no parameter 'cuont'"),
        ("--inputs shop.py:EMPTY", 1, "shop.py:24: the inputs shop.py:EMPTY are empty"),
        ("--inputs shop.py:FLAT", 1, "  give them a name: {'short': {'question': ...}}"),
        ("--inputs shop.py:broken", 1, "shop.py:33: ZeroDivisionError: division by zero"),
        (
            "--inputs shop.py:WRONG --input a",
            1,
            "shop.py:23: inputs 'a': shop.py:answer has no parameter 'qestion'\n"
            "  see also shop.py:10\n  did you mean 'question'?",
        ),
    ],
)
@pytest.mark.usefixtures("shop")
def test_wrong_inputs(cli: Command, command: str, *, options: str, code: int, problem: str) -> None:
    """The error says what to write; of inputs, it has the author's line."""
    run = cli(command, SHOP, *options.split())
    assert problem in run.err
    assert (2 if command == "diff" else code, "") == (run.code, run.out)


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("render support.py:GREETING", "support.py:GREETING is not a function"),
        (
            "page records -o page.html",
            "--inputs are arguments of a function: records is not a function",
        ),
        (
            "page a.json -o page.html",
            "--inputs are arguments of a function: a.json is not a function",
        ),
        ("check shop.py", "--inputs are arguments of a function: shop.py is not a function"),
        ("diff a.json b.json", "--inputs are arguments of a function: a.json is not a function"),
    ],
)
def test_targets_without_arguments(cli: Command, shop: Path, command: str, problem: str) -> None:
    """A prompt, a record and a file take no inputs."""
    (shop / "records").mkdir()
    run = cli(*command.split(), "--inputs", "shop.py:CASES", "--input", "short")
    assert (2, True) == (run.code, problem in run.err)


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("CASES = {}\n\nCASES = {'a': {'b': 1}}\n", 3),
        ("if True:\n    CASES: dict = {'a': {'b': 1}}\n", 2),
        ("from other import A as CASES\n", 1),
        ("\nimport other\n\nglobals()['CASES'] = other.A\n", 1),
        ("from other import *\n\nCASES = A\n", 3),
    ],
)
def test_the_line_of_inputs(cli: Command, shop: Path, code: str, line: int) -> None:
    """It is the line that gives the name, however it does; ``check`` shows it, too."""
    (shop / "other.py").write_text("A = {'a': {'b': 1}}\n", "utf-8")
    (shop / "wrong.py").write_text(code, "utf-8")
    run = cli("check", SHOP, "--inputs", "wrong.py:CASES")
    assert 1 == run.code
    assert f"wrong.py:{line}: PD002 the prompt cannot be rendered: inputs 'a': " in run.out
