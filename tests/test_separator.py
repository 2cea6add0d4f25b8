"""The white space between the parts of a turn or a section."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.providers.conversations import PNG
from tests.providers.every_target import FACTS
from tests.providers.laws import unlawful_rendered
from tests.renders import comes_to, only_text
from tests.searching import examples

SEPARATORS = ("", " ", "\t", "\n", "\n\n", "\n\n\n")


def both() -> list[Any]:
    """Return two texts."""
    return [Text("Use ", "this."), Text("Not that.")]


@pytest.mark.parametrize("separator", SEPARATORS)
def test_texts_of_a_turn(separator: str) -> None:
    """It stands between the texts of every turn, which are one block then."""
    text = f"Use this.{separator}Not that."
    for turn in (System, Developer, User, Assistant):
        assert comes_to(turn(*both(), separator=separator)) == [(turn.__name__.lower(), text)]
    assert only_text(System(Section("a", *both(), separator=separator))) == text
    event = only_text(Event(*both(), separator=separator), transformation={"role_mapping": {}})
    assert event == f"<event>\n{text}\n</event>"
    call = Assistant(ToolUse("look", {}, id="a"))
    answer = comes_to(call, ToolMessage("a", *both(), separator=separator))[1]
    assert answer == ("tool", ("result", "a", text))


def test_a_block_adds_its_parts() -> None:
    """Parts that are written in a block or a fragment are joined, too."""
    with User(separator=" ") as turn:
        Text("One.")
        with Fragment():
            Text("Two.")
            Template.from_string("{{ n }}.", n=3)
        Text("")
        Text("Four.")
    assert only_text(turn) == "One. Two. 3. Four."


def test_strings_of_one_call() -> None:
    """Strings and values beside each other in one call are one text."""
    assert only_text(System("a", Value("b"), "c", separator="\n")) == "abc"


def test_a_value_between_two_texts() -> None:
    """A value is encoded beside the separators on both of its sides: here it would be a heading."""
    texts = Text("a\n"), Text(Value("#")), Text("b")
    assert "a\n &#35; b" == only_text(System(*texts, separator=" "))
    assert "a\n#b" == only_text(System(*texts, separator=""))


@pytest.mark.parametrize("separator", ["", " "])
def test_a_part_that_needs_its_own_lines(separator: str) -> None:
    """Without a line end it stands between texts only; beside other parts a blank line stays."""
    parts = [Text("Do:"), List("a"), Text("b"), Text("c"), Code("x")]
    joined = f"Do:\n\n- a\n\nb{separator}c\n\n```\nx\n```"
    assert only_text(System(*parts, separator=separator)) == joined
    assert only_text(User(*parts, separator=separator)) == joined
    titled = Section("s", "Two.", title="Title", separator=separator)
    assert only_text(System("One.", titled, separator=separator)) == "One.\n\n## Title\nTwo."


def test_line_ends_between_all_parts() -> None:
    """With a line end it stands between all parts; nested parts and others keep their own."""
    inner = Section("s", Text("x"), Text("y"), title="S")
    system = System(Text("Do:"), List("a"), inner, Quote("q"), Text("z"), separator="\n")
    other = System("Other.")
    assert only_text(system, other) == "Do:\n- a\n## S\nx\n\ny\n> q\nz\n\nOther."
    events = Event(SystemEvent("a"), SystemEvent("b"), separator="\n")
    text = only_text(events)
    assert '</event>\n<event type="system_event">' in text


def test_a_block_with_a_cache_mark_is_one_of_the_texts() -> None:
    """Only a block with keys of its own stays apart."""
    parts = (Text("a"), TextBlock("b", cache="default"), Text("c"))
    marked = {"type": "text", "text": "a b", "cache": "default"}
    assert comes_to(User(*parts, separator=" ")) == [("user", marked, "c")]


def test_what_parts_two_texts() -> None:
    """A value behind a cache mark or a result completes nothing of the text before it."""
    marked = comes_to(System(Text("`"), CacheBreakpoint(), Text(Value("``x")), separator=""))
    assert marked[0][-1] == "``x"
    texts = (Text("<a></a> b </"), ToolResult("a", "x"), Text(Value("a> c")))
    answer = User(*texts, separator="")
    assert comes_to(Assistant(ToolUse("look", {}, id="a")), answer)[-1][-1] == "a> c"


def test_other_blocks() -> None:
    """Attachments and results are blocks of their own, and so is what follows a cache mark."""
    picture = Image.from_base64(PNG, media_type="image/png")
    [(_, *blocks)] = comes_to(User(*both(), picture, *both(), separator=" "))
    assert blocks[::2] == ["Use this. Not that."] * 2
    [message] = render(User(Text("a"), CacheBreakpoint(), *both(), separator=" ")).messages
    assert [block.to_dict()["text"] for block in message.content] == ["a", "Use this. Not that."]
    results = User(ToolResult("a", *both()), *both(), separator=" ")
    call = Assistant(ToolUse("look", {}, id="a"))
    assert comes_to(call, results)[1:] == [
        ("tool", ("result", "a", "Use this.", "Not that.")),
        ("user", "Use this. Not that."),
    ]


@pytest.mark.parametrize("empty", [List(""), Section("s", ""), Untrusted(""), Table([]), Text("")])
def test_an_empty_part(empty: Any) -> None:
    """It has no separator, and does not end a line."""
    assert only_text(System(Text("a"), empty, Text("b"), separator=" ")) == "a b"


def test_a_block_with_keys_of_its_own() -> None:
    """It stays a block, as an attachment does; in instructions it is text."""
    cited: Any = {"type": "text", "text": "b", "citations": [1]}
    [message] = render(User(Text("a"), cited, Text("c"), Text("d"), separator=" ")).messages
    assert [block.to_dict() for block in message.content] == [
        {"type": "text", "text": "a"},
        cited,
        {"type": "text", "text": "c d"},
    ]
    assert only_text(System(Text("a"), cited, Text("c"), separator=" ")) == "a\n\nb\n\nc"


def test_a_loss_has_the_line_of_its_text() -> None:
    """It is told at the text that has it."""
    with System(separator=" ") as system:
        Text("a")
        text = Text("b", Value("\x01"))
    [hint] = render(system).hints
    assert hint.source == text.source


def test_xml() -> None:
    """In a tag, too."""
    section = Section("a", *both(), separator=" ")
    text = only_text(System(section), transformation={"format": "xml"})
    assert text == "<a>\nUse this. Not that.\n</a>"


@pytest.mark.parametrize("separator", ["-", "\n ", " \n", "\r\n", "\u00a0", "\x0b", 1, True])
@pytest.mark.parametrize("part", [System, User, Event])
def test_other_separators(part: Callable[..., Any], separator: Any) -> None:
    """It is spaces, or line ends."""
    with pytest.raises(OptionError, match="a separator is only spaces") as told:
        part("a", separator=separator)
    assert f"{__file__}:" in str(told.value)


# Values.

PIECES = st.sampled_from(
    [
        *("a", "1", "1.", "#", "# x", "-", "---", "===", "`", "```", "~~~\n", "> ", "|", "|-|"),
        *("<", "<a", "</", "</a", "a>", "/a>", "</a>", "<a>", "&lt", ";", "&", '"', "='", "\\"),
        *(" ", "    x", "\t", "\nb", "b\n", "\n", "", "\u2028", "\ud800", "\uff1ca>", "[[", "]]"),
    ]
)
TEXTS = st.lists(
    st.lists(st.builds(Value, PIECES) | PIECES, min_size=1, max_size=3), min_size=1, max_size=4
)


def one(texts: list[list[Any]], separator: str) -> list[Any]:
    """Return texts as the pieces of one, with a separator between those that are not empty."""
    pieces: list[Any] = []
    is_first = True
    for text in texts:
        if any(getattr(piece, "text", piece) for piece in text):
            pieces += [] if is_first else [separator]
            is_first = False
        pieces += text
    return pieces


def keeps_its_lines(text: list[Any]) -> list[Any]:
    """Return a text that is not dedented: it starts with a letter, or with a value."""
    return ["x", *text] if isinstance(text[0], str) and text[0][:1] in ("\n", "\r") else text


AROUND: list[Callable[..., Any]] = [
    System,
    User,
    Event,
    lambda *parts, **options: System(Section("a", *parts, **options)),
    lambda *parts, **options: User("<a>", Section("b", *parts, **options), Text("</a>")),
    lambda *parts, **options: User(Section("t", "<a></a>"), *parts, **options),
]
SETTINGS = [{}, {"format": "xml"}, {"encoding": {"inline": "full", "body": "full"}}]


@examples(200)
@given(st.sampled_from(SETTINGS), st.sampled_from(SEPARATORS), TEXTS)
def test_values_are_those_of_one_text(setting: Any, separator: str, texts: list[list[Any]]) -> None:
    """A value is encoded as in one text that the author wrote with the separator in it."""
    texts = [keeps_its_lines(text) for text in texts]
    for around in AROUND:
        parts = [Text(*text) for text in texts]
        joined = render(around(*parts, separator=separator), transformation=setting)
        written = around(Text(*one(texts, separator)), separator=separator)
        expected = render(written, transformation=setting)
        if joined.messages != expected.messages:
            # Texts of the author's are judged one by one: each may begin a tag or a fence of code.
            written_by_author = [it for text in texts for it in text if isinstance(it, str)]
            assert re.search("<|```|~~~", " ".join(written_by_author))
            assert [decode(it.text) for it in joined.messages] == [
                decode(it.text) for it in expected.messages
            ]


def test_each_piece_has_its_line() -> None:
    """A piece that is sent is told with the line of the text that wrote it."""
    with System(separator=" ") as system:
        first = Text("a ", Value("b"))
        second = Text(Value("c"), " d")
    spans = render(system).spans()
    assert [(span.text, span.kind, span.source) for span in spans] == [
        ("a ", "author", first.source),
        ("b", "value", first.source),
        (" ", "section", system.source),
        ("c", "value", second.source),
        (" d", "author", second.source),
    ]


# Payloads.


@pytest.mark.parametrize("target", FACTS)
@examples(20)
@given(st.sampled_from(SEPARATORS), TEXTS, st.booleans())
def test_a_payload_is_read_back(
    target: str, separator: str, texts: list[list[Any]], marked: bool
) -> None:
    """What is sent is read and sent again to the byte, and the spans are the whole text."""
    facts = FACTS[target]
    parts: list[Any] = [Text(*text) for text in texts]
    if marked:
        parts.insert(1, CacheBreakpoint())
    calls = Assistant(ToolUse("look", {}, id="a"), *parts[:1], separator=separator)
    prompt = Timeline(
        System(*parts, Section("s", *parts, separator=separator), separator=separator),
        User("q", *parts, separator=separator),
        calls,
        ToolMessage("a", *parts[:1], Text("b"), separator=separator),
        Developer(*parts, separator=separator),
    )
    template = {} if facts.template is None else {"chat_template": facts.template}
    rendered = render(prompt, model=facts.model, provider=facts.provider, **template)
    assert [] == unlawful_rendered(rendered, facts)
    texts_of = [getattr(b, "text", "") for m in rendered.messages for b in m.content]
    told = "".join(span.text for span in rendered.spans() if span.inner is None)
    assert "".join(texts_of) == told


# Budgets.

WORDS = st.text("ab c\n.", min_size=1, max_size=12)


@pytest.mark.parametrize("model", ["gpt-5", "claude-opus-5-5"])
@examples(100)
@given(
    st.sampled_from(SEPARATORS),
    st.lists(st.tuples(WORDS, st.sampled_from([None, 0, 1])), min_size=1, max_size=5),
    st.integers(0, 40),
)
def test_a_budget(
    model: str, separator: str, texts: list[tuple[str, int | None]], budget: int
) -> None:
    """What is sent fits, and is counted as it is sent."""
    for turn in (System, User):
        parts = [Group(Text(text), priority=priority) for text, priority in texts]
        prompt = Timeline(turn(*parts, separator=separator))
        try:
            kept = render(prompt, model=model, budget=budget)
        except BudgetError:
            continue
        assert kept.tokens.total <= budget
        again = Timeline(*(turn(message.text) for message in kept.messages), None)
        assert kept.tokens.total == render(again, model=model).tokens.total


def test_turns_of_several_texts_are_merged() -> None:
    """Between merged turns stands the separator of these, between the texts of one turn its own."""
    with Timeline() as prompt:
        User("a", Text("b"))
        User("")
        User("c")
        User(Text("d"), Image.from_url("https://a.example/b.png"), Text("e"))
        User(Text("f"))
        Assistant("g")
        Assistant("h", Text("i"))
        User("j", Text("k"))
        User("l")
        Developer("m")
        Developer("n", Text("o"))
        User("p", merge=False)
        User("q")
    rendered = render(prompt, model="gpt-5", transformation={"merge_separator": "\n"})
    first, *others = [message["content"] for message in rendered.to_openai()["messages"]]
    assert ["a\n\nb\nc\nd", None, "e\nf"] == [part.get("text") for part in first]
    assert ["g\nh\n\ni", "j\n\nk\nl", "m\nn\n\no", "p", "q"] == others
