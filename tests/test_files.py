"""Reading files: which are read, and how nobody is led elsewhere."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import MediaError, PromptError
from tests.errors import raised
from tests.internals import files_module as files
from tests.internals import read_file

LIMIT = 100
ELSEWHERE = "comes from data, and is not in a folder of media_roots"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder with a file, a folder with a file, and a secret beside it."""
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "a").write_bytes(b"a")
    (root / "sub" / "b").write_bytes(b"b")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "b").write_bytes(b"secret")
    return root


def under(root: Any, path: object) -> bytes:
    """Return the bytes of a path that came in data."""
    return read_file(str(path), limit=LIMIT, roots=[root])


@pytest.mark.parametrize("name", ["a", "sub/b", "sub/../a", "./a", "sub//b"])
def test_what_lies_under_a_root_is_read(home: Path, name: str) -> None:
    """A path under a root is read, however it is spelled."""
    assert name[-1:].encode() == under(home, f"{home}/{name}")


def test_relative_paths_and_roots(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths and roots may be relative to the working directory."""
    monkeypatch.chdir(home)
    assert (b"b", b"b") == (under(".", "sub/b"), under("sub", str(home / "sub" / "b")))


@pytest.mark.parametrize("name", ["root/a", "link/a"])
def test_a_root_may_be_a_link(home: Path, name: str) -> None:
    """A root that is a link is what it leads to, under either name."""
    (home.parent / "link").symlink_to(home)
    assert b"a" == under(home.parent / "link", home.parent / name)


def test_the_first_root_that_has_it(home: Path) -> None:
    """Any of several roots will do."""
    roots = [home / "missing", home.parent / "out", home]
    assert b"a" == read_file(str(home / "a"), limit=LIMIT, roots=roots)


def test_roots_whose_names_begin_alike(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of roots with names that begin alike, of an empty one and of one in the other any will do."""
    monkeypatch.chdir(home)
    (home.parent / "root2" / "sub").mkdir(parents=True)
    (home.parent / "root2" / "sub" / "c").write_bytes(b"c" * LIMIT)
    second, first = [home, home.parent / "root2"], [home.parent / "root2" / "sub", "", home]
    paths = ["../root2/sub/c", str(home / "sub" / "b"), str(home / "a")]
    read = [
        [read_file(path, limit=LIMIT, roots=each) for path in paths] for each in (second, first)
    ]
    assert [[b"c" * LIMIT, b"b", b"a"]] * 2 == read
    large = raised(MediaError, lambda: read_file(paths[0], limit=LIMIT - 1, roots=second))
    assert ("has 100 bytes, the limit is 99" in large.what, True) == (True, "smaller" in large.fix)


@pytest.mark.parametrize(
    ("name", "roots"),
    [
        ("out/b", ["root"]),
        ("root/../out/b", ["root"]),
        ("root/way/b", ["root"]),
        ("root/file", ["root"]),
        ("root/way/../out/b", ["root"]),
        ("out/gone", ["root"]),
        ("out/loop", ["root"]),
        ("rooted", ["root"]),
        ("root/a", []),
        ("root/a", ["root/sub"]),
        ("C:\\root\\a", ["root"]),
        ("\\\\host\\share\\a", ["root"]),
        ("out\x00", ["root"]),
    ],
)
def test_nothing_else_is_read(home: Path, name: str, roots: list[str]) -> None:
    """Dots, links, names that begin alike and names of other systems lead out of no root."""
    (home / "way").symlink_to(home.parent / "out")
    (home / "file").symlink_to(home.parent / "out" / "b")
    (home.parent / "out" / "loop").symlink_to(home.parent / "out" / "loop")
    (home.parent / "rooted").write_bytes(b"secret")
    declared = [home.parent / root for root in roots]
    error = raised(
        MediaError,
        lambda: read_file(str(home.parent / name), limit=LIMIT, roots=declared),
    )
    assert (True, True) == (ELSEWHERE in error.what, "media_roots=[folder]" in error.fix)


def test_an_empty_root_declares_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty name, as of a setting that is not there, is not the working directory."""
    monkeypatch.chdir(home)
    assert ELSEWHERE in raised(MediaError, lambda: under("", "a")).what


# What happens between checking and opening: the state is made that a swap would leave behind.


@pytest.mark.parametrize("relative", [files.RELATIVE, False])
@pytest.mark.parametrize("swapped", ["sub", "sub/b", ""])
def test_a_link_put_there_after_the_check_is_not_followed(
    home: Path, monkeypatch: pytest.MonkeyPatch, swapped: str, relative: bool
) -> None:
    """A folder, a file or the root itself that became a link after the check is an error."""
    monkeypatch.setattr(files, "RELATIVE", relative)
    place, real = home / swapped, str(home / "sub" / "b")
    place.rename(home.parent / "moved")
    place.symlink_to(home.parent / "moved")
    with pytest.raises(OSError, match=r"link|directory"):
        files._open_below(str(home), real)


def test_without_relative_opening_files_are_read(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On systems that cannot open relative to a folder the same files are read and refused."""
    monkeypatch.setattr(files, "RELATIVE", False)
    assert b"b" == under(home, home / "sub" / "b")
    assert "cannot read" in raised(MediaError, lambda: under(home, home / "gone")).what


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="this system reads what it passes through")
def test_a_file_may_be_in_a_folder_nobody_may_list(home: Path) -> None:
    """A folder that may only be passed through is passed through."""
    (home / "sub").chmod(0o311)
    data = under(home, home / "sub" / "b")
    (home / "sub").chmod(0o755)
    assert b"b" == data


