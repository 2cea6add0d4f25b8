"""Overrides of components by function and full name, of sections by id, and of constants."""

import pickle
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from promptdsl import *
from tests.errors import lines_of, raised
from tests.renders import said


def tone_in(module: str, text: str) -> Any:
    """Return a component called ``tone`` of a module."""

    def tone() -> str:
        return text

    tone.__module__ = module
    return component(tone)


ours, theirs = tone_in("ours", "Be kind."), tone_in("theirs", "Be brief.")


@component
def card() -> Generator[None]:
    """Put nothing around its children."""
    yield


FOOTER = Section("footer", "Bye.", title="End")
RULES = Fragment(Section("rules", "Rules:", Section("pace", "Walk.")), Section("end", "Done."))
OPENING = User("Hello.")


def mine() -> str:
    """Return another tone."""
    return "Be wry."


@pytest.mark.parametrize(
    "by", [mine, component(name="other")(mine), component(component(mine)), Text("Be wry.")]
)
@pytest.mark.parametrize("key", [ours, "ours.tone"])
def test_one_of_two_components_of_a_name(key: Any, by: Any) -> None:
    """A component itself, or its name with its module, overrides it and no other of its name."""
    with System() as block, override({key: by}):
        ours()
        theirs()
    assert [("system", ["Be wry.\n\nBe brief."])] == said(block)


def test_a_name_overrides_all_components_of_it() -> None:
    """A name alone overrides every component that has it."""
    with System() as block, override({"tone": mine}):
        ours()
        theirs()
    assert [("system", ["Be wry.\n\nBe wry."])] == said(block)


def test_the_innermost_override_wins_whatever_its_key() -> None:
    """Of overrides by function, by full name and by name the innermost holds."""
    keys: list[Any] = [ours, "tone", "ours.tone"]
    texts: list[Any] = []
    for first in keys:
        for second in keys:
            with override({first: Text("outer")}), override({second: Text("inner")}):
                texts.append(said(System(ours())))
    assert [[("system", ["inner"])]] * 9 == texts


@pytest.mark.parametrize(
    ("outer", "inner"), [(FOOTER, "footer"), ("footer", FOOTER), ("footer", "footer")]
)
def test_the_innermost_override_of_a_section_wins(outer: Any, inner: Any) -> None:
    """Of overrides by the section itself and by its id the innermost holds."""
    with override({outer: Section("footer", "Outer.")}):
        around = System(FOOTER)
        with override({inner: Section("footer", "Inner.")}):
            inside = System(FOOTER)
    assert [["Outer."], ["Inner."]] == [said(block)[0][1] for block in (around, inside)]


def test_a_section_beside_one_that_was_written_before() -> None:
    """A section is replaced next to another one that stays, also where this one is known."""
    stays = Section("other", "Stay.")
    both = Fragment(Section("pace", "Walk."), stays)
    with override({"pace": Section("pace", "Run.")}):
        before, block = System(stays), System(both)
    assert [["Stay."], ["Run.\n\nStay."]] == [said(it)[0][1] for it in (before, block)]


def test_a_function_calls_what_it_overrides() -> None:
    """Inside the function the component is the next one around, whatever the keys."""

    def louder() -> Fragment:
        return Fragment(ours(), Text("!"))

    with override({"tone": Text("Be wry.")}), override({ours: louder}):
        assert [("system", ["Be wry.\n\n!"])] == said(System(ours()))


@pytest.mark.parametrize("written", ["arguments", "block", "included", "in a section", "in a lazy"])
def test_a_section_takes_the_place_of_a_section(written: str) -> None:
    """A section of the id is replaced wherever it is: its content, its title and its options."""
    old = Section("pace", "Walk.", title="Old")
    theme = override({"pace": Section("pace", "Run.", title="Pace", priority=1)})
    with theme, System("Hi.") as block:
        if written == "arguments":
            Section("pace", "Walk.")
        elif written == "block":
            with Section("pace", title="Old", cache=True):
                Text("Walk.")
        elif written == "included":
            include(old)
        elif written == "in a section":
            include(Section("around", old))
        else:
            Lazy(lambda _: Section("pace", "Walk."))
    heading = "###" if written == "in a section" else "##"
    assert [("system", [f"Hi.\n\n{heading} Pace\nRun."])] == said(block)
    assert "section pace 'Pace' priority=1" in render(block).outline() or written == "in a lazy"


