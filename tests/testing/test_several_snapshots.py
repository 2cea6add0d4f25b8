"""Runs with several tests and files of each kind: what is unused, renamed and changed."""

import re

from tests.testing.projects import Project, summary

BEFORE = """
class TestA:
    def test_one(self, prompt_snapshot):
        prompt_snapshot(User("A one"))
        prompt_snapshot(User("A one, second"))
    def test_gone(self, prompt_snapshot):
        prompt_snapshot(User("A gone"))

class TestB:
    def test_one(self, prompt_snapshot):
        prompt_snapshot(User("B one"))
        prompt_snapshot(User("B one, second"))

@pytest.mark.parametrize("id", ["x", "y", "x/y"])
def test_id(prompt_snapshot, id):
    prompt_snapshot(User(id))
    prompt_snapshot(User(id + " second"), name="second")

def names(prompt_snapshot, *texts):
    for text in texts:
        prompt_snapshot(User(text), name=text).payload("openai")

def test_passes(prompt_snapshot): names(prompt_snapshot, "a", "b")
def test_fails(prompt_snapshot): names(prompt_snapshot, "a", "b")
def test_skips(prompt_snapshot): names(prompt_snapshot, "a", "b")
def test_expected(prompt_snapshot): names(prompt_snapshot, "a", "b")
def test_setup(prompt_snapshot): names(prompt_snapshot, "a", "b")
def test_teardown(prompt_snapshot): names(prompt_snapshot, "a", "b")
def test_gone(prompt_snapshot): names(prompt_snapshot, "a", "b")
def test_gone_too(prompt_snapshot): names(prompt_snapshot, "a", "b")
"""
AFTER = (
    BEFORE.replace('        prompt_snapshot(User("A one, second"))\n', "")
    .replace('["x", "y", "x/y"]', '["y", "x/y"]')
    .replace('    prompt_snapshot(User(id + " second"), name="second")\n', "")
    .replace("    def test_gone(self, prompt_snapshot):", "    def other(self, prompt_snapshot):")
    .replace("def test_gone", "def other")
    .replace('"a", "b")\n', '"a")\n')
    .replace(
        'test_fails(prompt_snapshot): names(prompt_snapshot, "a")',
        "test_fails(prompt_snapshot): assert 0",
    )
    .replace(
        'test_skips(prompt_snapshot): names(prompt_snapshot, "a")',
        "test_skips(prompt_snapshot): pytest.skip()",
    )
    .replace("def test_expected", "@pytest.mark.xfail\ndef test_expected")
    .replace(
        'test_expected(prompt_snapshot): names(prompt_snapshot, "a")',
        "test_expected(prompt_snapshot): assert 0",
    )
    .replace("def test_setup(", "def test_setup(broken, ")
    .replace("def test_teardown(", "def test_teardown(late, ")
    + """
@pytest.fixture
def broken(): assert 0
@pytest.fixture
def late():
    yield
    assert 0
"""
)


SMALL = """
def test_passes(prompt_snapshot): prompt_snapshot(User("a"))
def test_gone(prompt_snapshot): prompt_snapshot(User("b"))
"""
UNUSED = """
test_a/TestA.test_gone.prompt.txt
test_a/TestA.test_one.2.prompt.txt
test_a/test_gone[a].prompt.txt
test_a/test_gone[b].prompt.txt
test_a/test_gone_too[a].prompt.txt
test_a/test_gone_too[b].prompt.txt
test_a/test_id[x-y]-d67f56f1[second].prompt.txt
test_a/test_id[x].prompt.txt
test_a/test_id[x][second].prompt.txt
test_a/test_id[y][second].prompt.txt
test_a/test_passes[b].prompt.txt
test_b/test_gone.prompt.txt
test_a/test_gone[a].openai.payload.json
test_a/test_gone[b].openai.payload.json
test_a/test_gone_too[a].openai.payload.json
test_a/test_gone_too[b].openai.payload.json
test_a/test_passes[b].openai.payload.json
"""


def test_what_is_unused_beside_what_is_needed(project: Project) -> None:
    """Of tests that passed or are gone the other files are unused, of the others none is."""
    project.write(test_a=BEFORE, test_b=SMALL)
    project.update()
    before = [*project.files()]
    project.write(test_a=AFTER, test_b=SMALL.replace("test_gone", "other"))
    shown_text = summary(project.update())
    assert UNUSED.split() == re.findall(r"Deleted .*\(__snapshots__/(.*)\)", shown_text)
    left = {it.removeprefix("__snapshots__/") for it in before} - {*UNUSED.split()}
    assert left == {it.removeprefix("__snapshots__/") for it in project.files()}


