"""The fixture ``prompt_snapshot``: what it writes, and what it tells when a prompt changes."""

import re

import pytest

from tests.testing.projects import Project, summary

ONE = """
def test_role(prompt_snapshot):
    prompt_snapshot(System(Section("role", "Be kind.")))
"""
ROLE = b"""\
---
promptdsl-snapshot: 1
model: none
tokens: ~10 (o200k_base)
cache: no mark
---

\xe2\x94\x80\xe2\x94\x80\xe2\x96\xb6 system
\xe2\x94\x80\xe2\x96\xb7 role
Be kind.
"""
THREE = """
def test_three(prompt_snapshot):
    prompt_snapshot(User("one"))
    prompt_snapshot(User("two"))
    prompt_snapshot(User("three"), name="third")
"""
THREE_FILES = [
    "__snapshots__/test_a/test_three.2.prompt.txt",
    "__snapshots__/test_a/test_three.prompt.txt",
    "__snapshots__/test_a/test_three[third].prompt.txt",
]
OTHER = """
def test_other(prompt_snapshot):
    prompt_snapshot(User("other"))
"""


def test_a_prompt_without_a_file_fails(project: Project) -> None:
    """The first run fails: it tells the file that there is not, and how it is written."""
    project.write(test_a=ONE)
    expected = """\
E       AssertionError: there is no snapshot yet: __snapshots__/test_a/test_role.prompt.txt
E         write it, then look at it: pytest test_a.py::test_role --snapshot-update"""
    assert expected == project.error()
    assert {} == project.files()


def test_an_update_writes_the_prompt(project: Project) -> None:
    """An update writes one file for the test, and the next run finds the same prompt in it."""
    project.write(test_a=ONE)
    assert "1 snapshot generated.\n1 passed" == summary(project.update())
    assert {"__snapshots__/test_a/test_role.prompt.txt": ROLE} == project.files()
    assert "1 snapshot passed.\n1 passed" == summary(project.run())


def test_a_changed_prompt_fails_with_all_that_changed(project: Project) -> None:
    """The text of a failure is complete, and ends with the command that accepts the change."""
    project.write(test_a=ONE)
    project.update()
    project.write(test_a=ONE.replace("kind", "brief"))
    expected = """\
E       AssertionError: the prompt differs from __snapshots__/test_a/test_role.prompt.txt
E
E       `role` changed: 1 line; 10 tokens now
E
E       system > role (test_a.py:5)
E       - Be kind.
E       + Be brief.
E
E         if the change is right: pytest test_a.py::test_role --snapshot-update"""
    assert expected == project.error()
    assert {"__snapshots__/test_a/test_role.prompt.txt": ROLE} == project.files()


@pytest.mark.slow
def test_an_update_writes_the_change(project: Project) -> None:
    """An update takes the changed prompt, and the next run finds it."""
    project.write(test_a=ONE)
    project.update()
    project.write(test_a=ONE.replace("kind", "calm"))
    assert "1 snapshot updated.\n1 passed" == summary(project.update())
    assert [ROLE.replace(b"kind", b"calm")] == [*project.files().values()]


@pytest.mark.slow
def test_several_prompts_of_a_test(project: Project) -> None:
    """The second prompt without a name has a number, one with a name has that."""
    project.write(test_a=THREE)
    project.update()
    assert THREE_FILES == [*project.files()]


def test_a_test_that_fails_needs_its_snapshots(project: Project) -> None:
    """When the first of three prompts changed, the other two are neither unused nor deleted."""
    project.write(test_a=THREE + OTHER)
    project.update()
    project.write(test_a=THREE.replace("one", "1") + OTHER)
    assert "1 snapshot failed. 1 snapshot passed." == summary(project.run()).split("\n")[0]
    project.write(test_a="def test_three(prompt_snapshot):\n    assert 0" + OTHER)
    assert "1 snapshot passed." == summary(project.update()).split("\n")[0]
    assert 4 == len(project.files())


