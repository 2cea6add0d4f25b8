"""What a snapshot keeps of a prompt: all that is sent, and nothing that cannot be seen."""

import json
import re
from typing import Any

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from promptdsl import *
from tests.comparing.reviewed import FOLDER, files
from tests.comparing.texts import TEXTS
from tests.hostile import HOSTILE
from tests.internals import (
    CHARACTER_NAMES,
    FileEntry,
    FilePart,
    ShownTexts,
    controls,
    invisible,
    parse,
    prompt_file,
    schema_text,
    serialise,
    value_bracket,
)
from tests.providers.prompts import ANY_PROMPTS, TRANSFORMATIONS
from tests.searching import examples, with_each

TARGETS: tuple[dict[str, Any], ...] = (
    {},
    {"model": "gpt-5"},
    {"model": "o1-mini"},
    {"model": "claude-sonnet-4-5"},
    {"model": "claude-opus-5-5"},
    {"model": "gemini-2.5-pro"},
    {"provider": "openai_responses"},
    {"provider": "openai_compatible"},
    {"provider": "bedrock"},
    {"provider": "chat_template"},
)
PNG = MediaSource("base64", "R0lGODlhAwAFAAAAACw=", "image/gif")


def body(rendered: Rendered, **options: Any) -> str:
    """Return the file of a prompt without its header."""
    return serialise(attrs.evolve(prompt_file(rendered, **options), header=()))


def first_text(*content: Any, **options: Any) -> str:
    """Return the text of the first message in the file of a prompt."""
    return prompt_file(render(Timeline(*content)), **options).entries[0].parts[0].text


def recorded(*content: Block) -> Rendered:
    """Return the prompt of one recorded message of a user, or of an assistant where it calls."""
    calls = any(isinstance(block, ToolUseBlock | ReasoningBlock) for block in content)
    ids = [block.id for block in content if isinstance(block, ToolUseBlock)]
    assume(len(ids) == len({*ids}))
    return render(Timeline(History([Message("assistant" if calls else "user", content)])))


def hidden(text: str) -> str:
    """Return what a text in the alphabet of snapshots stands for."""
    characters = {name: character for character, name in CHARACTER_NAMES.items()}

    def character(match: re.Match[str]) -> str:
        name = match[1]
        return characters[name] if name in characters else chr(int(name.removeprefix("U+"), 16))

    return re.sub("⟦(⟦|[^⟧]+)⟧", character, text)


@examples(300, fast=10)
@given(ANY_PROMPTS, TRANSFORMATIONS, st.sampled_from(TARGETS), st.sampled_from([None, "auto"]))
def test_any_prompt_comes_back(tree: Any, transformation: Any, target: Any, cache: Any) -> None:
    """Of any prompt for any target, the file comes back and has nothing that cannot be seen."""
    try:
        rendered = render(tree, transformation=transformation, cache=cache, **target)
    except PromptError:
        assume(False)
    file = prompt_file(rendered)
    text = serialise(file)
    assert (file, (), (), False) == (parse(text), invisible(text), controls(text), "\r" in text)


@with_each(HOSTILE[::6])
@examples(300, fast=10)
@given(TEXTS)
def test_taking_the_marks_away_gives_the_text(text: str) -> None:
    """Text of a user is in the file to the character, and the file ends in one line end."""
    assert is_kept(text)


@pytest.mark.slow
@with_each(HOSTILE)
@examples(300)
@given(TEXTS)
def test_taking_the_marks_away_gives_each_hostile_text(text: str) -> None:
    """So is each hostile text."""
    assert is_kept(text)


def is_kept(text: str) -> bool:
    """Return whether a text of a user is in its file, which ends in one line end."""
    rendered = recorded(TextBlock(text))
    written = serialise(prompt_file(rendered))
    parts = [part for file_entry in parse(written).entries for part in file_entry.parts]
    texts = "".join(message.text for message in rendered.messages)
    return (texts, "\n", True) == (
        "".join(hidden(part.text) for part in parts),
        written[-1],
        not written.endswith("\n\n"),
    )