def message_in(project: Project) -> str:
    """Return the errors of a run without the marks of pytest."""
    lines = [it[1:].strip() for it in project.error().split("\n")]
    return "\n".join(lines).replace(f"{project.folder}/", "")


SEVERAL = """
@pytest.mark.prompt_models("gpt-5", "gpt-4o")
def test_one(prompt_snapshot):
    prompt_snapshot(Timeline(System("one"), User("two")))

def test_payloads(prompt_snapshot):
    compared = prompt_snapshot(User("three"), name="p")
    compared.payload("openai")
    compared.payload("anthropic")
"""


TOLD = """\
AssertionError: there are no snapshots yet:
__snapshots__/test_a/test_one.gpt-5.prompt.txt
__snapshots__/test_a/test_one.gpt-4o.prompt.txt

the prompt differs from __snapshots__/test_a/test_one.prompt.txt

`system` changed: 1 line; 13 tokens now

system (test_a.py:6)
- one
+ 1

if the change is right: pytest test_a.py::test_one --snapshot-update
AssertionError: the payload differs from \
__snapshots__/test_a/test_payloads[p].anthropic.payload.json

--- stored
+++ now
@@ -5,7 +5,7 @@
"content": [
{
"type": "text",
-          "text": "four"
+          "text": "three"
}
]
}

if the change is right: pytest test_a.py::test_payloads --snapshot-update"""


def test_several_files_that_are_missing_and_changed(project: Project) -> None:
    """A failure has all missing files of a test, then the changed ones, and one command."""
    project.write(test_a=SEVERAL)
    project.update()
    folder = project.folder / "__snapshots__/test_a"
    folder.joinpath("test_one.gpt-5.prompt.txt").unlink()
    folder.joinpath("test_one.gpt-4o.prompt.txt").unlink()
    path = folder / "test_payloads[p].anthropic.payload.json"
    path.write_text(path.read_text().replace("three", "four"))
    project.write(test_a=SEVERAL.replace('"one"', '"1"'))
    assert TOLD == message_in(project)


def test_two_tests_that_were_renamed(project: Project) -> None:
    """Each missing file has advice with the files that have its content, but no test."""
    body = "def test_{}(prompt_snapshot): prompt_snapshot(User('{}'))\n"
    tests = (("a1", "x"), ("a2", "x"), ("a3", "y"), ("a4", "x"))
    project.write(test_a="".join(body.format(*it) for it in tests), test_b=body.format("b", "x"))
    project.update()
    tests = (("a4", "x"), ("c1", "x"), ("c2", "y"), ("c3", "z"))
    project.write(test_a="".join(body.format(*it) for it in tests))
    shown_text = re.sub(r"has this content, .* renamed: ", "", message_in(project))
    folder = "__snapshots__/test_a/test_"
    moves = {
        new: [
            f"{folder}{it}.prompt.txt git mv {folder}{it}.prompt.txt {folder}{new}.prompt.txt"
            for it in old
        ]
        for new, old in (("c1", ("a1", "a2")), ("c2", ("a3",)), ("c3", ()))
    }
    assert [
        line
        for new, old in moves.items()
        for line in (
            f"AssertionError: there is no snapshot yet: {folder}{new}.prompt.txt",
            *old,
            f"write it, then look at it: pytest test_a.py::test_{new} --snapshot-update",
        )
    ] == shown_text.split("\n")


ALIKE = """
def test_case(prompt_snapshot): prompt_snapshot(User("one"))
def test_Case(prompt_snapshot): prompt_snapshot(User("two"))
def test_other(prompt_snapshot): prompt_snapshot(User("three"))
class TestA:
    def test_one(self, prompt_snapshot): prompt_snapshot(User("four"))
class Testa:
    def test_one(self, prompt_snapshot): prompt_snapshot(User("five"))
class TestB:
    def test_one(self, prompt_snapshot): prompt_snapshot(User("six"))
"""


def test_names_that_differ_in_case_alone(project: Project) -> None:
    """Tests and classes whose names differ in case alone have files of their own, with a hash."""
    project.write(test_a=ALIKE, test_b=ALIKE)
    project.update()
    files = {
        "TestA.test_one-0cdbb568": "four",
        "TestB.test_one": "six",
        "Testa.test_one-88d4f8d5": "five",
        "test_Case-6a974cfa": "two",
        "test_case-f01d7c45": "one",
        "test_other": "three",
    }
    assert {
        f"{folder}/{name}.prompt.txt": text
        for folder in ("test_a", "test_b")
        for name, text in files.items()
    } == {
        it.partition("/")[2]: content.decode().rstrip().rpartition("\n")[2]
        for it, content in project.files().items()
    }


