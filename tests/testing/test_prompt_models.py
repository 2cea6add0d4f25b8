"""The mark ``prompt_models``: a file for the prompt, and one for what each model differs in."""

import re
from textwrap import dedent

import pytest

from tests.testing.projects import Project, summary

SUPPORT = """
def support(rule):
    return Timeline(
        System(Section("rules", rule)), User("Hello"), Event(UserAction("opened", target="it"))
    )
"""
MATRIX = f"""{SUPPORT}
@pytest.mark.prompt_models("gpt-5", "claude-sonnet-4-5")
def test_support(prompt_snapshot):
    prompt_snapshot(support("Never promise refunds."))
"""
FACT = """
@pytest.fixture(autouse=True)
def fact():
    with register_model("gpt-5", provider="openai", event_role="user"):
        yield
"""
FOLDER = "__snapshots__/test_a/test_support"
EXAMPLE = '@pytest.mark.prompt_models("gpt-5", "claude-opus-5-5", budget=8_000)'
MODEL = """\
---
promptdsl-snapshot: 1
base: the snapshot without a model; ─= names a text that is there
model: gpt-5 (openai)
tokens: ~35 (o200k_base)
cache: no mark
---

──▶ system
─= system

──▶ user
─= user

──▶ event as developer
─= event
"""


def rewritten(project: Project) -> set[str]:
    """Return the names of the files that an update replaces."""
    before = project.files()
    project.update()
    return {name for name, content in project.files().items() if before.get(name) != content}


def message_in(project: Project) -> str:
    """Return the message of the error, without the mark of pytest and the folder."""
    lines = re.sub("^E", "", project.error(), flags=re.MULTILINE)
    message = dedent(lines).replace(f"{project.folder}/", "")
    return re.sub(r"\A[\w.]+Error: ", "", message)


def refused(project: Project, mark: str, call: str = 'User("Hi")') -> str:
    """Return the message of the error of a test with a mark."""
    body = f"{mark}\ndef test_a(prompt_snapshot):\n    prompt_snapshot({call})\n"
    project.write(test_a=body)
    return message_in(project)


def test_a_base_and_a_file_for_each_model(project: Project) -> None:
    """The base has the texts, a model what differs; the next run finds the same."""
    project.write(test_a=MATRIX)
    assert summary(project.update()) == "3 snapshots generated.\n1 passed"
    files = project.files()
    names = [f"{FOLDER}{model}.prompt.txt" for model in (".claude-sonnet-4-5", ".gpt-5", "")]
    assert [*files] == names
    assert files[f"{FOLDER}.gpt-5.prompt.txt"].decode() == MODEL
    assert summary(project.run()) == "3 snapshots passed.\n1 passed"


def test_a_changed_sentence_changes_one_file(project: Project) -> None:
    """The files of the models do not have the sentences."""
    project.write(test_a=MATRIX)
    project.update()
    project.write(test_a=MATRIX.replace("promise", "mention"))
    assert rewritten(project) == {f"{FOLDER}.prompt.txt"}


def test_a_changed_fact_changes_the_file_of_its_model(project: Project) -> None:
    """The base and the other models do not know of it."""
    project.write(test_a=MATRIX)
    project.update()
    project.write(conftest=FACT)
    assert rewritten(project) == {f"{FOLDER}.gpt-5.prompt.txt"}


def test_the_failure_names_the_model_that_changed(project: Project) -> None:
    """Its text is that of the complete prompt for the model, with the exact tokens."""
    project.write(test_a=MATRIX)
    project.update()
    project.write(conftest=FACT)
    expected = """\
the prompt differs from __snapshots__/test_a/test_support.gpt-5.prompt.txt

`event` sent as user, was developer; tokens ~35 -> 32

event (test_a.py:6)
- ──▶ event as developer
+ ──▶ event as user, in the message above

  if the change is right: pytest test_a.py::test_support --snapshot-update"""
    assert message_in(project) == expected


def test_all_files_that_differ_are_told(project: Project) -> None:
    """A new message is in the base, and in the order of each model."""
    project.write(test_a=MATRIX)
    project.update()
    project.write(test_a=MATRIX.replace('User("Hello"),', 'User("Hello"), Assistant("Hi."),'))
    shown_text = [line for line in project.error().split("\n") if "the prompt differs from" in line]
    assert [line.split("/")[-1] for line in shown_text] == [
        "test_support.prompt.txt",
        "test_support.gpt-5.prompt.txt",
        "test_support.claude-sonnet-4-5.prompt.txt",
    ]