PIECES = st.sampled_from(
    ["a", " ", "\n", "\\", "─■ text", "─⚑ cache", "──▶ user", "⟦", "⟧", "⟦SP⟧", "⟦+⟧", '"', "{}"]
)
SHORT = st.lists(PIECES, max_size=3).map("".join)
SMALL_BLOCKS = st.lists(
    st.one_of(
        st.builds(TextBlock, SHORT, st.sampled_from([None, "default", "5m"])),
        st.builds(ImageBlock, st.sampled_from([PNG, MediaSource("url", "a")]), SHORT),
        st.builds(ToolUseBlock, SHORT.map("a".__add__), SHORT, SHORT),
        st.builds(ReasoningBlock, SHORT, SHORT, st.none() | SHORT, st.none() | SHORT),
    ),
    min_size=1,
    max_size=2,
)


@examples(1_500, fast=38)
@given(SMALL_BLOCKS, SMALL_BLOCKS)
def test_two_prompts_have_two_files(one: list[Block], other: list[Block]) -> None:
    """Only what is the same message has the same file, texts that look like marks included."""
    first, second = recorded(*one), recorded(*other)
    is_same = first.messages == second.messages
    assert is_same == (body(first) == body(second))


def test_marks_as_text() -> None:
    """A text that looks like a sign, a title or a bracket is not mistaken for one."""
    hostile = "a\n\n──▶ system\n─▷ rules\n\\\n ─⚑ cache\n⟦date⟧\n"
    expected = [
        *("", "──▶ user", "a", "", "\\──▶ system", "\\─▷ rules", "\\\\"),
        *("\\ ─⚑ cache", "⟦⟦⟧date⟧", "\\", ""),
    ]
    assert expected == body(render(User(hostile))).split("\n")[3:]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a\rb\r\n", "a⟦CR⟧b⟦CR⟧\n"),
        ("a \n\t\n\tb\u3000", "a⟦SP⟧\n⟦TAB⟧\n\tb⟦U+3000⟧"),
        ("a\xa0b\u200bc\ufeff", "a⟦NBSP⟧b⟦ZWSP⟧c⟦BOM⟧"),
        ("\u202eab\u2028\x1b[0m", "⟦U+202E⟧ab⟦LS⟧⟦ESC⟧[0m"),
        ("\U000e0041\ufdd0\U0001ffff", "⟦U+E0041⟧⟦U+FDD0⟧⟦U+1FFFF⟧"),
        ("\u2764\ufe0f \U0001f468\u200d\U0001f469", "\u2764\ufe0f \U0001f468\u200d\U0001f469"),
        ("⟦CR⟧ ⟧", "⟦⟦⟧CR⟧ ⟧"),
    ],
)
def test_what_cannot_be_seen(text: str, written: str) -> None:
    """A character that cannot be seen has a name; one that spells an emoji is kept."""
    assert written == first_text(User(text))


# Values that change.


@pytest.mark.parametrize("days", [("Mon", "Mon", "Tue"), ("Mon", "Tue", "Wed"), ("", "", "")])
def test_volatiles_by_label(days: tuple[str, ...]) -> None:
    """A volatile is its label; further places of the label have a number, whatever stands there."""
    one, two, three = (Volatile(day, label="date") for day in days)
    assert "⟦date⟧, ⟦date-2⟧, ⟦date-3⟧" == first_text(System(Text(one, ", ", two, ", ", three)))


@pytest.mark.parametrize("label", ["CR", "date-2", "U+200B", "⟦", "a\nb", " ", "Date"])
def test_labels_are_told_from_signs(label: str) -> None:
    """A label that could be read as another sign is a JSON string."""
    text = first_text(System(Text(Volatile("x", label=label))))
    assert (value_bracket(label), True) == (text, text.startswith('⟦"'))