def test_another_part_becomes_the_content_of_a_section() -> None:
    """A part that is not a section is written under the id and the title of the section."""
    with override({"footer": Text("Ciao.")}):
        system = System(FOOTER)
    assert [("system", ["## End\nCiao."])] == said(system)
    assert [("system", ["## End\nBye."])] == said(System(FOOTER))


def test_a_section_inside_a_constant() -> None:
    """A section is replaced at any depth of a part that is placed in the block, again and again."""
    with override({"pace": Text("Run.")}):
        first, second = System(RULES), Section("more", RULES)
    assert [("system", ["Rules:\n\nRun.\n\nDone."])] == said(first) == said(System(second))
    assert [("system", ["Rules:\n\nWalk.\n\nDone."])] == said(System(RULES))


@pytest.mark.parametrize(
    ("constant", "by", "expected"),
    [
        (FOOTER, Section("footer", "Ciao."), [("system", ["Ciao."])]),
        (FOOTER, Text("Ciao."), [("system", ["## End\nCiao."])]),
        (RULES, Section("none", "None."), [("system", ["None."])]),
        (OPENING, User("Moin."), [("user", ["Moin."])]),
        (OPENING, Fragment(System("S"), User("U")), [("system", ["S"]), ("user", ["U"])]),
    ],
)
def test_constants(constant: Node, by: Node, expected: list[Any]) -> None:
    """A part that a library exports is replaced where it is placed, by itself as the key."""
    with override({constant: by}), Timeline() as block:
        include(constant)
    with override({constant: by}):
        passed = Timeline(constant)
    assert (expected, expected) == (said(block), said(passed))


def test_an_equal_part_is_no_constant() -> None:
    """Another part that is equal to a constant is not replaced."""
    twin = User("Hello.")
    with override({OPENING: User("Moin.")}):
        assert [("user", ["Hello."]), ("user", ["Moin."])] == said(
            Timeline(twin, OPENING), transformation={"merge_consecutive": False}
        )


def test_a_part_leaves_components_with_children() -> None:
    """A part under the name of a component that takes children replaces sections of that id."""
    with System() as block, override({"card": Text("Two.")}), card():
        Section("card", "One.")
    assert [("system", ["Two."])] == said(block)


def test_parts_written_in_the_mapping() -> None:
    """Parts written in the mapping inside an open block are not content of that block."""
    with System() as block:
        Text("Start.")
        with override({"pace": Section("pace", "Outer."), ours: Text("Tone.")}):
            with override({"pace": Section("pace", "Inner.")}):
                Section("pace", "Walk.")
            ours()
            include(Section("around", Section("pace", "Walk.")))
    assert [("system", ["Start.\n\nInner.\n\nTone.\n\nOuter."])] == said(block)


PARTING = Text("Bye.")


@pytest.mark.parametrize("by", [Section("pace", PARTING), Fragment(Section("pace", PARTING))])
def test_what_takes_a_place_is_used_as_it_is(by: Node) -> None:
    """Nothing in a stand-in is replaced, however deep it is and whichever way it is written."""
    with override({"pace": by, PARTING: Text("Ciao.")}):
        with System() as block, Section("rules"):
            Section("pace", "Walk.")
        parts = System(Section("rules", Section("pace", "Walk.")), PARTING)
    assert [("system", ["Bye."]), ("system", ["Bye.\n\nCiao."])] == said(block) + said(parts)


def test_the_outline_names_the_override() -> None:
    """The outline says what is overridden, by which kind of part, and on which line."""
    with override({"footer": Text("Ciao."), ours: Text("Be wry."), OPENING: User("Moin.")}):
        tree = Timeline(System(FOOTER, ours()), OPENING)
    rows = [row.split("  /")[0].rstrip() for row in render(tree).outline().splitlines()]
    assert [
        "system",
        "  section footer 'End'",
        "    footer (overridden by Text)",
        "      text",
        '        5 characters "Ciao."',
        "  tone (overridden by Text)",
        "    text",
        '      7 characters "Be wry."',
        "user by=user (overridden by User)",
        "  5 characters",
    ] == rows