LATE = """
@pytest.fixture
def late():
    yield
    assert 0
def test_three(late, prompt_snapshot):
    prompt_snapshot(User("one"))
"""


def test_a_test_whose_teardown_fails_needs_its_snapshots(project: Project) -> None:
    """An update deletes no snapshot of a test that passed, and failed after that."""
    project.write(test_a=THREE, test_b=OTHER)
    project.update()
    before = [*project.files()]
    project.write(test_a=LATE)
    assert "deleted" not in project.update()
    assert before == [*project.files()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "@pytest.mark.skip\ndef test_three(prompt_snapshot): ...",
        "def test_three(prompt_snapshot): pytest.skip()",
        "@pytest.mark.xfail\ndef test_three(prompt_snapshot): assert 0",
        "@pytest.fixture\ndef broken(): assert 0\ndef test_three(broken, prompt_snapshot): ...",
        LATE,
        "pytest.skip(allow_module_level=True)",
        "import nothing_of_this_name",
        "def syntax error",
    ],
)
@pytest.mark.parametrize("other", [OTHER, "def test_plain(): ...", "def test_it(snapshot): ..."])
def test_a_test_that_did_not_pass_needs_its_snapshots(
    project: Project, body: str, other: str
) -> None:
    """An update deletes no snapshot of a test that was skipped, failed or could not be read."""
    project.write(test_a=THREE.replace('name="third")', 'name="third").payload("openai")'))
    project.update()
    project.write(test_a=body, test_b=other)
    shown_text = project.update("--continue-on-collection-errors")
    assert "deleted" not in shown_text
    assert 4 == len([it for it in project.files() if "test_a" in it])


@pytest.mark.parametrize(
    "options",
    [
        ("-k", "test_other"),
        ("-m", "not slow"),
        ("--deselect", "test_a.py::test_three"),
        ("test_a.py::test_other",),
        ("--ignore", "test_a.py"),
        ("test_b.py",),
        ("-x",),
    ],
)
@pytest.mark.slow
def test_a_test_that_did_not_run_needs_its_snapshots(
    project: Project, options: tuple[str, ...]
) -> None:
    """An update of some tests deletes no snapshot of the others."""
    slow = "\n@pytest.mark.filterwarnings\n" + THREE[1:]
    project.write(test_a=OTHER + slow, test_b=OTHER)
    project.update()
    fails = "\ndef test_before(): assert 0\n"
    project.write(test_a=fails + OTHER + slow)
    assert "deleted" not in project.update(*options)
    assert 5 == len(project.files())


@pytest.mark.slow
def test_a_renamed_test_is_told_its_old_file(project: Project) -> None:
    """The failure of a renamed test names the file with its prompt that belongs to no test."""
    project.write(test_a=ONE + OTHER)
    project.update()
    project.write(test_a=ONE.replace("test_role", "test_tone") + OTHER)
    expected = """\
E       AssertionError: there is no snapshot yet: __snapshots__/test_a/test_tone.prompt.txt
E         __snapshots__/test_a/test_role.prompt.txt has this content, but no test any more - \
if its test was renamed: git mv __snapshots__/test_a/test_role.prompt.txt \
__snapshots__/test_a/test_tone.prompt.txt
E         write it, then look at it: pytest test_a.py::test_tone --snapshot-update"""
    shown_text = project.run()
    assert expected == project.errors_in(shown_text)
    assert """\
1 snapshot failed. 1 snapshot passed. 1 snapshot unused.
Unused test_role.prompt (__snapshots__/test_a/test_role.prompt.txt)
Re-run pytest with --snapshot-update to delete unused snapshots.""" in summary(shown_text)
    assert "Deleted test_role.prompt" in project.update()
    assert [
        "__snapshots__/test_a/test_other.prompt.txt",
        "__snapshots__/test_a/test_tone.prompt.txt",
    ] == [*project.files()]