def test_volatiles_anywhere() -> None:
    """A volatile is its label in cells, titles, events and groundings, too."""
    now = Volatile("12:00", label="now")
    tree = Timeline(
        System(Table([{"at": now}]), Section("s", "x", title=now)),
        Event(UserAction("left", target=now)),
        Grounding("g", "x", title=now),
        User(Text(now)),
    )
    text = body(render(tree))
    signs = ["⟦now⟧", *(f"⟦now-{number}⟧" for number in range(2, 6))]
    assert (signs, False) == (re.findall("⟦now[^⟧]*⟧", text), "12:00" in text)


@pytest.mark.parametrize("target", TARGETS)
def test_the_length_of_a_volatile(target: dict[str, Any]) -> None:
    """A volatile of any length is the same file, its tokens too; so is an empty one in a text."""
    texts = ("May", "", "\n\n", "It rains. " * 400, "# a\n```\n| b")
    trees = (Ephemeral("News: ", Volatile(it, label="news"), position="end") for it in texts)
    files = {serialise(prompt_file(render(Timeline(User("q"), tree), **target))) for tree in trees}
    assert 1 == len(files)


def test_a_part_that_vanishes_with_an_empty_volatile() -> None:
    """A section of an empty volatile alone is not sent, so it is not in the file."""
    now, empty = (
        body(render(System("a", Section("s", Volatile(it, label="now"))))) for it in ("12:00", "")
    )
    assert [True, False] == ["─▷ s\n⟦now⟧" in now, "─▷ s" in empty]


def test_scrubbers() -> None:
    """What a scrubber names is one sign for each value: in texts, inputs, ids and titles."""
    run, other = "run_1a", "run_2b"
    tree = Timeline(
        User(f"See {run} and {other}."),
        Assistant(ToolUse("find", {"id": other}, id=run)),
        ToolMessage(run, f"{run} is done."),
    )
    scrubbers = {"run": "run_[0-9][a-z]", "word": lambda text: ["done"] if "done" in text else []}
    expected = [
        *("", "──▶ user", "See ⟦run-1⟧ and ⟦run-2⟧.", ""),
        *("──▶ assistant", "─■ call find ⟦run-1⟧", '{"id": "⟦run-2⟧"}', ""),
        *("──▶ tool find ⟦run-1⟧", "⟦run-1⟧ is ⟦word-1⟧.", ""),
    ]
    assert expected == body(render(tree), scrubbers=scrubbers).split("\n")[3:]


def test_scrubbers_change_no_fact() -> None:
    """A scrubber takes texts, arguments, ids of calls and turns, names of files; nothing else."""
    file_id = {"type": "file_id", "file_id": "file_7"}
    text = {"type": "string", "maxLength": 12, "description": "5"}
    schema = {"type": "object", "properties": {"id3": text}}
    tree = Timeline(
        Tool(name="find2", description="Find 2.", input_schema=schema),
        System(Section("rules2", "No 4.", cache=True)),
        User("q", ImageBlock(PNG, "r1.gif"), {"type": "document", "source": file_id}, name="ann7"),
        Assistant(ToolUse("find2", {"id3": "x9"}, id="call.1")),
        ToolMessage("call.1", "done", is_error=True),
        Grounding("doc-77", "x"),
        User("r"),
    )
    rendered = render(tree, model="claude-sonnet-4-5")
    scrubbed = prompt_file(rendered, scrubbers={"all": r"(?s).+"})
    header = prompt_file(rendered).header
    expected = """\
──▶ tools
─■ tool find2
⟦all-1⟧
─■ takes
id3 (string) {"maxLength": 12}⟦all-2⟧

──▶ system
─▷ rules2
⟦all-3⟧
─⚑ cache

──▶ user named ann7, name not sent
⟦all-4⟧
─■ image image/gif 3x5 14 B sha256:d53cd35cb3eb titled ⟦all-5⟧
─■ document file_id ⟦all-6⟧

──▶ assistant
─■ call find2 ⟦all-7⟧, id sent as ⟦all-8⟧
⟦all-9⟧

──▶ tool find2 ⟦all-7⟧ as user, id sent as ⟦all-8⟧
─■ failed
⟦all-10⟧

──▶ grounding ⟦all-11⟧ as user, in the message above
⟦all-12⟧

──▶ user, in the message above
⟦all-13⟧
"""
    assert expected == serialise(attrs.evolve(scrubbed, header=())).partition("\n\n")[2]
    hint = ("hint", "doc-77: this model takes no instructions here")
    new = ("hint", "⟦all-11⟧: this model takes no instructions here")
    assert [new if line == hint else line for line in header] == [*scrubbed.header]


