"""``promptdsl records show``, ``render --record`` and ``diff``: records on the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from promptdsl import *
from tests.cli.conftest import Command
from tests.records.prompts import OLDEST, support, words

PAYLOAD: dict[str, Any] = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi there."}]}
QUESTIONS = {
    "which part is the largest": "610   92.3%  █████████▎  tools",
    "how many tokens are left for the answer": "budget: 720 tokens: 661 used, 10 reserved",
    "what was not sent, why, and what would it cost": (
        "/srv/support.py:7: history, 137 tokens: there is no room for its oldest exchange"
        "\n  user: old word"
    ),
    "who wrote this line": "  author + value                    │ A note of Ada\n",
    "what was it made with": 'inputs: { "name": "Ada" }',
    "which model, and how large is its window": "claude-sonnet-4-5: 4 messages, 661 tokens>",
    "what could the target not express": "\n── losses ",
    "which library version was used": "\n── libraries ",
    "who set this": "\nformat                         markdown                     library",
    "was exactly this sent": "payload: SHA-256 ",
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_are_answered(cli: Command, question: str) -> None:
    """The file of a record alone answers the questions of somebody who has not seen the prompt."""
    assert QUESTIONS[question] in cli("records", "show", str(OLDEST)).out


def test_a_payload_is_shown_the_same_way(cli: Command, tmp_path: Path) -> None:
    """A payload that anybody logged is shown as a record, without lines."""
    (file := tmp_path / "p.json").write_text(json.dumps(PAYLOAD))
    out = cli("records", "show", str(file)).out
    assert (True, True, False) == (
        "<PromptRecord 1.1 for openai gpt-5: 1 message" in out,
        "  conversation  history[0] │ Hi there." in out,
        ".py:" in out,
    )


def test_the_role_that_is_sent_is_shown(cli: Command, tmp_path: Path) -> None:
    """A message that is sent in another role has both roles in its line."""
    prompt = Timeline(User("q"), Grounding("a", "x"), Assistant("ok"), Developer("d"), User("q"))
    render(prompt, model="claude-sonnet-4-5").record().save(file := tmp_path / "r.json")
    lines = cli("records", "show", str(file)).out.split("── messages")[1].splitlines()
    assert 2 == sum(" user (written as developer), " in line for line in lines)


def test_each_attachment_is_shown(cli: Command, tmp_path: Path) -> None:
    """Of a turn with two images between texts, each is shown as itself, in its place."""
    images = [ImageBlock(MediaSource("url", f"https://a.b/{name}.png")) for name in "cd"]
    prompt = User("Look:", images[0], "and", images[1])
    render(prompt, provider="openai").record().save(file := tmp_path / "r.json")
    lines = cli("records", "show", str(file)).out.split("── messages")[1].splitlines()
    expected = ["Look:", "image (url) https://a.b/c.png", "and", "image (url) https://a.b/d.png"]
    assert expected == [line.partition(" │ ")[2] for line in lines[2:6]]


def test_the_texts_of_two_dropped_sections_are_shown(cli: Command, tmp_path: Path) -> None:
    """Each dropped section is shown with its own text."""
    one, two = Section("one", "a b c d", priority=-1), Section("two", "e f g h", priority=-2)
    prompt = Timeline(System("Be kind.", one, two), User("Hi"))
    rendered = render(prompt, provider="openai", counter=words, budget=14)
    rendered.record().save(file := tmp_path / "r.json")
    lines = cli("records", "show", str(file)).out.split("── dropped")[1].splitlines()
    assert ["  a b c d", "  e f g h"] == lines[2:5:2]


def test_the_record_is_printed_as_json(cli: Command) -> None:
    """With ``--json`` the record itself is printed."""
    printed = json.loads(cli("records", "show", str(OLDEST), "--json").out)
    assert PromptRecord.from_dict(printed) == PromptRecord.load(OLDEST)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", (2, "is not JSON")),
        ('{"format": "9.0"}', (1, "the record has the format '9.0'")),
        ('{"format": "1.0"}', (1, "not a record: it has no 'outline'")),
        ('{"format": "json", "messages": 3}', (1, "no provider has")),
    ],
)
def test_what_cannot_be_shown(
    cli: Command, tmp_path: Path, text: str, expected: tuple[int, str]
) -> None:
    """What is neither a record nor a payload is refused; a format that is no version is a key."""
    (file := tmp_path / "x.json").write_text(text)
    run = cli("records", "show", str(file))
    assert expected == (run.code, expected[1] if expected[1] in run.err else run.err)


def test_a_file_that_is_not_there(cli: Command) -> None:
    """A file that is not there is named."""
    assert "cannot read x.json" in cli("records", "show", "x.json").err


def test_a_render_writes_its_record(cli: Command, tmp_path: Path) -> None:
    """``render --record`` prints the same, and also writes the record, with the arguments."""
    file = tmp_path / "r.json"
    run = cli("render", "support.py:GREETING", "--model", "gpt-5", "--record", str(file))
    record = PromptRecord.load(file)
    assert (0, {}, json.loads(run.out)["messages"][1]["content"]) == (
        run.code,
        record.to_dict()["inputs"],
        record.prompt.messages[1].text,
    )


def test_what_changed_since_yesterday(cli: Command, tmp_path: Path) -> None:
    """Two records are compared as two prompts are: what changed, where, and what it costs."""
    files = [str(tmp_path / name) for name in ("one.json", "two.json")]
    for name, file in zip(("Ada", "Bob"), files, strict=True):
        support(name, budget=60).record().save(file)
    run = cli("diff", *files)
    assert (1, True, True) == (
        run.code,
        run.out.startswith("`system` changed: 1 line"),
        "- Be kind to Ada.\n+ Be kind to Bob." in run.out,
    )
    assert 0 == cli("diff", files[0], files[0]).code


def test_sections_are_compared(cli: Command, tmp_path: Path) -> None:
    """A change in a section has the address of the section, as in the diff of two prompts."""
    files = [str(tmp_path / name) for name in ("one.json", "two.json")]
    for budget, file in zip((None, 62), files, strict=True):
        support(budget=budget).record().save(file)
    out = cli("diff", *files).out
    assert "`system/note`" in out or "`note`" in out
