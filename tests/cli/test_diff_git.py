"""``promptdsl diff`` in git: prompts at a revision, and all snapshots of a project."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import LINES, Command

SNAPSHOT = "---\npromptdsl-snapshot: 1\n---\n\n──▶ system\n{}\n"
ODD = '__snapshots__/t/a "b"\nc.prompt.txt'
STATUS = re.compile(r"<b>1</b> (\w+)")
Git = Callable[..., str]
IN_CODE = "  promptdsl diff git:main:FILE.py:NAME FILE.py:NAME compares a prompt in code\n"


@pytest.fixture
def git(prompts: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Return git in a repository with ``support.py`` and one snapshot, both committed."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)

    def run(*arguments: str, check: bool = True) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        command = ["git", *identity, *arguments]
        process = subprocess.run(command, cwd=prompts, capture_output=True, text=True, check=check)
        return process.stdout

    run("init", "-q", "-b", "main")
    write(prompts, "Be brief.")
    run("add", "-A")
    run("commit", "-qm", "one")
    return run


def write(folder: Path, text: str, name: str = ODD) -> None:
    """Write a snapshot of one text."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SNAPSHOT.format(text), "utf-8")


def write_payload(folder: Path, text: str | None, name: str) -> None:
    """Write the payload of one text, or delete it."""
    path = folder / name
    path.unlink(missing_ok=True)
    if text is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{{"messages": [{{"role": "user", "content": "{text}"}}]}}', "utf-8")


def summary(cli: Command) -> str:
    """Return how many prompts differ from the base."""
    return re.split("[;:\n]", cli("diff", "--base", "main").out)[0]


def told(cli: Command, *arguments: str) -> tuple[int, list[str], str]:
    """Return the exit code, the states of which there is one prompt, and the errors."""
    run = cli("diff", *arguments, "--format", "html")
    return run.code, STATUS.findall(run.out), run.err


@pytest.mark.usefixtures("git")
def test_equal_snapshots_are_no_difference(cli: Command) -> None:
    """A project without changes has no differences, in any current folder."""
    assert (0, ["same"], "") == told(cli, "--base", "main", ".")


def test_links_are_no_snapshots(cli: Command, git: Git, prompts: Path) -> None:
    """A link in the repository is no file of its own, whether it is there or not."""
    (prompts / "__snapshots__/t/link.prompt.txt").symlink_to(prompts / ODD)
    git("add", "-A")
    git("commit", "-qm", "link")
    assert (0, ["same"], "") == told(cli, "--base", "main")


OTHER = "tests/__prompts__/test_a/test_a"
"""The path of a snapshot where pytest has ``--snapshot-dirname=__prompts__``."""


def test_snapshots_in_another_folder_are_found(cli: Command, git: Git, prompts: Path) -> None:
    """A snapshot is recognised by its first line, and so are its neighbours."""
    write(prompts, "Be brief.", f"{OTHER}.prompt.txt")
    write_payload(prompts, "Hi.", f"{OTHER}.payload.json")
    git("add", "-A")
    git("commit", "-qm", "two")
    write(prompts, "Be kind.", f"{OTHER}.prompt.txt")
    write_payload(prompts, "Hello.", f"{OTHER}.payload.json")
    write_payload(prompts, "Hello.", "webhook.payload.json")
    assert "2 of 3 prompts differ" == summary(cli)


PAYLOAD = "__snapshots__/t/test.openai.payload.json"
NUMBER = 'Hi."}, 3, {"role": "user", "content": "Hi.'
ID = 'Hi."}], "n": [{"id": "'
PAYLOADS = {
    "text": ("Hi.", "Hello.", "`user` changed: 1 line"),
    "gone": ("Hi.", None, "removed"),
    "new": (None, "Hi.", "added"),
    "no prompt": (f"{ID}1", f"{ID}2", "its JSON changed, but not the prompt in it"),
    "no payload": ("Hi.", NUMBER, f"{PAYLOAD}: messages[1]: a dictionary is needed, not int"),
    "no JSON": (
        "Hi.",
        '"',
        f"{PAYLOAD} is not JSON: Expecting ',' delimiter: line 1 column 45 (char 44)",
    ),
}


@pytest.mark.parametrize("case", PAYLOADS)
def test_payloads_are_snapshots(cli: Command, git: Git, prompts: Path, case: str) -> None:
    """A payload is compared as a prompt; other differences in it are shown, too."""
    before, after, sentence = PAYLOADS[case]
    write_payload(prompts, before, PAYLOAD)
    git("add", "-A")
    git("commit", "--allow-empty", "-qm", "two")
    write_payload(prompts, after, PAYLOAD)
    run = cli("diff", "--base", "main")
    lines = [it for it in run.out.split("\n") if it.startswith(PAYLOAD)]
    assert (1, [f"{PAYLOAD}: {sentence}"]) == (run.code, lines)