@pytest.mark.parametrize(
    ("key", "by", "what", "fix"),
    [
        (
            "zzz",
            Text("Run."),
            "this override() replaced nothing: no Section 'zzz' was written in its block",
            "write an id that outline() shows, or override a component by its function",
        ),
        (
            OPENING,
            Text("Run."),
            "this override() replaced nothing: no User was written in its block",
            "write an id that outline() shows, or override a component by its function",
        ),
        (
            OPENING,
            mine,
            "a User cannot be overridden by function",
            "write a part, such as Text(...)",
        ),
        (
            card,
            Text("x"),
            "card takes children, which a part cannot hold",
            "replace it by a function that yields",
        ),
        (
            mine,
            mine,
            "mine is not a component, a name or a part",
            "write @component before its function",
        ),
        (
            Section,
            mine,
            "Section is not a component, a name or a part",
            "override a function with @component, the id of a Section, or a part",
        ),
        (
            3,
            Text("x"),
            "int is not a component, a name or a part",
            "override a function with @component, the id of a Section, or a part",
        ),
    ],
)
def test_wrong_overrides(key: Any, by: Any, what: str, fix: str) -> None:
    """What cannot be overridden, or was not there, is an error at the author's line."""

    def write() -> None:
        with override({key: by}):
            System("x")

    error = raised(OptionError, write)
    assert (what, fix, lines_of(write, 1)) == (error.what, error.fix, error.at)


def test_a_block_that_raised_keeps_its_error() -> None:
    """The exception of the block goes on, whether its override replaced anything or not."""
    with pytest.raises(KeyError), override({"pase": Text("x")}):
        raise KeyError


def test_an_override_of_sections_can_be_used_again() -> None:
    """One override serves several blocks and threads; each has to use it."""
    theme = override({"pace": Text("Run.")})

    def write(_: int) -> list[Any]:
        with theme:
            return said(System(Section("pace", "Walk.")))

    with ThreadPoolExecutor(4) as pool:
        assert [[("system", ["Run."])]] * 20 == [*pool.map(write, range(20))]


def test_replaced_sections_are_compared_and_saved() -> None:
    """A replaced section is frozen, equal to another of its kind, and survives pickling."""
    with override({"pace": Text("Run.")}):
        one, two = System(Section("pace", "Walk.")), System(Section("pace", "Stroll."))
    assert one == two == pickle.loads(pickle.dumps(one))
    assert [("system", ["Run."])] == said(pickle.loads(pickle.dumps(one)))


@pytest.mark.parametrize("key", ["footer", FOOTER])
def test_a_replacement_that_holds_what_it_replaces(key: Any) -> None:
    """What replaces a part may hold it; placed again in the block, it stays unchanged."""
    with override({key: Section("footer", "Well.", FOOTER)}):
        system = System(FOOTER)
        assert [("system", ["Well.\n\n### End\nBye."])] == said(system) == said(Fragment(system))


PICTURE = Image.from_url("https://example.com/a.png")
WORD = Text("Hm.")


@pytest.mark.parametrize(
    ("key", "by", "holder", "what"),
    [
        ("pace", User("x"), RULES, "a User cannot be in a Section"),
        ("pace", Timeline(User("x")), RULES, "a Timeline cannot be in a Section"),
        ("pace", Event(UserAction("x")), RULES, "an Event cannot be in a Section"),
        ("pace", UserAction("x"), RULES, "a UserAction cannot be in a Section"),
        ("pace", Reasoning("x"), RULES, "a Reasoning cannot be in a Section"),
        ("pace", Fragment(Item("x")), RULES, "an Item cannot be in a Section"),
        (WORD, PICTURE, List(Item(WORD)), "an Image cannot be in an Item"),
        (WORD, Group("x"), Limit(9, WORD), "a Group cannot be in a Limit"),
        (WORD, User("x"), Section("s", WORD), "a User cannot be in a Section"),
        (WORD, User("x"), WORD, "a User cannot be in a User"),
    ],
)
def test_what_replaces_a_part_is_checked_for_its_place(
    key: Any, by: Node, holder: Node, what: str
) -> None:
    """A part that may not be written somewhere cannot come there by an override either."""
    with override({key: by}), pytest.raises(PlacementError, match=f": {what}\n"):
        User(holder)


def test_what_a_lazy_writes_under_an_override_is_checked() -> None:
    """The function of a Lazy is called with the overrides around it, checked as anywhere."""
    with override({"pace": User("x")}):
        system = System(Lazy(lambda _: Section("pace", "Walk.")))
    with pytest.raises(PlacementError, match=": a User cannot be in a Section\n"):
        render(system)


def test_sections_very_deep() -> None:
    """Sections inside each other, written as arguments, are searched once each."""
    with override({"pace": Text("Run.")}):
        part: Node = Section("pace", "Walk.")
        for _ in range(3_000):
            part = Section("s", part)
        with System() as block:
            include(part)
    assert [("system", ["Run."])] == said(block)


def test_a_component_keeps_its_module() -> None:
    """The full name of a component is that of the module of its function."""
    assert ("ours", "theirs") == (vars(ours)["__module__"], vars(theirs)["__module__"])
