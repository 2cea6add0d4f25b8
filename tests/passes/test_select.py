"""Select: what is for another audience is left out."""

import pytest

from promptdsl import *
from tests.renders import comes_to, did_nothing, stage


def meant(audience: str) -> Timeline:
    """Return a prompt in which turns and sections are meant for an audience."""
    return Timeline(
        System("s", audience=audience),
        Section("a", "loose", audience=audience),
        Developer("d", audience=audience),
        User("u", audience=audience),
        Assistant("a", audience=audience),
        Event(UserAction("left"), audience=audience),
        Ephemeral("e", audience=audience),
        Grounding("g", "g", audience=audience),
        User("always"),
    )


@pytest.mark.parametrize(("audience", "other"), [("model", "people"), ("people", "model")])
def test_what_is_for_others_is_left_out(audience: str, other: str) -> None:
    """Every turn meant for another audience is left out, and no other turn."""
    assert Timeline(User("always")) == stage("select", meant(other), audience=audience)


@pytest.mark.parametrize("audience", ["model", "people"])
@pytest.mark.parametrize("meaning", ["all", "same"])
def test_what_is_for_us_stays(audience: str, meaning: str) -> None:
    """What is meant for all, or for this audience, stays as it was written."""
    tree = meant("all" if meaning == "all" else audience)
    assert tree == stage("select", tree, audience=audience)


def test_parts_are_left_out_one_by_one() -> None:
    """A section for people goes; what stands beside it and around it stays."""
    hidden = Section("b", "2", audience="people")
    assert [("system", "1\n\n3\n\n4")] == comes_to(System(Section("a", "1", hidden, "3"), "4"))


@pytest.mark.parametrize(
    ("audience", "expected"),
    [
        ("model", [("system", "Be brief."), ("user", "Hello.")]),
        (
            "people",
            [
                ("system", "Be brief.\n\nAgreed with legal."),
                ("user", "Hello."),
                ("developer", "Remember the demo."),
            ],
        ),
    ],
)
def test_notes(audience: str, expected: list[tuple[str, str]]) -> None:
    """A note is for people, whether it stands in a turn or among turns."""
    tree = [
        System("Be brief.", Note("Agreed with legal.")),
        User("Hello."),
        Note("Remember the demo."),
    ]
    assert expected == comes_to(*tree, audience=audience)


def test_within_fragments() -> None:
    """A fragment is looked into, among turns and inside of them."""
    tree = [
        Fragment(User("a"), Fragment(User("b", audience="people"))),
        User(Fragment("c", Section("s", "d", audience="people"))),
    ]
    assert [("user", "a", "c")] == comes_to(*tree)


def test_a_hidden_call_needs_its_result_hidden() -> None:
    """A call and its result that are both for people leave no trace for a model."""
    tree = [
        User("u"),
        Assistant(ToolUse("look_up", {}, id="a"), audience="people"),
        ToolMessage("a", "rain", audience="people"),
        User("v"),
    ]
    assert [("user", "u", "v")] == comes_to(*tree)


@pytest.mark.parametrize("audience", ["model", "people"])
def test_nothing_to_do(audience: str) -> None:
    """A tree without audiences is the same object afterwards."""
    tree = Timeline(System(Section("a", "x")), User("u"))
    assert did_nothing("select", tree, audience=audience)


def test_what_stays_is_the_same_object() -> None:
    """A turn that a selection does not touch is the same object afterwards."""
    tree = Timeline(User("u"), Note("n"))
    assert tree.content[0] is stage("select", tree, audience="model").content[0]