@pytest.mark.slow
def test_a_renamed_file_is_told_its_old_folder(project: Project) -> None:
    """After a file of tests was renamed, its snapshots are named, and an update moves them."""
    project.write(test_a=ONE)
    project.update()
    project.folder.joinpath("test_a.py").rename(project.folder / "test_b.py")
    shown_text = project.run()
    assert "git mv __snapshots__/test_a/test_role.prompt.txt" in project.errors_in(shown_text)
    assert "Unused test_role.prompt (__snapshots__/test_a/test_role.prompt.txt)" in shown_text
    project.update()
    assert ["__snapshots__/test_b/test_role.prompt.txt"] == [*project.files()]


@pytest.mark.slow
def test_a_fixture_that_is_asked_for_by_name(project: Project) -> None:
    """A test that asks for the fixture when it runs has its snapshots, also when it fails."""
    body = (
        "\ndef test_late(request):\n    request.getfixturevalue('prompt_snapshot')(User('Hi.'))\n"
    )
    project.write(test_a=body + OTHER)
    project.update()
    project.write(test_a=body.replace("Hi.", "Ho.") + OTHER)
    assert "1 snapshot failed. 1 snapshot passed." == summary(project.run()).split("\n")[0]
    project.write(test_a="def test_late(request): pytest.skip()" + OTHER)
    assert "deleted" not in project.update("test_a.py::test_late")


WRONG_CALLS = {
    'str(render(User("Hi.")))': (
        "prompt_snapshot() takes a prompt, or the result of render(), not str\n"
        "  pass the prompt itself; for a single text write User(text)"
    ),
    'render(User("Hi.")).to_openai()': (
        "prompt_snapshot() takes a prompt, or the result of render(), not dict\n"
        "  to compare what is sent: prompt_snapshot(rendered).payload()"
    ),
    'User("Hi."), model="gpt-5"': (
        "prompt_snapshot() takes no 'model'\n"
        "  render the prompt first: prompt_snapshot(render(prompt, model=...))"
    ),
    'User("Hi."), names="one"': ("prompt_snapshot() takes no 'names'\n  it takes name= and scrub="),
    'User("Hi."), name=1': ("name=1 is not a name\n  write a text: name='first'"),
    'User("Hi."), scrub={"uuid": "["}': (
        "the scrubber 'uuid' is not a regular expression: '[', unterminated character set at "
        "position 0\n"
        "  correct it, or give a function that returns the values in a text"
    ),
    'User("Hi."), "gpt-5"': (
        "prompt_snapshot() takes no model\n"
        "  write @pytest.mark.prompt_models('gpt-5'), or prompt_snapshot(render(prompt, "
        "model='gpt-5'))"
    ),
    'User("Hi."), models=["gpt-5"]': (
        "prompt_snapshot() takes no 'models'\n"
        "  write @pytest.mark.prompt_models('gpt-5'), or prompt_snapshot(render(prompt, "
        "model='gpt-5'))"
    ),
    'User("Hi."), User("Ho.")': (
        "prompt_snapshot() takes one prompt, but got 2 arguments\n"
        "  call it for each prompt: prompt_snapshot(prompt, name='first')"
    ),
    "None": (
        "a prompt must be a Timeline, a turn, a Section or a Fragment, not None\n"
        "  write `return prompt` in the function that builds it"
    ),
    'User("Hi."), scrub="[0-9]+"': (
        "the scrubbers are '[0-9]+'\n  give each scrubber a name: {'ticket': r'T-[0-9]+'}"
    ),
    'User("Hi."), scrub={"id": "x*"}': (
        "the scrubber 'id' matches the empty text: 'x*'\n"
        "  let it match at least one character: write + instead of *"
    ),
    'User("Hi."), scrub={"a": "x", "b": "[", "c": "("}': (
        "the scrubber 'b' is not a regular expression: '[', unterminated character set at "
        "position 0\n"
        "  correct it, or give a function that returns the values in a text"
    ),
    'User("Hi."), scrub={"a": str.split, "b": "x+", "c": "y?"}': (
        "the scrubber 'c' matches the empty text: 'y?'\n"
        "  let it match at least one character: write + instead of *"
    ),
    'User("Hi."), User("Ho."), "gpt-5"': (
        "prompt_snapshot() takes one prompt, but got 3 arguments\n"
        "  call it for each prompt: prompt_snapshot(prompt, name='first')"
    ),
    'User("Hi."), budget=1, names="one"': (
        "prompt_snapshot() takes no 'budget'\n"
        "  render the prompt first: prompt_snapshot(render(prompt, budget=...))"
    ),
    'User("Hi."), names="one", models=["gpt-5"]': (
        "prompt_snapshot() takes no 'models'\n"
        "  write @pytest.mark.prompt_models('gpt-5'), or prompt_snapshot(render(prompt, "
        "model='gpt-5'))"
    ),
    'User("Hi."), name=""': ("name='' is not a name\n  write a text: name='first'"),
}
"""What is given to the fixture, and the two lines that tell what is wrong with it."""


