"""Folders of templates: which one is asked first, and that none is left."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from promptdsl import TemplateError, register_templates
from tests.errors import lines_of
from tests.internals import (
    Registration,
    TemplateFile,
    TemplateFolder,
    read_template,
    templates_root,
)
from tests.templates.rendered import fault, file_fault, file_pieces, in_full, pieces, put

ROOT = Path(__file__).resolve().parents[2]


def test_templates_stand_in_one_folder() -> None:
    """In a source tree the templates are found next to the package."""
    assert ROOT / "templates" == templates_root()


LOST = """
from promptdsl import Event, TemplateError, UserAction, render

try:
    render(Event(UserAction("left")))
except TemplateError as error:
    print(error.what, error.fix, sep="\\n")
"""


@pytest.mark.slow
def test_templates_that_are_lost(tmp_path: Path) -> None:
    """A package without its templates says so."""
    package = tmp_path / "promptdsl"
    shutil.copytree(ROOT / "promptdsl", package, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-c", LOST]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (
        f"there are no templates in {package} or next to it\n"
        "install promptdsl again: files are missing\n"
    ) == done.stdout


def _folders(tmp_path: Path, *names: str) -> list[Path]:
    folders = [tmp_path / name for name in names]
    for folder in folders:
        folder.mkdir()
        put(folder, name=folder.name)
    return folders


def test_the_last_folder_is_asked_first(tmp_path: Path) -> None:
    """The folder registered last is asked first; the others have what it has not."""
    one, two = _folders(tmp_path, "one", "two")
    put(one, only="only one")
    with register_templates(one), register_templates(two):
        assert ["two", "only one"] == [
            in_full(file_pieces("name.md")),
            in_full(file_pieces("only.md")),
        ]


def test_a_folder_is_taken_back(tmp_path: Path) -> None:
    """As a context manager, a registration holds until its block ends."""
    before = Registration.active
    with register_templates(*_folders(tmp_path, "one")) as folder:
        inside = Registration.active
    assert ((TemplateFolder(str(folder)), *before), before) == (inside, Registration.active)


def test_a_folder_is_taken_back_after_an_error(tmp_path: Path) -> None:
    """A block that raises takes its folder back too."""
    before = Registration.active
    with pytest.raises(ZeroDivisionError), register_templates(tmp_path):
        raise ZeroDivisionError
    assert before == Registration.active


def test_a_folder_stays(tmp_path: Path) -> None:
    """Without a block a folder stays registered."""
    registration = register_templates(tmp_path)
    stays = TemplateFolder(str(tmp_path.resolve())) == Registration.active[0]
    with registration:
        pass
    assert (True, False) == (stays, TemplateFolder(str(tmp_path.resolve())) in Registration.active)


def test_a_folder_is_registered_once(tmp_path: Path) -> None:
    """A folder that is registered again moves to the front, and is there once."""
    one, two = _folders(tmp_path, "one", "two")
    before = Registration.active
    with register_templates(one), register_templates(two), register_templates(one):
        assert (TemplateFolder(str(one)), TemplateFolder(str(two)), *before) == Registration.active


def test_an_order_comes_back(tmp_path: Path) -> None:
    """What moved to the front for a block moves back after it."""
    one, two = _folders(tmp_path, "one", "two")
    with register_templates(one), register_templates(two):
        before = Registration.active
        with register_templates(one):
            pass
        assert before == Registration.active


def test_blocks_that_overlap(tmp_path: Path) -> None:
    """Each block takes back its own folder, in whatever order they end."""
    one, two = _folders(tmp_path, "one", "two")
    before = Registration.active
    first, second = register_templates(one), register_templates(two)
    first.__exit__(None, None, None)
    left = Registration.active
    second.__exit__(None, None, None)
    assert ((TemplateFolder(str(two)), *before), before) == (left, Registration.active)


def test_a_folder_of_others_stays(tmp_path: Path) -> None:
    """A block that ends late leaves a folder registered that was so before it."""
    one, two = _folders(tmp_path, "one", "two")
    with register_templates(one), register_templates(two):
        again = register_templates(one)
        with register_templates(tmp_path):
            again.__exit__(None, None, None)
            assert TemplateFolder(str(one)) in Registration.active


def _missing(tmp_path: Path) -> Path:
    return tmp_path / "none"


def _file(tmp_path: Path) -> Path:
    return put(tmp_path, a="") / "a.md"


def _null(tmp_path: Path) -> Path:
    return tmp_path / "a\0b"


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (_missing, "No such file or directory"),
        (_file, "it is not a folder"),
        (_null, "null"),
    ],
)
def test_a_folder_has_to_be_one(make: Callable[[Path], Path], problem: str, tmp_path: Path) -> None:
    """What is no folder is refused, with the author's line."""
    folder = make(tmp_path)

    def write() -> object:
        return register_templates(folder)

    with pytest.raises(TemplateError) as caught:
        write()
    place, shown = lines_of(write, 1)[0], repr(folder)[:200]
    what, fix = str(caught.value).split("\n")
    assert "  give the path of the folder with your templates" == fix
    assert (True, True) == (
        what.startswith(f"{place}: no templates can be registered from {shown}: "),
        problem in what.removeprefix(f"{place}: no templates can be registered from {shown}: "),
    )


INCLUDES = ("../secret.md", "/etc/passwd", "a/../../secret.md", "a\\b", "C:x", "a.md\0", "", ".")