def test_a_scrubbed_value_that_begins_with_another() -> None:
    """The longer one is taken whole, whatever the order in which a function returns them."""
    scrubbers = {"id": lambda text: re.findall("[0-9]+", text)}
    assert "⟦id-1⟧, ⟦id-2⟧" == first_text(User("12, 1234"), scrubbers=scrubbers)


def test_a_scrubber_with_the_name_of_a_label() -> None:
    """Its numbers go on after those of the label, so that no two values have one sign."""
    text = System(Text("1:30 ", Volatile("1:00", "at"), " ", Volatile("2:00", "at"), " 2:30"))
    assert "⟦at-3⟧ ⟦at⟧ ⟦at-2⟧ ⟦at-4⟧" == first_text(text, scrubbers={"at": "[0-9]:30"})


def test_scrubbers_break_no_mark() -> None:
    """A scrubber that takes everything leaves the form of the file as it is."""
    tree = Timeline(System(Section("s", "x\ny"), Section("t", "z")), User("q"))
    file = prompt_file(render(tree), scrubbers={"all": r"(?s).+"})
    assert file == parse(serialise(file))


# Tools.

WORDS = st.sampled_from(["a", "b", "string", "required", "any", ") (", "", "{}", "a\nb", "⟦LF⟧"])
PROPERTIES = st.one_of(
    st.dictionaries(st.sampled_from(["type", "description", "enum"]), WORDS, max_size=3).map(
        lambda keys: dict(sorted(keys.items()))
    ),
    st.builds(lambda *kinds: {"type": [*kinds]}, WORDS, WORDS),
    st.booleans(),
)
OBJECTS = st.builds(
    lambda properties, more: {"type": "object", "properties": properties, **dict(sorted(more))},
    st.dictionaries(WORDS, PROPERTIES, max_size=2),
    st.fixed_dictionaries(
        {}, optional={"required": st.lists(WORDS, max_size=2), "a": PROPERTIES, "title": WORDS}
    ).map(lambda keys: keys.items()),
)
"""Schemas with properties in any order, and their other keys in one order."""


@examples(1_500, fast=38)
@given(OBJECTS, OBJECTS)
def test_two_schemas_have_two_texts(one: Any, other: Any) -> None:
    """Its text differs where its data does, or the order of its properties: nothing is lost."""
    texts = [schema_text(schema, ShownTexts({})) for schema in (one, other)]
    data = [
        (list(schema["properties"]), json.dumps(schema, sort_keys=True)) for schema in (one, other)
    ]
    assert (data[0] == data[1]) == (texts[0] == texts[1])


def test_keys_are_shown_in_the_order_of_sending() -> None:
    """Two schemas whose keys are sent in another order have two texts."""
    schema = {"type": "object", "properties": {"a": {"enum": [1], "title": "b"}}, "$id": "c"}
    keys = [*schema.items(), ("title", "d")]
    turned = {**dict(reversed(keys)), "properties": {"a": {"title": "b", "enum": [1]}}}
    assert [
        'a (any) {"enum": [1], "title": "b"}\n{"$id": "c", "title": "d"}',
        'a (any) {"title": "b", "enum": [1]}\n{"title": "d", "$id": "c"}',
    ] == [schema_text(schema, ShownTexts({})) for schema in (dict(keys), turned)]