def test_folders_of_tests_beside_each_other(project: Project) -> None:
    """Two files of one name in two folders have their own snapshots; each names its unused one."""
    for name in ("one", "two"):
        project.folder.joinpath(name).mkdir()
    body = 'def test_a(prompt_snapshot): prompt_snapshot(User("{0}"))\n'
    gone = 'def test_gone(prompt_snapshot): prompt_snapshot(User("{0}"))\n'
    project.ini("addopts = --import-mode=importlib")
    for name in ("one", "two"):
        project.write(**{f"{name}/test_x": (body + gone).format(name)})
    project.update()
    project.write(**{"two/test_x": body.format("two")})
    unused = """
Unused test_gone.prompt (two/__snapshots__/test_x/test_gone.prompt.txt)
Re-run pytest with --snapshot-update to delete unused snapshots.
"""
    assert [
        f"3 snapshots passed. 1 snapshot unused.{unused}3 passed",
        "2 snapshots passed.\n2 passed",
        f"1 snapshot passed. 1 snapshot unused.{unused}1 passed",
    ] == [summary(project.run(*it)) for it in ((), ("one",), ("two",))]


SCRUBBED = """
@pytest.fixture
def prompt_scrubbers():
    return {"a": r"x[0-9]", "b": r"y[0-9]"}

def test_one(prompt_snapshot):
    prompt_snapshot(User("x1 y1 z1 x2 y1"))
    prompt_snapshot(User("x1 y1 z1 x2 y1"), scrub={"c": r"z[0-9]"})
    prompt_snapshot(User("x1 y1 z1 x2 y1"), scrub={"b": r"z[0-9]", "d": r"y[0-9]"})
    prompt_snapshot(User("x1 y1 z1 x2 y1"), scrub={"c": r"[xyz][0-9]"})
    prompt_snapshot(User("x1"), name="n")
    prompt_snapshot(User("y1 y2"))
"""


def test_scrubbers_of_a_folder_and_of_a_call(project: Project) -> None:
    """A scrubber of a call is added to those of its folder, or takes the place of one."""
    project.write(test_a=SCRUBBED)
    project.update()
    assert {
        "": "⟦a-1⟧ ⟦b-1⟧ z1 ⟦a-2⟧ ⟦b-1⟧",
        ".2": "⟦a-1⟧ ⟦b-1⟧ ⟦c-1⟧ ⟦a-2⟧ ⟦b-1⟧",
        ".3": "⟦a-1⟧ ⟦d-1⟧ ⟦b-1⟧ ⟦a-2⟧ ⟦d-1⟧",
        ".4": "⟦a-1⟧ ⟦b-1⟧ ⟦c-1⟧ ⟦a-2⟧ ⟦b-1⟧",
        ".5": "⟦b-1⟧ ⟦b-2⟧",
        "[n]": "⟦a-1⟧",
    } == {
        path.partition("test_one")[2].removesuffix(".prompt.txt"): content.decode().split("\n")[-2]
        for path, content in project.files().items()
    }


SELECTED = """
def test_one(prompt_snapshot): prompt_snapshot(User("a"))
@pytest.mark.filterwarnings
def test_two(prompt_snapshot): prompt_snapshot(User("b"))
class TestA:
    def test_one(self, prompt_snapshot): prompt_snapshot(User("c"))
    def test_two(self, prompt_snapshot): prompt_snapshot(User("d"))
"""


def test_an_update_of_some_tests(project: Project) -> None:
    """An update of some tests deletes nothing of the others, and one of all what none uses."""
    more = SELECTED.replace("))\n", ")); prompt_snapshot(User('x'))\n")
    project.write(test_a=more, test_b=SELECTED)
    project.update()
    project.write(test_a=SELECTED)
    selected = [
        ("test_b.py",),
        ("test_a.py::TestA::test_one",),
        ("--deselect", "test_a.py::test_two", "--deselect", "test_a.py::TestA::test_two"),
        ("test_a.py", "-k", "TestA"),
        (),
    ]
    deleted = [
        re.findall(r"^Deleted (.*)\.prompt ", project.update(*options), re.MULTILINE)
        for options in selected
    ]
    assert [
        [],
        [],
        ["TestA.test_one.2", "test_one.2"],
        [],
        ["TestA.test_two.2", "test_two.2"],
    ] == deleted