@pytest.mark.parametrize("name", INCLUDES)
@pytest.mark.parametrize(
    "template",
    [
        "{% include x %}",
        "{% include [x] %}",
        "{% include x ignore missing %}",
        "{% extends x %}",
        "{% import x as m %}",
        "{% from x import m %}",
    ],
)
def test_no_template_leads_out(template: str, name: str, tmp_path: Path) -> None:
    """A name that could be a path is refused, wherever a template gives one."""
    inner = tmp_path / "inner"
    inner.mkdir()
    put(tmp_path, secret="secret")
    with register_templates(inner):
        assert (
            f"the template, line 1: {name!r} is not the name of a template"
            == (fault(template, x=name).split("\n")[0])
        )


def _link(tmp_path: Path, target: Path) -> Path:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "a.md").symlink_to(target)
    return inner


def test_a_link_does_not_lead_out(tmp_path: Path) -> None:
    """A link out of its folder is not followed."""
    put(tmp_path, secret="secret")
    with register_templates(_link(tmp_path, tmp_path / "secret.md")) as folder:
        assert (
            f"template 'a.md' is a link that leads out of {str(folder)!r}\n"
            "  put the file itself there, or register the folder of the file"
        ) == file_fault("a.md")


def test_a_folder_that_is_a_link_does_not_lead_out(tmp_path: Path) -> None:
    """A link to a folder elsewhere is not followed."""
    outer, inner = _folders(tmp_path, "outer", "inner")
    (inner / "sub").symlink_to(outer)
    with register_templates(inner):
        assert "template 'sub/name.md' is a link that leads out" in file_fault("sub/name.md")


def test_a_link_inside_its_folder(tmp_path: Path) -> None:
    """A link to another template of the folder is followed, and so is one to the folder itself."""
    (inner,) = _folders(tmp_path, "inner")
    (inner / "a.md").symlink_to(inner / "name.md")
    (tmp_path / "link").symlink_to(inner)
    with register_templates(tmp_path / "link"):
        assert "inner" == in_full(file_pieces("a.md"))


def test_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    """A link without a file is no template."""
    with register_templates(_link(tmp_path, tmp_path / "none.md")):
        assert "there is no template 'a.md'" == file_fault("a.md").split("\n")[0]


def test_a_link_to_itself(tmp_path: Path) -> None:
    """A link that goes round is an error."""
    with register_templates(_link(tmp_path, tmp_path / "inner" / "a.md")):
        assert "cannot read template 'a.md'" == file_fault("a.md").split(":")[0]


def test_a_folder_is_no_template(tmp_path: Path) -> None:
    """A folder is no template."""
    (tmp_path / "a.md").mkdir()
    with register_templates(tmp_path):
        expected = "cannot read template 'a.md': it is not a regular file\n  check the file"
        assert expected == file_fault("a.md")


def test_a_pipe_is_no_template(tmp_path: Path) -> None:
    """A pipe is no template, and nobody waits for it."""
    os.mkfifo(tmp_path / "a.md")
    with register_templates(tmp_path):
        assert "it is not a regular file" in file_fault("a.md")


def test_what_stands_in_a_file_is_not_there(tmp_path: Path) -> None:
    """A name that goes on behind a file is the name of nothing."""
    with register_templates(put(tmp_path, a="a")):
        assert "there is no template 'a.md/b.md'" == file_fault("a.md/b.md").split("\n")[0]


def test_a_name_no_system_takes(tmp_path: Path) -> None:
    """A name that is too long for a file is an error."""
    with register_templates(tmp_path):
        assert "File name too long" in file_fault("a" * 300)


def test_a_file_has_a_limit(tmp_path: Path) -> None:
    """A template file has at most a million bytes."""
    with register_templates(put(tmp_path, a="x" * 1_000_000, b="x" * 1_000_001)):
        assert 1_000_000 == len(in_full(file_pieces("a.md")))
        expected = "it makes more than 1,000,000 bytes in template 'b.md'\n  make it do less"
        assert expected == file_fault("b.md")


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    """A file that was found, and is gone when it is read, is an error that says why."""
    found = TemplateFile(
        "a.md", str(tmp_path / "a.md"), TemplateFolder(str(tmp_path)), (0, 0, 0, 0)
    )
    with pytest.raises(TemplateError) as caught:
        read_template(found)
    assert caught.value.what.startswith("cannot read template 'a.md': ")
    assert "No such file or directory" in caught.value.what


def test_a_file_is_utf_8(tmp_path: Path) -> None:
    """A template is UTF-8; the error says where it is not."""
    (tmp_path / "a.md").write_bytes(b"caf\xe9")
    with register_templates(tmp_path):
        expected = "cannot read template 'a.md': it is not UTF-8 at byte 3\n  check the file"
        assert expected == file_fault("a.md")


def test_a_mark_of_byte_order_is_left_out(tmp_path: Path) -> None:
    """What some editors write first is no author text."""
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbfa\r\nb")
    with register_templates(tmp_path):
        assert ("a\nb",) == file_pieces("a.md")


def test_a_value_chooses_among_templates(tmp_path: Path) -> None:
    """A value that names a template gets one of the folders, and nothing else."""
    with register_templates(put(tmp_path, a="A", b="B")):
        assert ("AB",) == pieces("{% include x %}{% include ['none.md', y] %}", x="a.md", y="b.md")
