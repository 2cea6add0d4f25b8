"""The views of the tokens of a request: the budget, and rows that fit the width of a terminal."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.hostile import HOSTILE
from tests.internals import BudgetUse, TokenPart, TokenView, columns, eighths, fitted_source
from tests.reports.prompts import words
from tests.searching import examples

FORM = "the target's format"


def desk() -> Timeline:
    """Return a prompt with a part of each kind that a view shows in its own way."""
    return Timeline(
        System(
            Section("role", "Help with all bills."),
            Section("hours", "open " * 30, priority=-1),
            CacheBreakpoint(),
        ),
        User(Section("question", Section("inner", "What is this bill? " * 4))),
        User("Look:", Image.from_url("https://example.com/a.png")),
    )


def lines(rendered: Rendered, **options: int | None) -> list[str]:
    """Return the lines of the token view of a record, without sources."""
    text = rendered.record().token_tree(**options)  # type: ignore[arg-type]
    return [re.sub(rf" +{re.escape(__file__)}:\d+", "", line) for line in text.split("\n")]


def test_the_budget_comes_first() -> None:
    """With a budget, the first lines are its use and a bar: used, for the answer, free."""
    rendered = render(User("one two three"), budget=20, reserve=4, counter=words)
    assert [
        "10 of 20 · 4 for the answer · 6 free",
        "████████████████████▒▒▒▒▒▒▒▒············",
        "about 10 tokens",
    ] == str(rendered.tokens).split("\n")[:3]
    report = "<TokenReport: 10 of 20 tokens · 4 for the answer · 6 free in 1 messages>"
    assert report == repr(rendered.tokens)
    assert "1 message, 10 of 20 tokens · 4 for the answer · 6 free, " in repr(rendered)
    html = rendered._repr_html_()
    assert (
        '<div class="budget" role="img" aria-label="10 of 20 · 4 for the answer · 6 free">' in html
    )
    assert '<i class="used" style="width:50.0%"></i>' in html
    assert '<i class="reserve" style="width:20.0%"></i>' in html
    assert "10 of 20 tokens" in rendered._repr_markdown_()


def test_without_a_budget_there_is_the_total() -> None:
    """Without a budget no view has a line or a bar of it."""
    rendered = render(User("one two three"), counter=words)
    assert "about 10 tokens" == str(rendered.tokens).split("\n")[0]
    views = [repr(rendered), str(rendered.tokens), rendered._repr_html_().split("</style>")[1]]
    assert [] == [view for view in views if "free" in view or "budget" in view]


def test_rows_of_a_request() -> None:
    """Parts with little around them share a row, empty ones have none, a cache mark stays."""
    rendered = render(desk(), counter=words)
    assert [
        "   38    0.8%  ▏           system turn",
        "    4    0.1%                section role",
        "   30    0.6%                section hours [cached]",
    ] == [line for line in lines(rendered) if re.search("system|role|hours", line)]
    assert [
        "user turn user[0] > section question > section inner",
        "user turn user[1] > image  (size not known: the largest is assumed)",
    ] == [line[25:].strip() for line in lines(rendered) if "question" in line or "image" in line]


def test_the_number_of_a_message_is_not_cut() -> None:
    """In a terminal of 80 columns the address of a message has room, where its file is short."""
    turns = [Message(("user", "assistant")[n % 2], "word " * n) for n in range(130)]
    record = render(Timeline(History(turns), User("q")), counter=words).record()
    data = record.to_dict()
    for part in data["tokens"]["parts"]:
        part["source"] = "a.py:1"
    text = PromptRecord.from_dict(data).token_tree(width=80)
    assert "assistant message history[129]" in text
    assert "…" not in text.replace("  …", "")
    assert 80 >= max(map(len, text.split("\n")))


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        (Video, "claude-sonnet-4-5"),
        (Audio, "gpt-5"),
        (Image, "gpt-3.5-turbo"),
        (Document, "gpt-3.5-turbo"),
        (Audio, "amazon.nova-micro-v1:0"),
    ],
)
def test_what_the_target_takes_not_costs_nothing(
    kind: type[Video | Audio | Image | Document], model: str
) -> None:
    """An attachment that is not sent has no tokens, so that no part is larger than the request."""
    prompt = User("Look:", kind.from_url("https://example.com/a.mp4"), "Now.")
    rendered = render(prompt, model=model)
    assert ["content"] == [loss.kind for loss in rendered.losses]
    assert all(part.tokens <= rendered.tokens.total for part in rendered.tokens.parts)
    assert [0] == [
        part.tokens for part in rendered.tokens.parts if part.what == kind.__name__.lower()
    ]


def test_an_assumed_size_is_data() -> None:
    """A picture of unknown size says so in the parts, also one in a history."""
    png = bytes.fromhex("89504e470d0a1a0a0000000d494844520000004000000040")
    known, unknown = Image.from_bytes(png), Image.from_url("https://example.com/a.png")
    recorded = render(User("Look:", unknown)).messages
    prompt = Timeline(History(recorded), Assistant("Hm."), User("Here:", known), User(unknown))
    parts = render(prompt, counter=words).record().to_dict()["tokens"]["parts"]
    assert ["user message", "image"] == [part["what"] for part in parts if "assumed" in part]


def test_the_largest_are_shown() -> None:
    """Of many parts, at most 20 rows are shown, the largest, and one line is about the others."""
    messages = [Message("user", "word " * (1 + n % 9)) for n in range(3_000)]
    rendered = render(Timeline(System("Be kind."), History(messages)), counter=words)
    text = str(rendered.tokens).split("\n")
    assert (23, "…  2,983 more: ") == (len(text), text[-1].strip()[:15])
    everything = rendered.record().token_tree(most=None)
    assert 3_000 + 5 == everything.count("\n") + 1


@pytest.mark.parametrize("most", [0, 1, 3, 8])
def test_few_rows_are_few(most: int) -> None:
    """The rows are no more than asked for, also where more parts than that are dropped."""
    kept = [Section(f"kept{n}", "word " * 9) for n in range(9)]
    gone = [Section(f"gone{n}", "word " * 50, priority=-1) for n in range(9)]
    prompt = Timeline(System("Be kind.", *kept, *gone), User("Hi."))
    tree = render(prompt, budget=200, counter=words).record().token_tree(most=most)
    rows = re.findall(r"(?m)^ *\d+ .* section (?:kept|gone)", tree)
    assert len(rows) <= most
    assert "more" in tree


def test_dropped_parts_have_rows() -> None:
    """Dropped parts stand where they were written, the largest if they are many."""
    sections = [Section(f"s{n}", "word " * (n + 1), priority=n) for n in range(40)]
    rendered = render(
        Timeline(System("Be kind.", *sections), User("Hi.")), budget=90, counter=words
    )
    text = str(rendered.tokens)
    assert 6 == len(re.findall(r"\d  dropped  ", text))
    (rest,) = re.findall(r"…  (\d+) more dropped: ", text)
    assert len(rendered.dropped) == 6 + int(rest)


@pytest.mark.parametrize("share", [0, 0.01, 0.0125, 0.5, 0.999, 1, 3])
def test_a_bar_has_eighths(share: float) -> None:
    """A bar is as wide as it should be, and its last character shows eighths."""
    bar = eighths(share, 10)
    sizes = dict(zip(" ▏▎▍▌▋▊▉█", range(9), strict=True))
    assert (10, round(min(share, 1) * 80)) == (len(bar), sum(sizes[sign] for sign in bar))


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (30, "/srv/desk/prompts/support.py:6"),
        (29, "…/desk/prompts/support.py:6"),
        (20, "…/support.py:6"),
        (13, ""),
    ],
)
def test_a_path_is_cut_from_its_left(width: int, expected: str) -> None:
    """The path of a source is cut at a folder; without room for its last name it is left out."""
    assert expected == fitted_source("/srv/desk/prompts/support.py:6", width)


names = (
    st.sampled_from([*HOSTILE, "x" * 500, "好" * 90, "\x1b[31m", "</div>", "\u202e"]) | st.text()
)


@examples(40, fast=10)
@given(name=names.filter(str.strip), width=st.integers(50, 160))
def test_no_name_breaks_a_row(name: str, width: int) -> None:
    """Whatever a part is called, its row is one line of printable text that fits the width."""
    terms = [TokenPart(0, name, name, 9), TokenPart(1, name, "", 0), TokenPart(1, name, "a", 3)]
    more = [TokenPart(1, "b", "b", 6, Source(name, 1), "default", name), *terms * 9]
    view = TokenView(99, "exact", None, "", BudgetUse(900, 99, 7, 794), [*terms, *more])
    lines = view.text(width=width).split("\n")
    assert [] == [line for line in lines if columns(line) > width or not line.isprintable()]


@examples(20, fast=5)
@given(name=names.filter(str.strip))
def test_no_name_changes_the_page(name: str) -> None:
    """Whatever a part is called, the page has the tags of a page with calm names."""

    def tags(text: str) -> list[str]:
        prompt = Timeline(Grounding("a", "b", title=text), User("Hi.", name=text))
        rendered = render(prompt, counter=words, budget=9_000, hints=False)
        return re.findall("</?[a-z]+", rendered._repr_html_())

    assert tags("calm") == tags(name)


def test_without_a_terminal_nothing_is_cut() -> None:
    """Without a terminal, rows have complete names and sources."""
    prompt = System(Section("a" * 90, "Be kind."), Section("b" * 90, "Be brief."))
    text = str(render(prompt, counter=words).tokens)
    assert [1, 1, 3] == [text.count(word) for word in ("a" * 90, "b" * 90, f"{__file__}:")]


@pytest.mark.parametrize("width", [70, 80])
def test_a_cache_mark_is_not_cut(width: int) -> None:
    """A name is cut before its cache mark; the instructions for tools have the room of a path."""
    prompt = Timeline(
        Tool(name="find", description="Find.", input_schema={"type": "object"}),
        System(Section("s" * 60, "Be kind. " * 20, cache=True), Section("b", "c")),
        User("Hi."),
    )
    text = str(render(prompt, model="claude-sonnet-4-5").record().token_tree(width=width))
    (row,) = [row for row in text.split("\n") if "…" in row and "section s" in row]
    assert "… [cached]" in row
    assert width >= len(row)
    assert "the provider's instructions for tools" in text