def test_no_snapshot_at_all_is_an_error(cli: Command, git: Git) -> None:
    """A gate that looks at nothing is no gate."""
    git("rm", "-q", "-r", "__snapshots__")
    git("commit", "-qm", "none")
    problem = "no snapshots in this project, and none at main: snapshots are files "
    problem += "__snapshots__/*/*.prompt.txt"
    assert (2, [], f"promptdsl diff: error: {problem}\n{IN_CODE}") == told(cli, "--base", "main")


@pytest.mark.usefixtures("git")
def test_a_changed_snapshot_is_told(cli: Command, prompts: Path) -> None:
    """A file of the working tree counts without a commit; its name may hold anything."""
    write(prompts, "Be kind.")
    assert (1, ["changed"], "") == told(cli, "--base", "main")


@pytest.mark.usefixtures("git")
def test_a_new_name_is_told(cli: Command, prompts: Path) -> None:
    """The same text under another name is renamed, not added and removed."""
    (prompts / ODD).rename(prompts / "__snapshots__/t/new.prompt.txt")
    assert (1, ["renamed"], "") == told(cli, "--base", "main")


@pytest.mark.usefixtures("git")
def test_added_and_removed_snapshots_are_told(cli: Command, prompts: Path) -> None:
    """A removed folder can be named, and what is not in it is left out."""
    (prompts / ODD).unlink()
    write(prompts, "Hello.", "other/__snapshots__/new.prompt.txt")
    assert [(1, ["removed"], ""), (1, ["added"], "")] == [
        told(cli, "--base", "main", folder) for folder in ("__snapshots__", "other")
    ]


@pytest.mark.usefixtures("git")
def test_what_cannot_be_read_is_named(cli: Command, prompts: Path) -> None:
    """A file that is no text is an error of the call, and the others are compared."""
    (prompts / ODD).write_bytes(b"\xff")
    assert (2, ["unreadable"], f"{ODD} is not UTF-8 text\n") == told(cli, "--base", "main")


def test_a_merge_conflict_is_named(cli: Command, git: Git, prompts: Path) -> None:
    """A snapshot with conflicts is not read as a prompt."""
    git("checkout", "-qb", "side")
    write(prompts, "Be kind.")
    git("commit", "-qam", "two")
    git("checkout", "-q", "main")
    write(prompts, "Be loud.")
    git("commit", "-qam", "three")
    git("merge", "side", check=False)
    expected = (2, ["unreadable"], f"{ODD} has merge conflicts\n")
    assert expected == told(cli, "--base", "main")


def test_the_base_is_where_the_branches_parted(cli: Command, git: Git, prompts: Path) -> None:
    """What the other branch has changed since is no difference here."""
    write(prompts, "Be kind.")
    git("commit", "-qam", "two")
    git("checkout", "-q", "--detach", "HEAD^")
    assert (0, ["same"], "") == told(cli, "--base", "main")


@pytest.mark.parametrize(
    ("revision", "advice"),
    [
        ("mian", ": did you mean 'main'?"),
        ("--output=x", "; choose from main"),
        ("zzz", "; choose from main"),
    ],
)
@pytest.mark.usefixtures("git")
def test_an_unknown_revision_is_named(cli: Command, revision: str, advice: str) -> None:
    """The error has similar names; a name may look like an option of git."""
    error = f"promptdsl diff: error: no such revision: {revision}{advice}\n"
    assert (2, [], error) == told(cli, f"--base={revision}")