def test_a_tool() -> None:
    """A tool is its description, and a line for each property; what has no short form is JSON."""
    schema = {
        "type": "object",
        "properties": {
            "invoice": {"type": "integer", "description": "Its number."},
            "state": {"type": "string", "enum": ["open", "paid"]},
            "note": {"type": ["string", "null"], "description": "Why.\nIn words."},
            "a b": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "free": {},
        },
        "required": ["invoice", "state"],
        "additionalProperties": False,
    }
    tree = Timeline(Tool(name="lookup", description="Look\nup.", input_schema=schema), User("q"))
    expected = (
        FilePart("─■ tool lookup", "Look\nup."),
        FilePart(
            "─■ takes",
            "invoice (integer, required): Its number.\n"
            'state (string, required) {"enum": ["open", "paid"]}\n'
            "note (string or null): Why.⟦LF⟧In words.\n"
            '"a b" (any) {"anyOf": [{"type": "string"}, {"type": "integer"}]}\n'
            "free (any)\n"
            '{"additionalProperties": false}',
        ),
    )
    assert expected == prompt_file(render(tree)).entries[0].parts


def test_a_mark_names_the_section_of_the_text_below() -> None:
    """After the end of a section, the section around it goes on, or none."""
    rules = Section(
        "rules", "Refund.", Section("tone", Section("style", "Brief."), "Kind."), "Ask."
    )
    file_entry = prompt_file(render(System(rules, "Today."))).entries[0]
    assert ["rules", "rules/tone/style", "rules/tone, continued", "rules, continued"] == [
        part.sign.removeprefix("─▷ ") for part in file_entry.parts[:-1]
    ]
    assert "─▷ (no section)" == file_entry.parts[-1].sign


# What is sent.


def titles(tree: Timeline, **target: Any) -> list[str]:
    """Return the titles of the messages of a prompt."""
    return [str(file_entry.title) for file_entry in prompt_file(render(tree, **target)).entries]


HAPPENED = Timeline(
    System("s"),
    User("q"),
    Assistant("a"),
    Event(UserAction("left")),
    Grounding("account", "x"),
    User("q"),
)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({}, ["event", "grounding account", "user"]),
        ({"model": "gpt-5"}, ["event as developer", "grounding account as developer", "user"]),
        (
            {"model": "claude-sonnet-4-5"},
            [
                "event as user",
                "grounding account as user, in the message above",
                "user, in the message above",
            ],
        ),
    ],
)
def test_the_role_that_is_sent(target: Any, expected: list[str]) -> None:
    """A turn has its own kind, and the role that it is sent in."""
    assert ["system", "user", "assistant", *expected] == titles(HAPPENED, **target)


CALLED = Timeline(
    User("q"),
    Assistant(ToolUse("f", {}, id="1"), ToolUse("f", {}, id="2")),
    ToolMessage("1", "x"),
    ToolMessage("2", "y"),
    Event(UserAction("left")),
    User("r"),
)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({"model": "gpt-5"}, ["tool f 1", "tool f 2", "event as developer", "user"]),
        (
            {"model": "claude-sonnet-4-5"},
            [
                "tool f 1 as user",
                "tool f 2 as user, in the message above",
                "event as user, in the message above",
                "user, in the message above",
            ],
        ),
        (
            {"model": "gemini-2.5-pro"},
            [
                "tool f 1 as user",
                "tool f 2 as user, in the message above",
                "event as user",
                "user, in the message above",
            ],
        ),
    ],
)
def test_messages_are_those_of_the_payload(target: Any, expected: list[str]) -> None:
    """Results share a message with what follows them only where they do on the wire."""
    assert ["user", "assistant", *expected] == titles(CALLED, **target)


def test_instructions_have_the_role_of_the_payload() -> None:
    """Claude takes instructions in a conversation as system messages."""
    tree = Timeline(User("q"), Event(UserAction("left")), Assistant("a"), User("r"))
    expected = ["user", "event as system", "assistant", "user"]
    assert expected == titles(tree, model="claude-opus-5-5")


