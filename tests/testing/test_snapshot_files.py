"""The files of snapshots: names that do not collide, files that git or somebody changed, syrupy."""

import pytest

from tests.internals import is_same_snapshot
from tests.testing.projects import Project, summary

ONE = """
def test_role(prompt_snapshot):
    prompt_snapshot(System(Section("role", "Be kind.")))
"""
PATH = "__snapshots__/test_a/test_role.prompt.txt"
COLLIDING = """
@pytest.mark.parametrize("id", ["openai/gpt-5", "openaigpt-5", "A", "a", "::", "x[y", "con"])
def test_id(prompt_snapshot, id):
    prompt_snapshot(User(id))

def test_case(prompt_snapshot):
    prompt_snapshot(User("lower"))

def Test_Case(prompt_snapshot):
    prompt_snapshot(User("upper"))

class TestA:
    def test_it(self, prompt_snapshot):
        prompt_snapshot(User("in a class"))

class Testa:
    def test_it(self, prompt_snapshot):
        prompt_snapshot(User("in another"))
"""


@pytest.mark.slow
def test_names_that_collide_are_files_of_their_own(project: Project) -> None:
    """Names that are equal on some disk, or safe on none, have files that differ in a hash."""
    project.ini("python_functions = test_* Test_*\npython_classes = Test")
    project.write(test_a=COLLIDING)
    assert "11 snapshots generated.\n11 passed" == summary(project.update())
    assert [
        "TestA.test_it-31664849.prompt.txt",
        "Test_Case-3957e0f1.prompt.txt",
        "Testa.test_it-1fe6e07a.prompt.txt",
        "test_case-f01d7c45.prompt.txt",
        "test_id[A]-45a23ba6.prompt.txt",
        "test_id[]-964f8a61.prompt.txt",
        "test_id[a]-9a67722b.prompt.txt",
        "test_id[con].prompt.txt",
        "test_id[openai-gpt-5]-60d35cea.prompt.txt",
        "test_id[openaigpt-5].prompt.txt",
        "test_id[x-y]-d9e02ed6.prompt.txt",
    ] == [path.rpartition("/")[2] for path in project.files()]
    assert "11 snapshots passed.\n11 passed" == summary(project.run())
    assert "1 snapshot passed.\n1 passed" == summary(project.run("test_a.py::Test_Case"))
    assert "1 snapshot passed.\n1 passed" == summary(project.run("test_a.py::TestA::test_it"))
    assert "1 snapshot passed.\n1 passed" == summary(project.run("test_a.py::test_id[A]"))


DOCTEST = """
def test_doctest(prompt_snapshot):
    prompt_snapshot(System(">>> open('run', 'w')", Text("\\n>>> 1 / 0")))
"""


def test_a_prompt_is_no_doctest(project: Project) -> None:
    """The examples in a prompt are not run, though pytest takes ``test*.txt`` for doctests."""
    project.write(test_a=DOCTEST)
    project.update()
    assert "1 snapshot passed.\n1 passed" == summary(project.run())
    assert not project.folder.joinpath("run").exists()


TWICE = """
def test_loop(prompt_snapshot):
    for text in ("one", "two"):
        prompt_snapshot(User(text), name="it")
"""


def test_an_update_refuses_two_prompts_for_a_file(project: Project) -> None:
    """An update fails where a second prompt would take the place of the first, which stays."""
    project.write(test_a=TWICE)
    expected = """\
E           AssertionError: __snapshots__/test_a/test_loop[it].prompt.txt is already the file of \
another prompt, from this test
E             give each prompt its own name: prompt_snapshot(..., name=...); in each(), the \
name of its inputs"""
    assert expected == project.errors_in(project.update())
    assert expected == project.error()
    assert [b"one"] == [it.split(b"\n")[-2] for it in project.files().values()]