def test_a_matrix_tells_one_command(project: Project) -> None:
    """The files that there are not, and then those that changed, have one command at the end."""
    project.write(test_a=MATRIX)
    command = "pytest test_a.py::test_support --snapshot-update"
    assert (
        message_in(project)
        == f"""\
there are no snapshots yet:
  {FOLDER}.prompt.txt
  {FOLDER}.gpt-5.prompt.txt
  {FOLDER}.claude-sonnet-4-5.prompt.txt
  write them, then look at them: {command}"""
    )
    project.update()
    project.write(test_a=MATRIX.replace("Event(", "Grounding('it', 'Pro'), Event("))
    assert message_in(project).endswith(f"\n\n  if the change is right: {command}")
    assert message_in(project).count(command) == 1


def test_a_budget_is_for_the_models(project: Project) -> None:
    """The base has every message; marks at one place add up, each with its budget."""
    project.write(
        test_a="""
@pytest.mark.prompt_models("gpt-5")
@pytest.mark.prompt_models("gpt-4o", budget=30)
def test_support(prompt_snapshot):
    prompt_snapshot(Timeline(User("Hello. " * 50, priority=1), Assistant("Hi."), User("Now?")))
"""
    )
    project.update()
    sizes = {
        name: content.decode().count("\ndropped: ") for name, content in project.files().items()
    }
    assert sizes == {
        f"{FOLDER}.gpt-4o.prompt.txt": 1,
        f"{FOLDER}.gpt-5.prompt.txt": 0,
        f"{FOLDER}.prompt.txt": 0,
    }


def test_the_nearest_mark_counts(project: Project) -> None:
    """A mark of a test replaces that of its class, and this one that of the file."""
    project.write(
        test_a="""
pytestmark = pytest.mark.prompt_models("gpt-4o")

class TestSupport:
    pytestmark = pytest.mark.prompt_models("gpt-5")

    def test_class(self, prompt_snapshot):
        prompt_snapshot(User("Hi"))

    @pytest.mark.prompt_models("gemini-2.5-pro")
    def test_own(self, prompt_snapshot):
        prompt_snapshot(User("Hi"))

def test_file(prompt_snapshot):
    prompt_snapshot(User("Hi"))
"""
    )
    project.update()
    assert [name.removeprefix("__snapshots__/test_a/") for name in project.files()] == [
        "TestSupport.test_class.gpt-5.prompt.txt",
        "TestSupport.test_class.prompt.txt",
        "TestSupport.test_own.gemini-2.5-pro.prompt.txt",
        "TestSupport.test_own.prompt.txt",
        "test_file.gpt-4o.prompt.txt",
        "test_file.prompt.txt",
    ]


def test_a_model_that_leaves_the_mark_leaves_its_file(project: Project) -> None:
    """It is unused then, and an update removes it."""
    project.write(test_a=MATRIX)
    project.update()
    project.write(test_a=MATRIX.replace('"gpt-5", ', ""))
    assert summary(project.run()).startswith("2 snapshots passed. 1 snapshot unused.\n")
    project.update()
    assert f"{FOLDER}.gpt-5.prompt.txt" not in project.files()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("", f"prompt_models names no model\n  write {EXAMPLE}"),
        (
            "'gpt-5', 'gpt-4o', 'gpt-5'",
            "prompt_models names 'gpt-5' twice\n  name each model once, with one budget",
        ),
        (
            "'claude-opus-55'",
            "prompt_models names the unknown model 'claude-opus-55'\n"
            "  did you mean 'claude-opus-5-5'?",
        ),
        (
            "'my-own'",
            "prompt_models names the unknown model 'my-own'\n  register it: register_model(...)",
        ),
        ("'gpt-5', ''", f"a model of prompt_models must be a name, not ''\n  write {EXAMPLE}"),
        ("'gpt-5', 8_000", f"a model of prompt_models must be a name, not 8000\n  write {EXAMPLE}"),
        (
            "'gpt-5', budget=1, reserve=2",
            f"prompt_models has no option 'reserve'\n  write {EXAMPLE}",
        ),
        (
            "'gpt-5', 'my-own', 'gpt-4o'",
            "prompt_models names the unknown model 'my-own'\n  register it: register_model(...)",
        ),
        ("'gpt-5', bugdet=1", f"prompt_models has no option 'bugdet'\n  write {EXAMPLE}"),
        ("['gpt-5']", f"a model of prompt_models must be a name, not ['gpt-5']\n  write {EXAMPLE}"),
    ],
)
def test_a_wrong_mark_is_an_error(project: Project, arguments: str, told: str) -> None:
    """It names the line of the test and tells what to write; nothing is written."""
    assert refused(project, f"@pytest.mark.prompt_models({arguments})") == f"test_a.py:3: {told}"
    assert project.files() == {}


