"""The ids of turns and groundings, which often come from elsewhere, and the addresses of parts."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.internals import outline
from tests.searching import examples

QUESTION = User("Why?")


def addresses(*content: Any) -> list[str]:
    """Return the addresses of the request-only turns and events of a prompt, as they were sent."""
    messages = render(Timeline(*content)).messages
    return [origin.address for message in messages for origin in message.sources]


# Which turn has which address.


def test_groundings_of_one_id_are_numbered() -> None:
    """Groundings may share an id; all but the first have a number, in written order."""
    assert ["doc", '"doc"#2', '"doc"#3', "user[0]"] == addresses(
        Grounding("doc", "a"), Grounding("doc", "b"), Grounding("doc", "c"), QUESTION
    )


def test_numbers_follow_the_prompt_and_not_the_request() -> None:
    """The numbers are those of the prompt, also where an order sends them in another one."""
    first, second = Grounding("doc", "a", order=2), Grounding("doc", "b", order=1)
    assert ['"doc"#2', "doc", "user[0]"] == addresses(first, Fragment(second), QUESTION)


def test_one_grounding_in_two_places_has_two_addresses() -> None:
    """A grounding that is written once and placed twice is sent twice, with two addresses."""
    doc = Grounding("doc", "a")
    assert ["doc", '"doc"#2', "user[0]"] == addresses(doc, doc, QUESTION)


def test_the_number_of_a_grounding_is_kept() -> None:
    """The second grounding of one id has the same address in a prompt without the first."""
    second = Timeline(Grounding("doc", "a"), Grounding("doc", "b")).content[1]
    assert ['"doc"#2', '"doc"#3', "user[0]"] == addresses(second, Grounding("doc", "c"), QUESTION)


@pytest.mark.parametrize(
    ("id", "address"),
    [
        ("0195a2e1-7c3e", '"0195a2e1-7c3e"'),
        ("kb/faq.md", '"kb/faq.md"'),
        ("user[0]", '"user[0]"'),
        ('"doc"#2', '"\\"doc\\"#2"'),
        ("naïve", '"naïve"'),
        ("a\nb\x1b\u2028\u202e\ud800", '"a\\nb\\u001b\\u2028\\u202e\\ud800"'),
        ("history", '"history"'),
        ("doc.v2-final", "doc.v2-final"),
    ],
)
def test_an_id_that_is_no_name_is_a_json_string(id: str, address: str) -> None:
    """In an address an id that is no name is a JSON string on one line."""
    assert [address, "user[0]"] == addresses(Grounding(id, "a"), QUESTION)
    assert [address] == addresses(User("a", id=id))


def test_the_id_of_a_turn_or_section_stays_its_own() -> None:
    """A grounding with the id of a turn, or of a section of the system message, has a number."""
    assert ["system[0]", '"rules"#2', '"ask"#2', "ask"] == addresses(
        System(Section("rules", "a")),
        Grounding("rules", "b"),
        Grounding("ask", "c"),
        User("d", id="ask"),
    )


def test_a_turn_with_the_id_of_a_section_has_a_number() -> None:
    """The address of a section of the system message is no address of a turn."""
    assert ["system[0]", '"rules"#2'] == addresses(
        System(Section("rules", "a")), User("b", id="rules")
    )


def test_alternatives_share_an_address() -> None:
    """Of alternatives one is sent, so each has the address that the first has."""
    long, short = Grounding("doc", "long " * 100), Grounding("doc", "short")
    tree = Timeline(FirstFit(long, short), Grounding("doc", "next"), QUESTION)
    roomy, tight = render(tree, counter=len), render(tree, counter=len, budget=200)
    assert [["doc", '"doc"#2', "user[0]"]] * 2 == [
        [origin.address for origin in rendered.messages[0].sources] for rendered in (roomy, tight)
    ]
    assert ["doc"] == [part.path for part in tight.dropped]


def test_numbers_go_on_behind_the_longest_alternative() -> None:
    """A number is that of no alternative, also where the last one has fewer groundings."""
    one, two, next_one = (Grounding("doc", text) for text in ("a", "b", "c"))
    tree = Timeline(FirstFit(Fragment(one, two), Grounding("doc", "short")), next_one, QUESTION)
    assert ["doc", '"doc"#2', '"doc"#3', "user[0]"] == addresses(*tree.content)


def test_what_a_lazy_writes_is_numbered() -> None:
    """Groundings that a lazy returns have numbers of their own."""
    found = Lazy(lambda _: Fragment(Grounding("doc", "a"), Grounding("doc", "b")))
    assert ["doc", '"doc"#2', '"doc"#3', "user[0]"] == addresses(
        found, Grounding("doc", "c"), QUESTION
    )


def test_recorded_turns_are_numbered() -> None:
    """Recorded events and context may have any ids, also those of other turns."""
    recorded = [
        {"role": "event", "content": "a", "id": "x\ny"},
        {"role": "event", "content": "b", "id": "x\ny"},
        {"role": "ephemeral", "content": "c", "id": "ask"},
    ]
    assert ['"x\\ny"', '"x\\ny"#2', '"ask"#2', "ask"] == addresses(
        History(recorded), User("d", id="ask")
    )


# Where addresses are seen.


def two_documents(*, priority: float | None = None) -> Timeline:
    """Return a prompt with two groundings of one id, each with a section in it."""
    return Timeline(
        Grounding("doc", Section("head", "One.")),
        Grounding("doc", Section("head", "Two. " * 20, title="T"), priority=priority),
        QUESTION,
    )


def test_the_outline_shows_addresses() -> None:
    """The outline of a prompt, as written or as sent, shows each grounding with its address."""
    tree = two_documents()
    lines = f"{outline(tree)}\n{render(tree).outline()}".splitlines()
    assert [
        "grounding doc",
        'grounding "doc"#2',
        "grounding doc role=user",
        'grounding "doc"#2 role=user',
    ] == [line.partition("  /")[0].strip() for line in lines if "doc" in line]


def test_no_id_breaks_a_line_of_the_outline() -> None:
    """An id has no line of its own in an outline, whatever it holds."""
    ids = ["a\nb", "a\u2028b", "a\x85b", "a\rb", "a\x1b[2J"]
    outline = render(Timeline(*(Grounding(id, "x") for id in ids), QUESTION)).outline()
    quoted = ['"a\\nb"', '"a\\u2028b"', '"a\\u0085b"', '"a\\rb"', '"a\\u001b[2J"']
    shown = [line.split()[1] for line in outline.splitlines() if "grounding" in line]
    assert quoted == shown


def test_reports_show_addresses() -> None:
    """Token reports, sections and dropped parts name each grounding by its own address."""
    whole, cut = (
        render(two_documents(), counter=len),
        render(two_documents(priority=1), counter=len, budget=100),
    )
    parts = [part.path for part in whole.tokens.parts if part.what == "grounding"]
    assert ["doc", '"doc"#2'] == parts
    assert ["doc/head", '"doc"#2/head'] == [*whole.tokens.sections]
    assert ['"doc"#2'] == [part.path for part in cut.dropped]


def test_losses_show_addresses() -> None:
    """A loss in a grounding has its address, also where an id looks like a system turn."""
    picture = Image.from_url("https://example.com/a.png")
    tree = Timeline(
        Grounding("system_status", Section("a", "\x07")),
        Grounding("system_status", picture),
        QUESTION,
    )
    rendered = render(
        tree,
        provider="anthropic",
        model="claude-opus-4-5",
        transformation={"role_mapping": {"ephemeral": "developer"}},
    )
    assert ["system_status/a"] == [hint.path for hint in rendered.hints if "control" in hint.what]


# Any ids.

ids = st.text(min_size=1) | st.sampled_from(["a", "history", "user[0]", '"a"#2', "a/b", "é\n"])


@given(st.lists(ids, min_size=1, max_size=8))
@examples(100)
def test_addresses_are_unique(given_ids: list[str]) -> None:
    """Whatever ids groundings have, their addresses are different, and fit on a line."""
    found = addresses(
        System(Section("a", "b")), *(Grounding(id, "x") for id in given_ids), QUESTION
    )
    assert len(given_ids) + 2 == len({*found})
    assert [True] * len(found) == [address.isprintable() for address in found]


@given(ids)
@examples(100)
def test_an_address_tells_the_id(id: str) -> None:
    """An address that is no name is the id as JSON."""
    (address, _) = addresses(Grounding(id, "x"), QUESTION)
    assert id == (json.loads(address) if address[0] == '"' else address)


def test_a_result_that_pairing_removed_has_the_address_of_its_turn() -> None:
    """An id that is no name is a JSON string there, too."""
    prompt = Timeline(ToolMessage("c", "x", id="a b"), QUESTION)
    (part,) = render(prompt, transformation={"tool_pairing": "prune"}).dropped
    assert '"a b"' == part.path


def test_two_prompts_with_one_tree_are_equal() -> None:
    """A number is no part of what a node says, so it changes no comparison and no repr."""
    first, second = Grounding("doc", "a"), Grounding("doc", "b")
    tree = Timeline(first, second)
    assert (second, repr(second)) == (tree.content[1], repr(tree.content[1]))