# What is no file.


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("roots", [None, ["."]])
def test_a_pipe_is_refused_at_once(
    home: Path, monkeypatch: pytest.MonkeyPatch, roots: list[str] | None
) -> None:
    """A named pipe is refused, instead of waiting for somebody to write."""
    monkeypatch.chdir(home)
    os.mkfifo("pipe")
    error = raised(MediaError, lambda: read_file("pipe", limit=LIMIT, roots=roots))
    assert "'pipe' is not a regular file" == error.what
    assert "check the path of the attachment" == error.fix


@pytest.mark.parametrize("name", ["", "sub"])
def test_a_folder_is_refused(home: Path, name: str) -> None:
    """Neither a root nor a folder under it is read."""
    assert "is a folder, not a file" in raised(MediaError, lambda: under(home, home / name)).what


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no such device")
@pytest.mark.parametrize("roots", [None, ["/dev"]])
def test_a_device_is_refused(roots: list[str] | None) -> None:
    """A device is not read, which could go on for ever."""
    error = raised(MediaError, lambda: read_file("/dev/zero", limit=LIMIT, roots=roots))
    assert "'/dev/zero' is not a regular file" == error.what


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="this system has no such file")
def test_a_file_that_cannot_be_read_is_refused() -> None:
    """A file that opens and then fails to be read is an error like a missing one."""
    error = raised(MediaError, lambda: read_file("/proc/self/mem", limit=LIMIT))
    assert error.what.startswith("cannot read '/proc/self/mem': ")


def test_the_limit_is_that_of_the_open_file(home: Path) -> None:
    """A file of the limit is read, one of a byte more is refused before it is."""
    (home / "a").write_bytes(bytes(LIMIT))
    assert LIMIT == len(under(home, home / "a"))
    os.truncate(home / "a", LIMIT + 1)
    error = raised(MediaError, lambda: under(home, home / "a"))
    assert f"{str(home / 'a')!r} has 101 bytes, the limit is 100" == error.what
    assert "make it smaller, or upload it and write from_file_id(id)" == error.fix


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system has no such file")
def test_a_file_that_says_it_is_empty_is_read_to_the_limit() -> None:
    """Whatever size a file says, no more than one byte over the limit is read."""
    assert LIMIT + 1 == len(read_file("/proc/self/status", limit=LIMIT))


# Names.


@pytest.mark.parametrize("roots", [None, True])
@pytest.mark.parametrize("name", ["\x00", "a\x00b", "x" * 5_000, "a/" * 10_000 + "a", "\ud800"])
def test_a_name_no_file_has_is_refused(home: Path, name: str, roots: bool | None) -> None:
    """A name that no file can have is an error like that of a missing file."""
    declared = None if roots is None else [home]
    error = raised(MediaError, lambda: read_file(f"{home}/{name}", limit=LIMIT, roots=declared))
    assert (True, "check the path of the attachment") == ("cannot read" in error.what, error.fix)


def read_or_error(path: str, root: Path) -> bytes | PromptError:
    """Return the bytes of a path that came in data, or the error it is refused with."""
    try:
        return under(root, path)
    except PromptError as error:
        return error


_steps = st.lists(st.sampled_from(["..", ".", "root", "out", "sub", "a", "b", "way", ""]))


@given(st.text(st.characters(codec=None)) | _steps.map("/".join))
def test_no_path_reads_a_secret(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    """Whatever path comes in data, what lies outside of the root is not read."""
    top = tmp_path_factory.getbasetemp() / "any"
    (top / "root" / "sub").mkdir(parents=True, exist_ok=True)
    (top / "out").mkdir(exist_ok=True)
    (top / "out" / "b").write_bytes(b"secret")
    (top / "root" / "sub" / "b").write_bytes(b"b")
    (top / "root" / "way").unlink(missing_ok=True)
    (top / "root" / "way").symlink_to(top / "out")
    assert b"secret" != read_or_error(f"{top}/root/{name}", top / "root")