SEVERAL_MARKS = """
pytestmark = pytest.mark.prompt_models("o3")

@pytest.mark.prompt_models("gpt-5", "gpt-4o", budget=30)
@pytest.mark.prompt_models("claude-opus-5-5", "gemini-2.5-pro")
class TestSupport:
    def test_one(self, prompt_snapshot):
        prompt_snapshot(Timeline(User("Hello. " * 50, priority=1), Assistant("a"), User("b")))

    @pytest.mark.prompt_models("gpt-4.1", budget=30)
    @pytest.mark.prompt_models("gpt-4o")
    def test_two(self, prompt_snapshot):
        prompt_snapshot(Timeline(User("Hello. " * 50, priority=1), Assistant("a"), User("b")))

@pytest.mark.prompt_models("gpt-5", "o3")
@pytest.mark.prompt_models("gpt-4o", "gpt-5")
def test_twice(prompt_snapshot):
    prompt_snapshot(User("a"))
"""


def test_several_marks_of_a_class_and_of_a_test(project: Project) -> None:
    """All marks of the nearest place count, in their order, each budget for its own models."""
    project.write(test_a=SEVERAL_MARKS)
    shown_text = project.error("--snapshot-update")
    assert shown_text.replace(f"{project.folder}/", "") == (
        "E       OptionError: test_a.py:17: prompt_models names 'gpt-5' twice\n"
        "E         name each model once, with one budget"
    )
    assert {
        name.rpartition("/")[2].removesuffix(".prompt.txt"): content.decode().count("\ndropped: ")
        for name, content in project.files().items()
    } == {
        "TestSupport.test_one": 0,
        "TestSupport.test_one.claude-opus-5-5": 0,
        "TestSupport.test_one.gemini-2.5-pro": 0,
        "TestSupport.test_one.gpt-4o": 1,
        "TestSupport.test_one.gpt-5": 1,
        "TestSupport.test_two": 0,
        "TestSupport.test_two.gpt-4.1": 1,
        "TestSupport.test_two.gpt-4o": 0,
    }
    project.folder.joinpath("__snapshots__").rename(project.folder / "elsewhere")
    models = re.findall(r"test_(one|two)(.*)\.prompt\.txt", project.error())
    assert [
        *(("one", it) for it in ("", ".gpt-5", ".gpt-4o", ".claude-opus-5-5", ".gemini-2.5-pro")),
        *(("two", it) for it in ("", ".gpt-4.1", ".gpt-4o")),
    ] == models


ASYNC = """
import asyncio

async def weather(context):
    await asyncio.sleep(0)
    return "sunny"

@pytest.mark.prompt_models("gpt-5")
def test_alone(prompt_snapshot):
    prompt_snapshot(Timeline(System(Lazy(weather)), User("Hi."), Event(UserAction("x"))))

@pytest.mark.prompt_models("gpt-5")
def test_in_a_loop(prompt_snapshot):
    async def run():
        test_alone(prompt_snapshot)
    asyncio.run(run())
"""


def test_an_asynchronous_part(project: Project) -> None:
    """A prompt with an asynchronous ``Lazy`` is rendered for each model, in a coroutine too."""
    project.write(test_a=ASYNC)
    project.update()
    files = project.files()
    assert [False, True, False, True] == [b"sunny" in file for file in files.values()]
    assert "4 snapshots passed.\n2 passed" == summary(project.run())


def test_a_prompt_that_is_rendered_already_is_an_error(project: Project) -> None:
    """It is for one model, or for none: the mark names others."""
    mark, call = '@pytest.mark.prompt_models("gpt-5")', 'render(User("Hi"))'
    assert refused(project, mark, call) == (
        "test_a.py:3: with prompt_models, a prompt is rendered for each model, "
        "but this prompt is already rendered\n"
        "  pass the prompt itself: prompt_snapshot(prompt)"
    )
