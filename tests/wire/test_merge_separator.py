"""The white space between the texts of merged turns, where a target wants one string."""

from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.internals import entry_tokens, tokens_for
from tests.providers.conversations import PNG
from tests.providers.every_target import FACTS, strings_in
from tests.providers.laws import unlawful_rendered
from tests.providers.prompts import ANY_PROMPTS
from tests.searching import examples

JOINING = ("gpt-5", "gpt-5.6-sol", "openai_compatible", "responses", "chat_template")
LISTING = ("claude-opus-5-5", "gemini-3.1-pro", "bedrock nova")
SEPARATORS = st.sampled_from(["", " ", "\n", "\n\n", "\t \n"])


def options_of(target: str, separator: str) -> dict[str, Any]:
    """Return the options of a render for a target."""
    facts = FACTS[target]
    template = {} if facts.template is None else {"chat_template": facts.template}
    options = {"merge_separator": separator}
    return {"model": facts.model, "provider": facts.provider, "transformation": options, **template}


def contents(target: str, *content: Any, separator: str = " ") -> list[Any]:
    """Return the contents of what is sent, without system text."""
    payload = render(Timeline(*content), **options_of(target, separator)).payload()
    entries = payload.get("messages") or payload["input"]
    return [entry.get("content") for entry in entries if entry.get("role") != "system"]


def picture() -> Any:
    """Return a picture."""
    return Image.from_base64(PNG, media_type="image/png")


@pytest.mark.parametrize("target", JOINING)
@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (lambda: (User("a"), User("b")), ["a b"]),
        (lambda: (User("a"), User("b"), User("c")), ["a b c"]),
        (lambda: (User("a", Text("b")), User(Text("c"), Text("d"))), ["a\n\nb c\n\nd"]),
        (lambda: (User(Text("a"), Text("b")),), ["a\n\nb"]),
        (lambda: (User("a"), User(" "), User("b")), ["a b"]),
        (lambda: (User("a"), User(Text(" "), Text("b"))), ["a b"]),
        (lambda: (User("u"), Assistant("a"), Assistant("b"), User("v")), ["u", "a b", "v"]),
        (
            lambda: (History([Message("user", "a"), Message("user", "b")]), User("c")),
            ["a b c"],
        ),
        (lambda: (System("s"), User("a"), System("t"), User("b")), ["a b"]),
    ],
)
def test_merged_turns(target: str, turns: Any, expected: object) -> None:
    """Texts of merged turns are joined by the separator, those of one turn by a blank line."""
    assert expected == contents(target, *turns())


def test_what_keeps_its_blank_line() -> None:
    """System text, results and turns that do not merge are as without the setting."""
    prompt = lambda: (  # noqa: E731
        Tool(name="f", description="F.", input_schema={"type": "object"}),
        *(System("s"), CacheBreakpoint(), System("t"), User("a"), Assistant(ToolUse("f", {}, "c"))),
        ToolMessage("c", Text("1"), Text("2")),
        *(User("b", name="ada"), User("c", name="bob"), User("d", merge=False)),
    )
    for target in (*JOINING, *LISTING):
        payloads = [
            render(Timeline(*prompt()), **options_of(target, separator)).payload()
            for separator in ("\n\n", "")
        ]
        assert payloads[0] == payloads[1]


@pytest.mark.parametrize("target", LISTING)
def test_lists(target: str) -> None:
    """A target that takes lists gets a block for each text."""
    tree = lambda: Timeline(User("a"), User("b"), Assistant("c"), Assistant("d"), User("e"))  # noqa: E731
    payloads = [
        render(tree(), **options_of(target, separator)).payload() for separator in ("\n\n", "")
    ]
    assert payloads[0] == payloads[1]


def test_attachments_and_marks() -> None:
    """Texts apart stay apart; after a mark a text keeps the blank line, in a part of its own."""
    url = {"url": f"data:image/png;base64,{PNG}"}
    image_part = {"type": "image_url", "image_url": url}
    a, mark = {"type": "text", "text": "a"}, {"prompt_cache_breakpoint": {"mode": "explicit"}}
    turns = (User("a"), User(picture(), "b"), User("c"))
    assert [[a, image_part, {"type": "text", "text": "b c"}]] == contents("gpt-5.6-sol", *turns)
    marked = (User("a", cache=True), User("b", cache=True), User("c"))
    b, c = ({"type": "text", "text": f"\n\n{letter}"} for letter in "bc")
    assert [[{**a, **mark}, {**b, **mark}, c]] == contents("gpt-5.6-sol", *marked)
    assert ["a b c"] == contents("gpt-5", User("a", cache=True), User("b", cache=True), User("c"))
    assert [[{"type": "text", "text": "a b", **mark}]] == contents(
        "gpt-5.6-sol", User("a"), User("b", cache=True)
    )