NAMED = """
def test_two_files(prompt_snapshot):
    for name in ("A", "a"):
        prompt_snapshot(User(name), name=name).payload("openai")

def test_one_file(prompt_snapshot):
    for name in ("A", "a-559aead0"):
        prompt_snapshot(User(name), name=name)
"""


def test_names_that_differ_in_case(project: Project) -> None:
    """Each has its files, of payloads too; two that are one file on some systems are an error."""
    project.write(test_a=NAMED)
    shown_text = project.errors_in(project.update())
    assert (
        "test_one_file[a-559aead0].prompt.txt is already the file of another prompt" in shown_text
    )
    assert [
        "test_one_file[A-559aead0].prompt.txt",
        "test_two_files[A-559aead0].openai.payload.json",
        "test_two_files[A-559aead0].prompt.txt",
        "test_two_files[a].openai.payload.json",
        "test_two_files[a].prompt.txt",
    ] == [path.rpartition("/")[2] for path in project.files()]
    assert "4 snapshots passed." == summary(project.run("-k", "files")).split("\n")[0]


@pytest.mark.slow
def test_a_name_may_be_given_to_the_same_prompt_twice(project: Project) -> None:
    """Two ways to write a prompt have one name where they come to the same."""
    project.write(test_a=TWICE.replace('"two"', '"one"'))
    project.update()
    assert "2 snapshots passed" in project.run() or "1 snapshot passed" in project.run()


@pytest.mark.slow
def test_lines_that_git_ends_with_crlf(project: Project) -> None:
    """A file with the line ends of Windows is equal, and an update does not change it."""
    project.write(test_a=ONE)
    project.update()
    path = project.folder / PATH
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert "1 snapshot passed.\n1 passed" == summary(project.update())
    assert b"\r\n" in path.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "line 1 of the snapshot is not '---'"),
        (b"\xff\xfe", "line 1 of the snapshot is not '---'"),
        (b"---\nmodel: gpt-5\n---\n", "line 2 of the snapshot is not"),
    ],
)
def test_a_file_that_cannot_be_read(project: Project, content: bytes, problem: str) -> None:
    """A damaged file fails with its line; an update replaces it."""
    project.write(test_a=ONE)
    project.update()
    path = project.folder / PATH
    path.write_bytes(content)
    shown_text = project.error()
    assert f"the prompt differs from {PATH}" in shown_text
    assert problem in shown_text
    assert content == path.read_bytes()
    assert "1 snapshot updated.\n1 passed" == summary(project.update())


@pytest.mark.slow
@pytest.mark.parametrize("option", ["-q", "--snapshot-update"])
def test_a_file_of_a_newer_version(project: Project, option: str) -> None:
    """A file that a newer promptdsl wrote is kept, even by an update, and the error says why."""
    project.write(test_a=ONE)
    project.update()
    path = project.folder / PATH
    newer = path.read_bytes().replace(b"snapshot: 1", b"snapshot: 2")
    path.write_bytes(newer)
    shown_text = project.error(option)
    assert f"{PATH} was written by a newer promptdsl, and would be lost" in shown_text
    assert "install that version, or delete the file" in shown_text
    assert newer == path.read_bytes()


@pytest.mark.slow
def test_a_snapshot_beside_those_of_syrupy(project: Project) -> None:
    """Snapshots of syrupy in the same folder, JSON and single files of text too, are as ever."""
    project.write(
        test_a="""
from syrupy.extensions.json import JSONSnapshotExtension
from syrupy.extensions.single_file import SingleFileSnapshotExtension

class TextExtension(SingleFileSnapshotExtension):
    file_extension = "txt"

def test_mixed(prompt_snapshot, snapshot):
    prompt_snapshot(User("Hi.")).payload("openai")
    assert snapshot == 1
    assert snapshot(extension_class=JSONSnapshotExtension) == 1
    assert snapshot.use_extension(TextExtension) == b"1"
    assert snapshot.use_extension(JSONSnapshotExtension) == 1
"""
    )
    assert "unused" not in project.update()
    before = project.files()
    assert 5 == len(before)
    assert "unused" not in project.run()
    assert "deleted" not in project.update()
    assert before == project.files()


