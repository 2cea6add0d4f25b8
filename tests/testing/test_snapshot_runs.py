"""Runs of all kinds with snapshots: interrupted, of some tests, repeated, in another folder."""

import re

import pytest

from tests.testing.projects import Project, summary

ONE = """
def test_one(prompt_snapshot):
    prompt_snapshot(User("one"))
"""
TWO = ONE + ONE.replace("one", "two")
BOTH = [f"__snapshots__/test_a/test_{name}.prompt.txt" for name in ("one", "two")]


def test_a_failure_that_a_test_expects(project: Project) -> None:
    """A test may catch the failure of a snapshot; what it compares later is not unused."""
    project.write(test_a=TWO.replace("def test_two(prompt_snapshot):\n", ""))
    project.update()
    expected = "    with pytest.raises(AssertionError, match='differs from'):\n    "
    project.write(
        test_a=ONE.replace('"one"', '"1"').replace("    prompt", expected + "    prompt")
        + '    prompt_snapshot(User("two"))'
    )
    assert "1 snapshot failed. 1 snapshot passed.\n1 passed" == summary(project.run())


def test_a_diff_of_syrupy_is_beside(project: Project) -> None:
    """A test may store a difference with ``snapshot(diff=...)`` of syrupy, and prompts as well."""
    body = """
def test_both(prompt_snapshot, snapshot):
    assert snapshot(name="base") == ["one", "two"]
    prompt_snapshot(User("one"), name="base")
    assert snapshot(name="now", diff="base") == ["one", "2"]
    prompt_snapshot(User("one"))
"""
    project.write(test_a=body)
    project.update()
    assert "4 snapshots passed.\n1 passed" == summary(project.run())


def test_a_folder_that_cannot_be_written(project: Project) -> None:
    """An update names the file that cannot be written."""
    project.write(test_a=ONE)
    project.folder.joinpath("__snapshots__").write_text("a file")
    shown_text = project.error("--snapshot-update").replace(f"{project.folder}/", "")
    assert (
        """\
E       PromptError: test_a.py:5: __snapshots__/test_a/test_one.prompt.txt cannot be read or \
written: Not a directory
E         check it and its folder"""
        == shown_text
    )


@pytest.mark.slow
def test_an_interrupted_update_deletes_nothing(project: Project) -> None:
    """After Ctrl-C, the snapshots of the tests that did not run are there."""
    project.write(test_a=TWO)
    project.update()
    before = project.files()
    project.write(test_a="def test_stop(): raise KeyboardInterrupt\n" + TWO)
    assert "deleted" not in project.update(apart=True)
    project.write(test_a=TWO.replace('prompt_snapshot(User("one"))', "raise KeyboardInterrupt"))
    assert "deleted" not in project.update(apart=True)
    assert before == project.files()


@pytest.mark.slow
def test_an_update_of_the_tests_that_failed(project: Project) -> None:
    """With ``--lf`` an update writes the snapshots of these tests, and deletes no other."""
    project.write(test_a=TWO, test_b=ONE)
    project.update()
    project.write(test_a=TWO.replace('"two"', '"2"'))
    project.pytester.runpytest_inprocess("-q")
    shown_text = project.pytester.runpytest_inprocess("-q", "--lf", "--snapshot-update").outlines
    assert ["1 snapshot updated."] == [line for line in shown_text if "snapshot updated" in line]
    assert [*BOTH, "__snapshots__/test_b/test_one.prompt.txt"] == [*project.files()]


def test_a_folder_with_another_name(project: Project) -> None:
    """With ``--snapshot-dirname`` the files are there, and an unused one is named there."""
    option = "--snapshot-dirname=stored"
    project.write(test_a=TWO)
    project.update(option)
    assert project.folder.joinpath("stored", "test_a", "test_two.prompt.txt").exists()
    project.write(test_a=ONE)
    shown_text = project.run(option)
    assert "Unused test_two.prompt (stored/test_a/test_two.prompt.txt)" in shown_text
    assert {} == project.files()