def test_a_wrong_argument_is_an_error(project: Project) -> None:
    """It names the line of the test and tells what to write; nothing is written."""
    tests = [
        f"def test_{number}(prompt_snapshot): prompt_snapshot({call})\n"
        for number, call in enumerate(WRONG_CALLS)
    ]
    project.write(test_a="".join(tests))
    lines = [line[1:].strip() for line in project.error("--snapshot-update").split("\n")]
    expected = [
        f"{project.folder}/test_a.py:{number}: {shown_text}"
        for number, shown_text in enumerate(WRONG_CALLS.values(), start=3)
    ]
    assert [re.sub("\n *", "\n", shown_text) for shown_text in expected] == [
        f"{problem.partition('Error: ')[2]}\n{advice}"
        for problem, advice in zip(lines[::2], lines[1::2], strict=True)
    ]
    assert {} == project.files()


def test_a_failure_shows_the_line_of_the_author_alone(project: Project) -> None:
    """Above the changes pytest shows the test, and no line of the fixture or of syrupy."""
    project.write(test_a=ONE)
    shown_text = project.run().split("FAILURES")[1].split("E   ")[0].split("\n")[2:]
    assert [
        "",
        "prompt_snapshot = <prompt_snapshot of test_role>",
        "",
        "    def test_role(prompt_snapshot):",
        '>       prompt_snapshot(System(Section("role", "Be kind.")))',
    ] == shown_text[:-1]


@pytest.mark.slow
def test_the_last_snapshot_of_a_file_is_named(project: Project) -> None:
    """After the last test with a snapshot is gone, its file is named, and an update deletes it."""
    project.write(test_a=ONE)
    project.update()
    project.write(test_a="def test_plain(): ...")
    shown_text = summary(project.run())
    assert "(__snapshots__/test_a/test_role.prompt.txt)\nRe-run" in shown_text
    project.update()
    assert {} == project.files()


@pytest.mark.parametrize(
    ("mark", "problem"),
    [
        ("", "this prompt has no model, so it has no payload"),
        (
            "@pytest.mark.prompt_models('gpt-5')\n",
            "payload() uses the prompt without a model, which has no payload",
        ),
    ],
)
def test_a_payload_needs_a_provider(project: Project, mark: str, problem: str) -> None:
    """The payload of a prompt without a model is that of a provider that the test names."""
    body = "def test_a(prompt_snapshot):\n    prompt_snapshot(User('Hi.')).payload()\n"
    project.write(test_a=f"{mark}{body}")
    shown_text = project.error("--snapshot-update")
    assert f': {problem}\nE         name a provider: payload("openai")' in shown_text