def test_what_is_added_for_a_target() -> None:
    """What nobody wrote is shown, and is not mistaken for what somebody did."""
    tree = Timeline(Assistant("Hi."), User("q"), Developer("Be brief."), User("r"))
    expected = [
        FileEntry("user, added for the target", (FilePart("", "."),)),
        FileEntry("assistant", (FilePart("", "Hi."),)),
        FileEntry("user", (FilePart("", "q"),)),
        FileEntry(
            "developer as user, in <developer>, in the message above",
            (FilePart("", "Be brief."),),
        ),
        FileEntry("user, in the message above", (FilePart("", "r"),)),
    ]
    assert expected == [*prompt_file(render(tree, model="claude-sonnet-4-5")).entries]


def test_a_mark_behind_the_fence_of_a_target_is_shown() -> None:
    """The end of the fence stands in the block, too, and the mark is after it."""
    tree = Timeline(System("s"), User("q"), Developer("Be brief.", cache=True), User("So?"))
    file_entry = prompt_file(render(tree, model="claude-sonnet-4-5")).entries[2]
    assert ["Be brief.", "─⚑ cache"] == [part.sign or part.text for part in file_entry.parts]


def test_what_is_not_sent() -> None:
    """An attachment and a cache mark that a target does not take are shown as not sent."""
    video = {"type": "video", "source": {"type": "base64", "data": "AAAA"}}
    tree = Timeline(System("s", cache=True), User("q", video))
    entries = prompt_file(render(tree, model="gpt-5")).entries
    assert ["─⚑ cache, not sent", "─■ video 3 B sha256:709e80c88487, not sent"] == [
        file_entry.parts[-1].sign for file_entry in entries
    ]


def test_a_document_that_is_sent_as_text() -> None:
    """A document of text is shown as one also where its text is sent, in a fence."""
    csv = Document.from_bytes(b"a,<document>", "text/csv", title="T")
    call = Assistant(ToolUse("f", {}, id="1"))
    tree = Timeline(
        User("See.", csv, "Sum up."), call, ToolMessage("1", "Here:", csv), User(csv, "So?")
    )
    mark = "─■ document text/csv 12 B sha256:bd267cf33224 titled T"
    first, _, result, last = prompt_file(render(tree, model="gpt-5")).entries
    assert [
        (("", "See."), (mark, ""), ("─■ text", "Sum up.")),
        (("", "Here:"), (mark, "")),
        ((mark, ""), ("─■ text", "So?")),
    ] == [tuple((part.sign, part.text) for part in it.parts) for it in (first, result, last)]


def test_names_that_are_not_sent() -> None:
    """The name of a speaker or of an answer is reported as not sent where the payload has none."""
    schema = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    tree = Timeline(User("q", name="ada"), Output(schema, name="cited"))
    assert ["answer cited", "user named ada"] == titles(tree, model="gpt-5")
    gemini = ["answer cited, name not sent", "user named ada, name not sent"]
    assert gemini == titles(tree, model="gemini-2.5-pro")


def test_a_failure_without_a_flag() -> None:
    """Where a target has no flag for errors, the mark says so, with the words in its place."""
    calls = Assistant(ToolUse("f", {}, id="1"))
    tree = Timeline(User("q"), calls, ToolMessage("1", "x", is_error=True))
    flag, words = (
        prompt_file(render(tree, model=it)).entries[-1] for it in ("claude-opus-5-5", "gpt-5")
    )
    assert flag.parts == (FilePart("─■ failed", "x"),)
    mark = '─■ failed, flag not sent; "Error: " put before the text'
    assert words.parts == (FilePart(mark, "x"),)


def test_an_empty_line_for_a_mark() -> None:
    """Where a mark is not sent, its blocks may be one text with an empty line between them."""
    tree = Timeline(System(Text("A."), CacheBreakpoint(), Text("B.")), User("q"))
    expected = FilePart("─⚑ cache, not sent; an empty line instead", "B.")
    assert expected == prompt_file(render(tree, model="gpt-5")).entries[0].parts[-1]