def test_without_a_repository_it_says_so(cli: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """What git says of a folder that is in no repository is the error."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(Path.cwd().parent))
    code, _, error = told(cli, "--base", "main")
    assert (2, "promptdsl diff: error: git: not a git repository") == (code, error.split(" (")[0])


def test_without_git_it_says_so(cli: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git there is no revision."""
    monkeypatch.setenv("PATH", "")
    assert (2, [], "promptdsl diff: error: git is not installed\n") == told(cli, "--base", "main")


def test_a_target_is_rendered_as_it_was(cli: Command, git: Git, prompts: Path) -> None:
    """A prompt at a revision is that of its code then; neither files nor the index change."""
    module = prompts / "support.py"
    module.write_text(module.read_text("utf-8").replace("Be brief.", "Be kind."), "utf-8")
    before = git("status", "--porcelain")
    code, states, error = told(cli, "git:main:support.py:GREETING", "support.py:GREETING")
    assert (1, ["changed"], "", before) == (code, states, error, git("status", "--porcelain"))


@pytest.mark.slow
def test_a_hook_of_git_changes_no_prompt(cli: Command, git: Git, prompts: Path) -> None:
    """The variables of git are not those of a prompt at a revision, here only of this one."""
    code = "import os\nfrom promptdsl import User\nP = User(str('GIT_CONFIG_GLOBAL' in os.environ))"
    (prompts / "hooked.py").write_text(code, "utf-8")
    git("add", "-A")
    git("commit", "-qm", "two")
    run = cli("diff", "git:main:hooked.py:P", "hooked.py:P")
    assert ["- False", "+ True"] == run.out.split("\n")[-3:-1]


@pytest.mark.slow
@pytest.mark.usefixtures("git")
def test_an_error_at_a_revision_has_its_line(cli: Command) -> None:
    """The error has the failing line in the file of the revision, and the exit code is 2."""
    line = f"support.py:{LINES['failing']}"
    error = f"promptdsl diff: error: git:main:support.py:failing: {line}: KeyError: 'plan'\n"
    assert (2, [], error) == told(cli, "git:main:support.py:failing")


@pytest.mark.slow
def test_a_prompt_that_hangs_is_ended(cli: Command, git: Git, prompts: Path) -> None:
    """After the time limit the process is killed, and nothing of it is left."""
    (prompts / "slow.py").write_text("import time\ntime.sleep(60)\n", "utf-8")
    git("add", "-A")
    git("commit", "-qm", "slow")
    name = "git:main:slow.py:prompt"
    problem = f"{name} was not rendered in 1 seconds"
    error = f"promptdsl diff: error: {problem}: --timeout gives it more time\n"
    assert (2, [], error) == told(cli, name, "--timeout", "1")


@pytest.mark.usefixtures("git")
def test_a_snapshot_at_a_revision_is_read(cli: Command, prompts: Path) -> None:
    """A file is read from git without a checkout."""
    write(prompts, "Be kind.")
    assert (1, ["changed"], "") == told(cli, f"git:main:{ODD}", ODD)


@pytest.mark.usefixtures("git")
def test_the_output_can_be_a_file(cli: Command, prompts: Path) -> None:
    """With ``--output`` nothing is printed, and folders are made."""
    run = cli("diff", "--base", "main", "--format", "html", "--output", "out/diff.html")
    page = (prompts / "out" / "diff.html").read_text("utf-8")
    assert (0, "", "<!doctype html>") == (run.code, run.out, page.split("\n")[0])


@pytest.mark.slow
def test_modules_come_from_the_revision(
    cli: Command, git: Git, prompts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of the import path in the working tree is that of the checkout."""
    (prompts / "src").mkdir()
    (prompts / "src" / "words_then.py").write_text("TONE = 'Be brief.'\n", "utf-8")
    source = "from promptdsl import System\nfrom words_then import TONE\nP = System(TONE)\n"
    (prompts / "talk.py").write_text(source, "utf-8")
    git("add", "-A")
    git("commit", "-qm", "two")
    (prompts / "src" / "words_then.py").write_text("TONE = 'Be kind.'\n", "utf-8")
    monkeypatch.setattr(sys, "path", [str(prompts / "src"), *sys.path])
    assert (1, ["changed"], "") == told(cli, "git:main:talk.py:P", "talk.py:P")


@pytest.mark.slow
def test_a_shallow_clone_says_so(
    cli: Command, git: Git, prompts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error for a revision that was not fetched has the command that fetches it."""
    git("clone", "-q", "--depth=1", prompts.as_uri(), "clone")
    monkeypatch.chdir(prompts / "clone")
    code, _, error = told(cli, "--base", "HEAD~1")
    assert (2, "git fetch --unshallow") == (code, error.rstrip()[-21:])


@pytest.mark.slow
def test_a_bare_clone_has_no_snapshots(
    cli: Command, git: Git, prompts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a working tree there is nothing to compare."""
    git("clone", "-q", "--bare", ".", "bare")
    monkeypatch.chdir(prompts / "bare")
    error = "promptdsl diff: error: git: this operation must be run in a work tree\n"
    assert (2, [], error) == told(cli, "--base", "main")


@pytest.mark.slow
def test_a_submodule_is_a_project_of_its_own(
    cli: Command, git: Git, prompts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The snapshots of a submodule count only if the current folder is in it."""
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", prompts.as_uri(), "lib")
    git("commit", "-qm", "two")
    write(prompts / "lib", "Be kind.")
    outer = told(cli, "--base", "main")
    monkeypatch.chdir(prompts / "lib")
    expected = [(0, ["same"], ""), (1, ["changed"], "")]
    assert expected == [outer, told(cli, "--base", "main")]


MODEL = "---\npromptdsl-snapshot: 1\n"
MODEL += "base: the snapshot without a model; ─= names a text that is there\n"
MODEL += "model: {}\n---\n\n──▶ system\n─= system\n"


def write_models(folder: Path, text: str, name: str = "x") -> None:
    """Write a snapshot with those of two models, of which one begins as the other."""
    write(folder, text, f"__snapshots__/t/{name}.prompt.txt")
    for model in ("gpt-4", "gpt-4.1"):
        path = folder / f"__snapshots__/t/{name}.{model}.prompt.txt"
        path.write_text(MODEL.format(model), "utf-8")


def test_a_changed_base_changes_the_prompts_of_its_models(
    cli: Command, git: Git, prompts: Path
) -> None:
    """Also where the name of a model has a dot, and where all have a new name."""
    write_models(prompts, "Be brief.")
    git("add", "-A")
    git("commit", "-qm", "models")
    write_models(prompts, "Be kind.")
    same = cli("diff", "--base", "main", "__snapshots__/t").out.split("\n")[0]
    git("mv", *(f"__snapshots__/t/{it}.prompt.txt" for it in ("x.gpt-4.1", "y.gpt-4.1")))
    write(prompts, "Be kind.", "__snapshots__/t/y.prompt.txt")
    moved = cli("diff", "--base", "main", "__snapshots__/t").out.split("\n")[0]
    assert ("3 of 4 prompts differ", "5 of 6 prompts differ: 2 added, 2 changed, 1 removed") == (
        same.partition(";")[0],
        moved.partition(";")[0],
    )


@pytest.mark.usefixtures("git")
def test_other_line_ends_are_no_difference(cli: Command, prompts: Path) -> None:
    """The working tree may have those of its system."""
    content = (prompts / ODD).read_bytes()
    (prompts / ODD).write_bytes(content.replace(b"\n", b"\r\n"))
    assert (0, ["same"], "") == told(cli, "--base", "main")


def test_what_a_sparse_checkout_leaves_out_is_not_removed(
    cli: Command, git: Git, prompts: Path
) -> None:
    """A file that a sparse checkout leaves out is no difference."""
    git("update-index", "--skip-worktree", ODD)
    (prompts / ODD).unlink()
    assert (0, [], "") == told(cli, "--base", "main")


def test_without_a_merge_base_it_says_so(cli: Command, git: Git) -> None:
    """A revision without a merge base is compared itself."""
    git("checkout", "-q", "--orphan", "other")
    git("commit", "-qm", "other")
    note = "main and HEAD have no merge base: compared with main itself\n"
    assert (0, ["same"], note) == told(cli, "--base", "main")


OF_PROMPTS = (
    ("--reserve", "100"),
    ("--media-root", "."),
    ("--tool-choice", "auto"),
    ("--chat-template", "x"),
    ("--model", "gpt-5"),
    ("--timeout", "5"),
)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ("-p", "plan=Pro"),
            "--base compares files: leave out the options of a prompt, such as -p",
        ),
        *(
            ((*it,), "--base compares files: leave out the options of a prompt, such as -p")
            for it in OF_PROMPTS
        ),
        (("--cache",), "--cache compares two targets, as text or JSON"),
    ],
)
@pytest.mark.usefixtures("git")
def test_what_base_does_not_take_is_refused(
    cli: Command, arguments: tuple[str, ...], problem: str
) -> None:
    """An option that would do nothing is an error."""
    run = cli("diff", "--base", "main", *arguments)
    assert (2, f"promptdsl diff: error: {problem}\n") == (run.code, run.err)


