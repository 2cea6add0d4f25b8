"""``prompt_snapshot.each``: a snapshot for each of named inputs."""

from tests.testing.projects import Project

TESTS = """
INPUTS = {"short": {"question": "Why?"}, "very long": {"question": "Why? " * 9}}

def answer(question):
    return Timeline(System("Be kind."), User(question))

def test_answer(prompt_snapshot):
    short, long = prompt_snapshot.each(answer, INPUTS)
    short.payload("openai")
"""


def test_a_file_for_each(project: Project) -> None:
    """Each inputs have a file of their name; it is compared with the next run."""
    project.write(test_a=TESTS)
    assert "1 failed" in project.run()
    assert "1 passed" in project.update()
    assert [
        "__snapshots__/test_a/test_answer[short].openai.payload.json",
        "__snapshots__/test_a/test_answer[short].prompt.txt",
        "__snapshots__/test_a/test_answer[very-long-ed6895c5].prompt.txt",
    ] == [*project.files()]
    assert "1 passed" in project.run()


def test_all_changes_are_in_one_failure(project: Project) -> None:
    """A changed prompt fails with all inputs; equal changes and the command are shown once."""
    project.write(test_a=TESTS)
    project.update()
    project.write(test_a=TESTS.replace("Be kind.", "Be brief."))
    error = project.error()
    assert 1 == error.count("+ Be brief.")
    assert 1 == error.count("The same changes are shown for")
    assert 2 == error.count("the prompt differs from")
    assert 1 == error.count("--snapshot-update")


def test_models_and_a_report(project: Project) -> None:
    """Each inputs are rendered for each model of the mark, and all are in the report."""
    mark = '@pytest.mark.prompt_models("gpt-5")\ndef test_answer'
    project.write(test_a=TESTS.replace("def test_answer", mark))
    assert "1 passed" in project.update("--prompt-report", "report.html")
    names = [name for name in project.files() if name.endswith("gpt-5.prompt.txt")]
    assert 2 == len(names)
    page = (project.folder / "report.html").read_text("utf-8")
    assert all(name.rpartition("/")[2].partition(".")[0] in page for name in names)


def test_wrong_calls(project: Project) -> None:
    """What is no function, no inputs, and other arguments are errors with the author's line."""
    project.write(
        test_a="""
def ask(question): return User(question)

def test_prompt(prompt_snapshot): prompt_snapshot.each(User("Hi."), {"a": {}})
def test_inputs(prompt_snapshot): prompt_snapshot.each(ask, [])
def test_names(prompt_snapshot): prompt_snapshot.each(ask, {"a": {"qestion": ""}})
"""
    )
    errors = project.error()
    assert "test_a.py:6: prompt_snapshot.each() takes a function of a prompt, not User" in errors
    assert "test_a.py:7: the inputs are a list, not inputs by name" in errors
    assert "test_a.py:8: inputs 'a': ask has no parameter 'qestion'" in errors
