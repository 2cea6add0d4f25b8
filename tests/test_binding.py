"""What changes may not stand before reasoning that is bound to the bytes before it."""

from collections.abc import Callable

import pytest

from promptdsl import *

BOUND = "claude-opus-5-5"


def clock() -> Volatile:
    """Return what differs from one rendering to the next."""
    return Volatile("12:00", label="clock")


def later() -> Lazy:
    """Return what is written at render time."""
    return Lazy(lambda _: "Now.")


BEFORE: dict[str, Callable[[Node], tuple[Node, ...]]] = {
    "system": lambda part: (System("It is ", part), User("a")),
    "section": lambda part: (Section("s", part), User("a")),
    "system behind": lambda part: (User("a"), System(part)),
    "in a fragment": lambda part: (Fragment(Group(System(part))), User("a")),
    "deep": lambda part: (System(Section("s", Section("t", part))), User("a")),
    "the user's own turn": lambda part: (User("a", part),),
    "an earlier turn": lambda part: (User(part), Assistant("b"), User("c")),
    "before a history": lambda part: (User(part), History([])),
    "grounding": lambda part: (Grounding("g", part), User("a")),
    "at the start": lambda part: (User("a"), Ephemeral(part, position="start")),
    "in the flow": lambda part: (Ephemeral(part), User("a")),
    "before an answer": lambda part: (User("a"), Developer(part), Assistant("b")),
    "before a later answer": lambda part: (
        User("a"),
        Assistant(ToolUse("t", {}, id="i")),
        ToolMessage("i", part),
        Assistant("b"),
    ),
}
BEHIND: dict[str, Callable[[Node], tuple[Node, ...]]] = {
    "at the end": lambda part: (Ephemeral(part, position="end"), User("a")),
    "grounding at the end": lambda part: (Grounding("g", part, position="end"), User("a")),
    "flow, behind": lambda part: (User("a"), Ephemeral(part)),
    "a result": lambda part: (
        User("a"),
        Assistant(ToolUse("t", {}, id="i")),
        ToolMessage("i", part),
    ),
}
parts = pytest.mark.parametrize("part", [clock, later])


@parts
@pytest.mark.parametrize("place", BEFORE)
def test_before_bound_reasoning(place: str, part: Callable[[], Node]) -> None:
    """What changes before the last turn of a user is refused, also while there is no reasoning."""
    tree = Timeline(*BEFORE[place](part()))
    with pytest.raises(PlacementError, match="bound to the exact bytes") as caught:
        render(tree, model=BOUND)
    assert __file__ in caught.value.at[0]


def test_a_title_before_bound_reasoning() -> None:
    """The title of a section is seen, too, though it is no part of its content."""
    tree = Timeline(System(Section("s", "a", title=clock())), User("b"))
    with pytest.raises(PlacementError, match="but a Volatile before it"):
        render(tree, model=BOUND)


@pytest.mark.parametrize(
    "part",
    [
        Event(UserAction("saw", target=clock())),
        Event(UserAction("saw", order={"at": [clock()]})),
        Grounding("g", "a", title=clock()),
        Ephemeral("a", type=clock()),
        System(Table([["a", clock()]])),
        System(Untrusted("a", source=clock())),
        System(Template.from_string("{{ a[0].b }}", a=[{"b": clock()}])),
    ],
)
def test_data_before_bound_reasoning(part: Node) -> None:
    """So is a volatile value in the data of a part."""
    with pytest.raises(PlacementError, match="but a Volatile before it"):
        render(Timeline(part, User("b")), model=BOUND)


@parts
@pytest.mark.parametrize("place", BEHIND)
def test_behind_bound_reasoning(place: str, part: Callable[[], Node]) -> None:
    """What changes behind it is sent."""
    assert render(Timeline(*BEHIND[place](part())), model=BOUND).payload()


@parts
@pytest.mark.parametrize("place", BEFORE)
@pytest.mark.parametrize(
    "target", [{"model": "claude-opus-4-5"}, {"model": "gpt-5"}, {"provider": "anthropic"}, {}]
)
def test_elsewhere(place: str, part: Callable[[], Node], target: dict[str, str]) -> None:
    """Where nothing is known to be bound, everything may change."""
    assert render(Timeline(*BEFORE[place](part())), **target).messages  # type: ignore[arg-type]


def test_another_audience() -> None:
    """What the model does not read binds nothing."""
    tree = Timeline(Section("s", clock(), audience="people"), User("a"))
    assert render(tree, model=BOUND).payload()


def test_what_may_be_anything() -> None:
    """What a lazy part beside the turns comes to may stand anywhere, so it is refused."""
    tree = Timeline(User("a"), Lazy(lambda _: Section("s", "x")))
    with pytest.raises(PlacementError, match="but a Lazy before it"):
        render(tree, model=BOUND)