@pytest.mark.usefixtures("git")
def test_a_path_without_snapshots(cli: Command) -> None:
    """A path that has no snapshots is an error that says how a prompt in code is compared."""
    problem = "no snapshots in these paths: snapshots are files __snapshots__/*/*.prompt.txt"
    run = cli("diff", "--base", "main", "support.py")
    assert (2, f"promptdsl diff: error: {problem}\n{IN_CODE}") == (run.code, run.err)


@pytest.mark.usefixtures("git")
def test_a_revision_alone_is_compared_with_nothing(cli: Command) -> None:
    """A prompt at a revision is not rendered twice: the command says what to compare it with."""
    error = (
        "promptdsl diff: error: there is nothing to compare git:main:support.py:demo with: "
        "promptdsl diff git:main:support.py:demo support.py:demo compares it with the working "
        "tree\n"
    )
    run = cli("diff", "git:main:support.py:demo")
    assert (2, "", error) == (run.code, run.out, run.err)


@pytest.mark.usefixtures("git")
def test_a_target_with_a_base(cli: Command) -> None:
    """Snapshots are compared with --base: for a prompt in code, the error says what to write."""
    error = (
        "promptdsl diff: error: no such file or folder: support.py:demo\n"
        "  promptdsl diff git:main:support.py:demo support.py:demo compares a prompt in code\n"
    )
    run = cli("diff", "--base", "main", "support.py:demo")
    assert (2, "", error) == (run.code, run.out, run.err)