def test_what_is_lost_and_what_becomes_text() -> None:
    """A turn begins with the first of its blocks that is sent."""
    with pytest.warns(LostContentWarning, match="image block"):
        joined = contents("gpt-3.5-turbo", User("a"), User(picture(), Text("b"), Text("c")))
    assert ["a b\n\nc"] == joined
    csv = Document.from_bytes(b"1,2", media_type="text/csv")
    (content,) = contents("gpt-5", User("a"), User(csv, "b"))
    assert ('a <document type="text/csv">', "</document>\n\nb") == (content[:28], content[-14:])


def test_events_and_names() -> None:
    """An event that a user says merges; the name of a speaker comes first."""
    tree = Timeline(
        User("a", name="ada"), User("b", name="ada"), User("c"), Event(SystemEvent("x"))
    )
    rendered = render(tree, **options_of("template chatml", " "))
    event = '<event type="system_event">\nx\n</event>'
    assert [f"ada: a b\n\nc {event}"] == [
        message["content"] for message in rendered.payload()["messages"]
    ]
    assert ["ada: ", "a", "b", "c", event] == [location.text for location in rendered.locations()]


def places_of(payload: Any, places: Any) -> list[Any]:
    """Return what is at each place of a text."""
    pieces: list[Any] = []
    for location in (it for it in places if it.start is not None):
        value = payload
        for key in location.address:
            value = value[key]
        pieces.append(value[location.start : location.end])
    return pieces


@pytest.mark.parametrize("target", [*JOINING, "claude-opus-5-5", "template llama"])
@examples(200, 3)
@given(tree=ANY_PROMPTS, separator=SEPARATORS, cache=st.sampled_from([None, "auto"]))
def test_any_prompt(target: str, tree: Timeline, separator: str, cache: Any) -> None:
    """Of any prompt the words are the same, the count is exact, and each place is right."""
    options = {**options_of(target, separator), "cache": cache}
    usual = render(tree, **{**options, "transformation": {}})
    rendered = render(tree, **options)
    payload, facts = rendered.payload(), rendered.facts
    if "prompt" not in payload:
        words = [
            ["".join("".join(strings_in(each_payload)).split())]
            for each_payload in (usual.payload(), payload)
        ]
        assert words[0] == words[1]
    recounted = entry_tokens(payload, tokens_for(facts, None), facts).total
    assert recounted == rendered.tokens.total
    texts = [
        each_payload.text for each_payload in rendered.locations() if each_payload.start is not None
    ]
    assert texts == places_of(payload, rendered.locations())
    assert [
        (each_payload.message, each_payload.block, each_payload.inner, each_payload.text)
        for each_payload in usual.locations()
    ] == [
        (each_payload.message, each_payload.block, each_payload.inner, each_payload.text)
        for each_payload in rendered.locations()
    ]
    assert usual.spans() == rendered.spans()
    assert [] == unlawful_rendered(rendered, facts)
    # Where reasoning is bound, a history leaves room for what will stand behind it.
    budget = recounted * 2 if facts.binds_reasoning else recounted
    within = render(tree, budget=budget, **options)
    assert (payload, ()) == (within.payload(), within.dropped)


@pytest.mark.parametrize("separator", ["", " "])
def test_a_long_conversation(separator: str) -> None:
    """A long conversation with merged turns is counted and written as from the beginning."""
    messages = [Message("user" if n % 3 else "assistant", f"word{n}") for n in range(1, 320)]
    for count in (300, 319):
        prompt = lambda: Timeline(System("s"), History(messages[:count]))  # noqa: B023, E731
        options = options_of("gpt-5", separator)
        payload = render(prompt(), **options).payload()
        rendered = render(prompt(), **options)
        assert payload == rendered.payload()
        expected = [
            separator.join(text for _, text in group)
            for _, group in groupby(
                ((m.role, m.text) for m in messages[:count]), lambda role_and_text: role_and_text[0]
            )
        ]
        contents = [role_and_text["content"] for role_and_text in payload["messages"]]
        assert expected == contents[-len(expected) :]
        recounted = entry_tokens(payload, tokens_for(rendered.facts, None), rendered.facts)
        assert recounted.total == rendered.tokens.total
        usual = render(prompt(), **options_of("gpt-5", "\n\n")).payload()
        assert usual != payload