CASES = """
import asyncio

@pytest.fixture
def compared(prompt_snapshot):
    return prompt_snapshot(User("in a fixture"))

def test_fixture(compared, prompt_snapshot):
    prompt_snapshot(User("second"))

def test_async(prompt_snapshot):
    async def run():
        prompt_snapshot(User("async"))
    asyncio.run(run())

def test_loop(prompt_snapshot):
    for text in "abc":
        prompt_snapshot(User(text))
"""


@pytest.mark.slow
def test_wherever_a_prompt_is_compared(project: Project) -> None:
    """A prompt is compared in a fixture, in a loop and in a coroutine."""
    project.write(test_a=CASES)
    project.update()
    assert "6 snapshots passed.\n3 passed" == summary(project.run())


@pytest.mark.slow
def test_an_equals_sign_raises(project: Project) -> None:
    """A comparison that fails raises the complete text, and ``!=`` is an error."""
    project.write(
        test_a="""
def test_equal(prompt_snapshot):
    assert prompt_snapshot == User("Hi.") or True

def test_not_equal(prompt_snapshot):
    assert prompt_snapshot != User("Hi.")
"""
    )
    assert """\
E       AssertionError: there is no snapshot yet: __snapshots__/test_a/test_equal.prompt.txt
E         write it, then look at it: pytest test_a.py::test_equal --snapshot-update
E       OptionError: test_a.py:8: a snapshot cannot be compared with !=
E         call prompt_snapshot(...)""" == project.error().replace(f"{project.folder}/", "")


SCRUBBED = """
@pytest.fixture
def prompt_scrubbers():
    return {"ticket": r"T-[0-9]+"}

def test_values(prompt_snapshot):
    told = System("Now: ", Volatile("T-11", "now"), ".")
    asked = User("T-11 T-22 T-11, room 33")
    prompt_snapshot(Timeline(told, asked), scrub={"room": r"(?<=room )[0-9]+"}).payload("openai")
"""


def test_values_that_change_have_signs(project: Project) -> None:
    """Volatile and scrubbed values are signs in both files: an equal value has an equal sign."""
    project.write(test_a=SCRUBBED)
    project.update()
    payload, prompt = project.files().values()
    said = "⟦ticket-1⟧ ⟦ticket-2⟧ ⟦ticket-1⟧, room ⟦room-1⟧"
    assert f"Now: ⟦now⟧.\n\n──▶ user\n{said}\n" in prompt.decode()
    assert '"Now: ⟦now⟧."' in payload.decode()
    assert f'"{said}"' in payload.decode()
    project.write(test_a=SCRUBBED.replace("11", "44").replace("22", "55").replace("33", "66"))
    assert "2 snapshots passed.\n1 passed" == summary(project.run())


HEADER = """\
---
promptdsl-snapshot: 1
tokens: ~{} (o200k_base x {})
dropped: events, ~{} tokens: over the budget
---

──▶ user
tokens: ~{}
"""


@pytest.mark.parametrize(
    ("stored", "actual", "expected"),
    [
        ((340, 1.3, 12, 5), (360, 1.3, 32, 5), True),
        ((340, 1.3, 12, 5), (320, 1.3, 1, 5), True),
        ((340, 1.3, 12, 5), (375, 1.3, 12, 5), False),
        ((340, 1.3, 12, 5), (340, 1.3, 33, 5), False),
        (("4,200", 1.3, 12, 5), ("4,600", 1.3, 12, 5), True),
        (("4,200", 1.3, 12, 5), ("4,700", 1.3, 12, 5), False),
        (("960", 1.3, 12, 5), ("1,000", 1.3, 12, 5), True),
        ((340, 1.3, 12, 5), (340, 1.4, 12, 5), False),
        ((340, 1.3, 12, 5), (340, 1.3, 12, 6), False),
    ],
)
def test_rounded_tokens_may_differ_a_little(
    stored: tuple[object, ...], actual: tuple[object, ...], *, expected: bool
) -> None:
    """Rounded tokens of the header may differ by a tenth or by 20; nothing else may."""
    assert expected == is_same_snapshot(HEADER.format(*stored), HEADER.format(*actual))