AGAIN = """
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    runtestprotocol(item, nextitem=None, log=False)
    item._initrequest()
    runtestprotocol(item, nextitem=nextitem)
    return True
"""


def test_a_test_that_is_run_once_more(project: Project) -> None:
    """A test that is repeated may give another prompt: an update takes the last one."""
    project.write(
        conftest=AGAIN,
        test_a="CALLS = []\n"
        "def test_one(prompt_snapshot):\n"
        "    CALLS.append(1)\n"
        "    prompt_snapshot(User(f'call {len(CALLS)}'))\n",
    )
    project.update()
    assert [b"call 2"] == [it.split(b"\n")[-2] for it in project.files().values()]


@pytest.mark.parametrize(
    "option", ["--snapshot-update-new-only", pytest.param("-v", marks=pytest.mark.slow)]
)
def test_a_damaged_file_is_kept(project: Project, option: str) -> None:
    """Only a full update replaces a damaged file, not an update of missing snapshots."""
    project.write(test_a=TWO)
    project.update()
    path = project.folder / BOTH[0]
    path.write_text("<<<<<<< HEAD\n")
    assert "It has a merge conflict: resolve it, or write the file again." in project.error(option)
    assert "<<<<<<< HEAD\n" == path.read_text()
    assert "1 snapshot passed. 1 snapshot updated.\n2 passed" == summary(project.update())


UNUSED = """
Unused test_two.prompt (tests/__snapshots__/test_a/test_two.prompt.txt)
Re-run pytest with --snapshot-update to delete unused snapshots.
1 passed"""
SKIPPED = "\n@pytest.mark.skip\n" + ONE.replace("test_one", "test_skipped")[1:]


@pytest.mark.parametrize(
    "path",
    [*(pytest.param(path, marks=pytest.mark.slow) for path in (".", "tests/test_a.py")), "tests"],
)
def test_an_unused_file_where_a_path_is_given(project: Project, path: str) -> None:
    """A run of a folder or of a file names the snapshots that no test has, and deletes them."""
    project.folder.joinpath("tests").mkdir()
    project.write(**{"tests/test_a": TWO})
    project.update()
    project.write(**{"tests/test_a": ONE})
    assert f"1 snapshot passed. 1 snapshot unused.{UNUSED}" == summary(project.run(path))
    project.update(path)
    assert ["tests/__snapshots__/test_a/test_one.prompt.txt"] == [*project.files()]


GONE = "tests/gone/__snapshots__/test_c/test_one.prompt.txt"


@pytest.fixture
def deserted(project: Project) -> Project:
    """Return a project with a folder whose only file of tests is gone, but for its snapshot."""
    project.folder.joinpath("tests", "gone").mkdir(parents=True)
    project.write(**{"tests/test_a": TWO, "tests/test_b": ONE, "tests/gone/test_c": ONE})
    project.update()
    project.folder.joinpath("tests", "gone", "test_c.py").unlink()
    return project


@pytest.mark.parametrize("path", [(), pytest.param(("tests",), marks=pytest.mark.slow)])
def test_an_unused_file_in_a_folder_without_tests(deserted: Project, path: tuple[str]) -> None:
    """A run of a folder names the snapshots of a folder in it that has no tests any more."""
    assert f"Unused test_one.prompt ({GONE})" in summary(deserted.run(*path))
    deserted.update(*path)
    assert GONE not in deserted.files()
    assert 3 == len(deserted.files())


@pytest.mark.parametrize(
    "options", [pytest.param(("-k", "test_one"), marks=pytest.mark.slow), ("tests/test_b.py",)]
)
def test_a_folder_without_tests_in_a_run_of_some(
    deserted: Project, options: tuple[str, ...]
) -> None:
    """A run of some tests names no snapshot of a folder without tests, and deletes none."""
    assert "unused" not in deserted.run(*options)
    deserted.update(*options)
    assert GONE in deserted.files()


