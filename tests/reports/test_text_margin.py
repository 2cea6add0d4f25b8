"""The texts of a record with a margin: what wrote each line, and where."""

import re

import pytest

from promptdsl import *
from tests.errors import this_line
from tests.hostile import HOSTILE
from tests.internals import columns
from tests.views.hostile_prompt import hostile_prompt


def test_the_margin_changes_where_it_changes() -> None:
    """Each text is shown once; a kind and a line stand where they begin."""
    first = this_line() + 1
    prompt = Timeline(
        System(
            Section("role", "Be kind.\nBe brief.", title="Role"),
            List("One.", Text("Two ", Value("2"), " ", Volatile("3", "n"))),
        ),
        User("Hi."),
    )
    system, user = render(prompt).record()._texts(width=80)
    expected = [
        ("section", 3, "## Role"),
        ("author", 0, "Be kind."),
        ("", 0, "Be brief."),
        ("", 0, ""),
        ("", 4, "- One."),
        ("author + value + volatile", 0, "- Two 2 3"),
    ]
    rows = [
        re.match(r"  (.*?) *(?:…/test_text_margin.py:(\d+))? *│ ?(.*)$", row)
        for row in system.split("\n")
    ]
    shown = [(row[1].strip(), int(row[2] or first - 1) - first + 1, row[3]) for row in rows if row]
    assert expected == shown
    assert user.endswith(" │ Hi.")


@pytest.mark.parametrize("width", [40, 80, 120])
def test_rows_fit_a_terminal(width: int) -> None:
    """No row is wider than the terminal, whatever the texts are; no word is lost."""
    texts = ["wide 東京 " * 40, "x" * 500, "\x1b[2J " * 60, *HOSTILE[::40]]
    record = render(Timeline(System(*map(Value, texts)), User("e" * 100))).record()
    rows = "\n".join(record._texts(width=width)).split("\n")
    assert [] == [row for row in rows if columns(row) > width]
    shown = "".join(row.rpartition("│ ")[2] for row in rows)
    assert 40 == shown.count("東京")
    assert "\x1b" not in shown
    painted = "\n".join(record._texts(width=width, paint=lambda _, text: f"<{text}>"))
    plain = re.sub("[<>]", "", painted).split("\n")
    assert [] == [row for row in plain if columns(row) > width]


def test_long_texts_are_cut() -> None:
    """Of a text 40 lines are shown, of a line 2,000 characters, and what is left out is told."""
    record = render(
        Timeline(User("\n".join(f"line {n}" for n in range(50))), Assistant("x" * 2_001))
    ).record()
    first, second = record._texts()
    assert 41 == len(first.split("\n"))
    assert first.endswith("│ … 10 more lines")
    assert second.endswith("x… 1 more characters")


def test_calls_and_pictures_are_one_line() -> None:
    """What is no text is told in words; the pieces of a hostile prompt stay on their lines."""
    prompt = Timeline(
        User("Look.", Image.from_url("https://example.com/a.png")),
        Assistant(ToolUse("look", {"at": "it"}, id="c1")),
        ToolMessage("c1", "Seen."),
    )
    texts = render(prompt).record()._texts()
    assert [
        ["Look.", "image (url) https://example.com/a.png"],
        ['call look (c1) {"at":"it"}'.replace(":", ": ")],
        ["Seen."],
    ] == [[row.rpartition("│ ")[2] for row in text.split("\n")] for text in texts]
    hostile = render(hostile_prompt("http://evil.example"), model="claude-opus-4-5").record()
    assert "\x1b" not in "\n".join(hostile._texts(width=80))


def test_what_is_not_sent_is_marked() -> None:
    """A block that the target does not take says so."""
    turn = User("Look.", Video.from_url("https://example.com/a.mp4"))
    (text,) = render(turn, model="claude-opus-4-5").record()._texts()
    assert text.endswith("│ not sent: video (url) https://example.com/a.mp4")


def test_values_have_a_style() -> None:
    """The styles are those of the text view: the margin, values and volatile values."""
    record = render(Timeline(System("Help ", Value("Ann"), ".", Volatile("1", "n")))).record()
    (text,) = record._texts(paint=lambda kind, text: f"<{kind}>{text}</>")
    assert text.startswith("<label>  author + value + volatile ")
    assert text.endswith("</>Help <value>Ann</>.<volatile>1</>")


def test_a_hostile_record_leaves_no_view() -> None:
    """Roles and kinds in the file of a record are texts, too: they add no tag and no escape."""
    attack = '"><b>\x1b[2J'
    prompt = Timeline(User("q"), Developer("d"), User("q"))
    data = render(prompt, model="claude-sonnet-4-5").record().to_dict()
    spans = [{**span, "kind": attack} for span in data["spans"]]
    sent_as = dict.fromkeys(data["sent_as"], attack)
    record = PromptRecord.from_dict({**data, "spans": spans, "sent_as": sent_as})
    assert data["sent_as"]
    assert "\x1b" not in "".join(record._texts(width=80))
    assert attack[:5] not in record._repr_html_()
    assert "\x1b" not in record._repr_html_()