def test_blank_turns_are_not_sent() -> None:
    """A target leaves out a text of white space alone: it is not the first message."""
    rendered = render(Timeline(User("  "), Assistant("Hi."), User("x")), model="gpt-5")
    titles = [str(file_entry.title) for file_entry in prompt_file(rendered).entries]
    added = "user, added for the target"
    assert titles == ["user, not sent", added, "assistant", "user"]


def test_losses_are_short() -> None:
    """Turns with one reason share a line; what becomes of them is in their titles."""
    tree = Timeline(User("q"), Developer("d"), Assistant("a"), Developer("e"), User("q"))
    header = prompt_file(render(tree, model="claude-sonnet-4-5")).header
    loss = "developer[0], developer[1]: this model takes no instructions here"
    assert [value for name, value in header if name == "loss"] == [loss]


def test_ids_as_sent() -> None:
    """A call whose id a target changes shows both, and so does its result."""
    tree = Timeline(User("q"), Assistant(ToolUse("f", {}, id="fc.1")), ToolMessage("fc.1", "x"))
    _, call, result = prompt_file(render(tree, provider="anthropic")).entries
    assert call.parts[0].sign == "─■ call f fc.1, id sent as fc_1"
    assert str(result.title) == "tool f fc.1 as user, id sent as fc_1"


@pytest.mark.parametrize("end", ["as user", "id sent as q", "not sent", "in the message above"])
def test_an_id_with_the_words_of_a_title(end: str) -> None:
    """What an id says is not taken for what became of the message."""
    file = prompt_file(render(Timeline(User("Hi.", id=f"a, {end}"))))
    assert file.entries == parse(serialise(file)).entries


def test_calls_without_results() -> None:
    """A prompt that waits for its tools has a file, which says so."""
    tree = Timeline(User("q"), Assistant(ToolUse("f", {}, id="1")))
    header = dict(prompt_file(render(tree, model="gpt-5")).header)
    assert "the last calls have no results yet, so nothing can be sent" == header["waiting"]


def test_calls_that_are_sent_without_results() -> None:
    """With ``tool_pairing="keep"`` open calls are sent, and file and record say nothing else."""
    tree = Timeline(User("q"), Assistant(ToolUse("f", {}, id="1")))
    keep: Any = {"tool_pairing": "keep"}
    rendered = render(tree, model="gpt-5", transformation=keep)
    assert 2 == len(rendered.to_openai()["messages"])
    assert "waiting" not in dict(prompt_file(rendered).header)
    record = rendered.record().to_dict()
    assert record["digest"]
    assert [[{"role": "user", "message": 0}], [{"role": "assistant", "message": 1}]] == (
        record["sent"]
    )


# Whole files.


@pytest.mark.parametrize(("name", "text"), [*files()])
def test_files_of_real_prompts(name: str, text: str) -> None:
    """The prompts of ``reviewed.py`` have the files that were read by a reviewer."""
    assert (FOLDER / name).read_bytes().decode() == text


def test_tokens_of_a_given_counter() -> None:
    """The header names the counter that was given, not the encoding of the model."""
    rendered = render(User("Hi."), model="gpt-5", budget=100, counter=len)
    header = dict(prompt_file(rendered).header)
    assert "~13 (estimate (by the counter given))" == header["tokens"]


def test_two_blocks_in_a_fence_of_each() -> None:
    """The title has the fence that begins and ends a turn; those between its blocks are shown."""
    turns = User("q"), Developer("a", CacheBreakpoint(), "b"), User("c")
    file = prompt_file(render(Timeline(*turns), model="claude-sonnet-4-5"))
    assert "developer as user, in <developer>, in the message above" == str(file.entries[1].title)
    assert [
        ("", "a"),
        ("─■ added for the target", "</developer>"),
        ("─⚑ cache", ""),
        ("─■ added for the target", "<developer>"),
        ("─■ text", "b"),
    ] == [(part.sign, part.text) for part in file.entries[1].parts]