CLASS = "class TestA:\n    def test_one(self, prompt_snapshot): prompt_snapshot(User('one'))\n"
BROKEN = "    @pytest.mark.parametrize('plan', [1])\n    def test_broken(self): ...\n"


def test_a_class_that_cannot_be_read(project: Project) -> None:
    """An update deletes no snapshot of a class, or of a file, that pytest could not collect."""
    project.write(test_a=CLASS, test_b=ONE, test_c=ONE)
    project.update()
    before = project.files()
    project.write(test_a=f"{CLASS}{BROKEN}\ndef test_plain(): ...", test_b="import nothing")
    assert "deleted" not in project.update("--continue-on-collection-errors")
    assert before == project.files()


UNCALLED = """
def test_plain(prompt_snapshot): ...
def test_true(prompt_snapshot): assert prompt_snapshot
def test_skipped(prompt_snapshot): pytest.skip()
@pytest.mark.xfail(strict=False)
def test_expected(prompt_snapshot): ...
@pytest.mark.usefixtures("prompt_snapshot")
def test_used(): ...
@pytest.fixture
def compare(prompt_snapshot): return lambda text: prompt_snapshot == User(text)
def test_in_a_fixture(compare, prompt_snapshot): compare("one")
"""


def test_a_fixture_that_is_not_called(project: Project) -> None:
    """A test that passes and has the fixture as an argument fails if nothing is compared."""
    project.write(test_a=UNCALLED)
    shown_text = project.update()
    advice = (
        "the test takes prompt_snapshot, but does not call it\n"
        "  write prompt_snapshot(prompt), or remove the argument"
    )
    failures = [f"test_a.py:{line}: {advice}" for line in (4, 5)]
    assert failures == re.findall(r"^test_a.py:.*\n.*", shown_text, re.MULTILINE)
    assert "2 failed, 2 passed, 1 skipped, 1 xpassed" in shown_text


@pytest.mark.slow
@pytest.mark.parametrize("path", [(), ("tests",)])
def test_an_unused_file_beside_a_skipped_test(project: Project, path: tuple[str, ...]) -> None:
    """The snapshot of a skipped test is kept, and the one of no test is named."""
    project.folder.joinpath("tests").mkdir()
    project.write(**{"tests/test_a": TWO + SKIPPED.replace("@pytest.mark.skip", "")})
    project.update()
    project.write(**{"tests/test_a": ONE + SKIPPED})
    assert f"1 snapshot unused.{UNUSED}, 1 skipped" in summary(project.run(*path))
    project.update(*path)
    left = [path.rpartition("/")[2] for path in project.files()]
    assert ["test_one.prompt.txt", "test_skipped.prompt.txt"] == left


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ("tests/test_a.py::test_one",),
        ("tests", "-k", "test_one"),
        ("tests/test_a.py", "-k", "not test_two"),
        ("tests", "-m", "not slow"),
        ("tests", "--deselect", "tests/test_a.py::test_two"),
        ("tests/test_b.py",),
        ("tests", "--ignore", "tests/test_a.py", "--ignore", "tests/gone"),
        ("tests", "--lf", "-p", "cacheprovider"),
        ("tests/test_a.py", "--lf", "-p", "cacheprovider"),
    ],
)
def test_what_did_not_run_is_kept_where_a_path_is_given(
    deserted: Project, options: tuple[str, ...]
) -> None:
    """An update of some tests of a path deletes no snapshot of the others, nor names it."""
    project = deserted
    slow = TWO.replace("def test_two", "@pytest.mark.slow\ndef test_two")
    project.ini("markers = slow")
    fails = TWO.replace("    prompt", "    assert 0\n    prompt", 1)
    project.write(**{"tests/test_a": fails})
    project.pytester.runpytest_inprocess("-q")
    project.write(**{"tests/test_a": slow})
    assert "unused" not in project.run(*options)
    assert "deleted" not in project.update(*options)
    assert 4 == len(project.files())