def test_the_length_of_a_volatile_value_changes_nothing(project: Project) -> None:
    """The tokens are those without it, so the file is the same, to the byte, in an update too."""
    body = 'def test_day(prompt_snapshot):\n    prompt_snapshot(User(Volatile("May", "day")))'
    project.write(test_a=body)
    project.update()
    before = project.files()
    assert b"\ntokens: ~7 (o200k_base)\n" in before["__snapshots__/test_a/test_day.prompt.txt"]
    project.write(test_a=body.replace("May", "Wednesday, 27 September 2028. " * 40))
    assert "1 snapshot passed.\n1 passed" == summary(project.run())
    assert "1 snapshot passed.\n1 passed" == summary(project.update())
    assert before == project.files()


@pytest.mark.slow
def test_a_matcher_of_syrupy_replaces_by_path(project: Project) -> None:
    """A matcher replaces a value of the payload by its path, and the keys keep their order."""
    project.write(
        test_a="""
from syrupy.matchers import path_type

def test_payload(prompt_snapshot):
    compared = prompt_snapshot(render(User("Hi."), model="gpt-5"))
    compared.payload(matcher=path_type({"messages.0.content": (str,)}))
"""
    )
    project.update()
    payload = project.files()["__snapshots__/test_a/test_payload.payload.json"]
    expected = (
        b'{\n  "messages": [\n    {\n      "role": "user",\n      "content": "str"\n    }\n  ]\n}\n'
    )
    assert expected == payload


@pytest.mark.slow
def test_a_folder_has_scrubbers(project: Project) -> None:
    """A conftest.py sets the scrubbers of its folder."""
    project.write(
        conftest="@pytest.fixture\ndef prompt_scrubbers(): return {'word': 'kind'}\n", test_a=ONE
    )
    project.update()
    assert b"Be \xe2\x9f\xa6word-1\xe2\x9f\xa7.\n" in project.files()[PATH]


@pytest.mark.slow
def test_a_changed_payload(project: Project) -> None:
    """A payload that changed fails with the lines that did."""
    body = 'def test_p(prompt_snapshot):\n    prompt_snapshot(User("Hi.")).payload("openai")\n'
    project.write(test_a=body)
    project.update()
    path = project.folder / "__snapshots__/test_a/test_p.openai.payload.json"
    path.write_text(path.read_text().replace("Hi.", "Ho."))
    assert """\
E       AssertionError: the payload differs from \
__snapshots__/test_a/test_p.openai.payload.json
E
E       --- stored
E       +++ now
E       @@ -2,7 +2,7 @@
E          "messages": [
E            {
E              "role": "user",
E       -      "content": "Ho."
E       +      "content": "Hi."
E            }
E          ]
E        }
E
E         if the change is right: pytest test_a.py::test_p --snapshot-update""" == project.error()


@pytest.mark.slow
def test_paths_begin_at_the_root(project: Project) -> None:
    """Messages name files from the root, and the command where pytest was called."""
    folder = project.folder / "tests" / "deep"
    folder.mkdir(parents=True)
    project.write(**{"tests/deep/test_a": ONE})
    project.pytester.chdir()
    assert """\
E       AssertionError: there is no snapshot yet: \
deep/__snapshots__/test_a/test_role.prompt.txt
E         write it, then look at it: pytest tests/deep/test_a.py::test_role \
--snapshot-update""" == project.error("--rootdir", "tests", "-c", "pytest.ini")
