"""Hints about what an author wrote: an empty block, and sentences without a space between them."""

import asyncio
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from promptdsl.cli import main
from tests.errors import lines_of
from tests.renders import comes_to, losses_of, reported
from tests.searching import examples
from tests.template_strings import Interpolation, template

BODY = (
    "nothing was written in it; write strings as Text(...), parts as include(part), call "
    "functions, decorate generators with @component, and return parts from threads"
)
FUNCTION = (
    "nothing was written in it; write Text(...) or include(part) in its function, or return a part"
)
TURNS = "nothing was written in it; write its turns in it, such as System(...) and User(...)"

Told = list[tuple[str, str, str, str]]
Block = Callable[[], AbstractContextManager[Any]]


def told(tree: Node, **request: Any) -> Told:
    """Return the losses of a render: kind, subject, reason and line."""
    hints = render(tree, **request).hints
    return [(loss.kind, loss.what, loss.why, str(loss.source)) for loss in hints]


@component
def rules() -> None:
    """Write a rule."""
    Text("Be kind.")


@component
def silent() -> None:
    """Write nothing."""


@component
def card(title: str) -> Generator[None]:
    """Write a section around its children."""
    with Section("card", title=title):
        yield


@component
def headed(head: str) -> Generator[None]:
    """Write a text before its children."""
    Text(head)
    yield


def kind() -> str:
    """Return a text that nobody writes."""
    return "Be kind."


def yielding() -> Generator[None]:
    """Write a section, if only it were a component."""
    with Section("c"):
        yield


PART = Section("part", "Be kind.")


def a_bare_string() -> Node:
    """Write a string as a statement."""
    with System() as system:
        "Be kind."
    return system


def a_part_that_is_named() -> Node:
    """Name a finished part."""
    with System() as system:
        PART  # noqa: B018 # pyright: ignore[reportUnusedExpression]
    return system


def a_component_that_is_not_called() -> Node:
    """Name a component."""
    with System() as system:
        rules  # noqa: B018 # pyright: ignore[reportUnusedExpression]
    return system


def a_generator_that_is_no_component() -> Node:
    """Call a generator function, which then never runs."""
    with System() as system:
        yielding()
    return system


def work_in_a_thread() -> Node:
    """Write in threads, where no block is open."""
    with System() as system, ThreadPoolExecutor() as pool:
        list(pool.map(Text, ["Be kind.", "Be brief."]))
    return system


def a_map_that_is_never_read() -> Node:
    """Make an iterator, and leave it."""
    with System() as system:
        map(Text, ["Be kind.", "Be brief."])
    return system


def a_string_that_is_returned() -> Node:
    """Call a function that returns a text."""
    with System() as system:
        kind()
    return system


def a_part_that_is_returned() -> Node:
    """Call a function that returns a part, and write it nowhere."""
    with System() as system, detached():
        Section("part", "Be kind.")
    return system


def a_loop_over_nothing() -> Node:
    """Write a text for each of no entries."""
    with System() as system:
        for entry in list[str]():
            Text(entry)
    return system


@pytest.mark.parametrize(
    "write",
    [
        a_bare_string,
        a_part_that_is_named,
        a_component_that_is_not_called,
        a_generator_that_is_no_component,
        work_in_a_thread,
        a_map_that_is_never_read,
        a_string_that_is_returned,
        a_part_that_is_returned,
        a_loop_over_nothing,
    ],
)
@pytest.mark.parametrize("request_", [{}, {"model": "gpt-5"}, {"model": "gpt-5", "strict": True}])
def test_a_block_in_which_nothing_is_written_is_a_hint(
    write: Callable[[], Node], request_: Any
) -> None:
    """What looks like writing and is not leaves an empty block, and its line is told."""
    (line,) = lines_of(write, 2)
    prompt = Timeline(write(), User("q"))
    assert [("hint", "an empty System", BODY, line)] == told(prompt, **request_)


@pytest.mark.parametrize(
    ("block", "what"),
    [
        (System, "an empty System"),
        (Developer, "an empty Developer"),
        (User, "an empty User"),
        (Assistant, "an empty Assistant"),
        (Event, "an empty Event"),
        (lambda: Turn("event"), "an empty Event"),
        (Ephemeral, "an empty Ephemeral"),
        (lambda: Ephemeral(title="Now"), "an empty Ephemeral"),
        (lambda: Grounding("page"), "an empty Grounding 'page'"),
        (lambda: Grounding("page", title="Page"), "an empty Grounding 'page'"),
        (lambda: Section("rules"), "an empty Section 'rules'"),
        (lambda: Section("rules", title="Rules"), "an empty Section 'rules'"),
        (lambda: System(priority=1, audience="model"), "an empty System"),
        (Fragment, "an empty Fragment"),
        (Group, "an empty Group"),
        (FirstFit, "an empty FirstFit"),
        (lambda: Format("xml"), "an empty Format"),
        (lambda: card("Rules"), "an empty block of card"),
    ],
)
def test_every_block_of_a_timeline_tells_that_it_is_empty(block: Block, what: str) -> None:
    """Whatever stands in a timeline says nothing when it is empty, and is told."""
    with Timeline() as prompt:
        User("q")
        with block():
            pass
    assert [("user", "q")] == [(message.role, message.text) for message in render(prompt).messages]
    assert [("hint", what)] == [loss[:2] for loss in told(prompt)]


@pytest.mark.parametrize(
    ("block", "what"),
    [
        (List, "an empty List"),
        (Checklist, "an empty Checklist"),
        (Quote, "an empty Quote"),
        (lambda: Limit(9), "an empty Limit"),
        (lambda: Section("rules", title="Rules"), "an empty Section 'rules'"),
        (lambda: card("Rules"), "an empty block of card"),
    ],
)
def test_every_block_of_a_turn_tells_that_it_is_empty(block: Block, what: str) -> None:
    """A part of a turn is told with its own name, the turn around it is not empty."""
    with User() as turn, block():
        pass
    assert [("hint", what)] == losses_of(turn)


def test_an_item_and_a_result_tell_that_they_are_empty() -> None:
    """Nothing was written where an item and the answers of two tools should be."""
    with Timeline() as prompt:
        with User(), List(), Item():
            pass
        with Assistant():
            ToolUse("a", {}, id="1")
            ToolUse("b", {}, id="2")
        with ToolMessage("1"):
            pass
        with User(), ToolResult("2"):
            pass
    whats = ["an empty Item", "an empty ToolMessage", "an empty ToolResult"]
    assert whats == [what for _, what, _, _ in told(prompt)]


def test_a_timeline_in_which_nothing_is_written_is_a_hint() -> None:
    """An empty prompt says what belongs into it, with and without a target."""

    def write() -> Node:
        with Timeline() as prompt:
            pass
        return prompt

    hint = ("hint", "an empty Timeline", TURNS, *lines_of(write, 1))
    need = "nothing is asked; write User(...) in the Timeline"
    for_target = ("hint", "no conversation turn", need, *lines_of(write, 1))
    assert ([hint], [hint, for_target]) == (told(write()), told(write(), model="gpt-5"))


def test_a_component_whose_function_writes_nothing_is_a_hint() -> None:
    """The line is that of the call."""

    def write() -> Node:
        with System() as system:
            silent()
        return system

    assert [("hint", "an empty silent", FUNCTION, *lines_of(write, 2))] == told(write())


def test_an_empty_section_that_is_overridden_is_its_replacement() -> None:
    """A section that a library leaves empty for its users is replaced, and not told."""
    with override({"rules": Section("rules", "Be kind.")}), System() as system, Section("rules"):
        pass
    assert ([("system", "Be kind.")], []) == (comes_to(system), losses_of(system))


@pytest.mark.parametrize("returned", [False, ""])
def test_a_component_that_returns_nothing_on_purpose_is_none(returned: object) -> None:
    """``False`` and an empty string are content that is nothing, as in an argument."""

    @component
    def off() -> object:
        return returned

    assert [] == losses_of(System("Be kind.", off()))


@pytest.mark.parametrize("written", [card, headed])
def test_a_component_without_children_is_a_hint_at_the_block(
    written: Callable[[str], AbstractContextManager[Any]],
) -> None:
    """The one who opened the block is told, not the author of the function."""

    def write() -> Node:
        with System() as system, written("Rules"):
            pass
        return system

    what = f"an empty block of {written.__name__}"
    assert [("hint", what, BODY, *lines_of(write, 1))] == told(write())


def test_a_component_with_children_is_none() -> None:
    """A child in its block is enough, whatever the function writes around it."""
    with System() as system:
        with card("Rules"):
            Text("Be kind.")
        with headed("Read:"):
            include(PART)
    assert [] == losses_of(system)


@pytest.mark.parametrize(
    "block",
    [
        lambda: System(None),
        lambda: System(False),
        lambda: System(""),
        lambda: User(None, ""),
        lambda: Section("rules", None),
        lambda: Fragment(None),
        lambda: Group(False),
        lambda: FirstFit(None),
        lambda: Event(False),
    ],
)
def test_nothing_is_an_argument(block: Block) -> None:
    """A flag that is off and an empty text are written on purpose, opened as a block or not."""
    with Timeline() as opened, block():
        pass
    written = Timeline(block())  # type: ignore[arg-type]
    assert ([], []) == (told(opened), told(written))


@pytest.mark.parametrize(
    "part",
    [
        lambda: Text(""),
        lambda: List(None),
        lambda: Table([]),
        lambda: Template.from_string(""),
        lambda: Lazy(lambda _: None),
        lambda: Note("for people"),
        lambda: Section("people", "for people", audience="people"),
    ],
)
def test_a_child_that_comes_to_nothing_is_a_child(part: Callable[[], Node]) -> None:
    """A block with a child was not left empty, whatever becomes of the child."""
    with System() as system:
        part()
    assert [] == losses_of(system)


def test_what_is_for_others_is_no_hint() -> None:
    """An empty block that only people see is told to them alone."""
    with System(audience="people") as system:
        pass
    told_to = {who: told(system, audience=who) for who in ("model", "people")}
    assert ([], 1) == (told_to["model"], len(told_to["people"]))


@pytest.mark.parametrize(
    "write",
    [
        lambda: Section("rules", Note("for people"), title="Rules"),
        lambda: Section("rules", Section("s", "x", audience="people"), title="Rules"),
        lambda: Grounding("rules", Note("for people"), title="Rules"),
        lambda: Ephemeral(Section("s", "x", audience="people"), title="Rules"),
    ],
)
def test_a_title_whose_content_an_audience_took_is_no_hint(write: Callable[[], Node]) -> None:
    """It is left out with the last part that was for people."""
    tree = Timeline(write(), User("q"))
    assert ([("user", "q")], []) == (comes_to(*tree.content), told(tree))


def test_a_title_whose_content_a_budget_took_is_no_hint() -> None:
    """It is left out with the part that was dropped, which the report lists."""
    part = Section("rules", Section("long", "word " * 1_000, priority=1), title="Rules")
    rendered = render(Timeline(System(part), User("q")), model="gpt-5", budget=100)
    assert (["q"], ()) == ([message.text for message in rendered.messages], reported(rendered))


@pytest.mark.parametrize(
    "part",
    [
        lambda: Text(""),
        lambda: Template.from_string(""),
        lambda: Lazy(lambda _: ""),
        lambda: List(None),
        lambda: None,
    ],
)
def test_a_title_with_nothing_below_is_a_hint(part: Callable[[], Any]) -> None:
    """A titled section that comes to nothing is told, though something was written in it."""
    section = Section("rules", part(), title="Rules")
    assert [("hint", "section rules")] == losses_of(System(section))


def test_a_line_is_told_once() -> None:
    """A loop that leaves many blocks empty is one mistake."""

    def write() -> Node:
        with System() as system:
            for name in ("a", "b", "c"):
                with Section(name, title=name):
                    pass
            for name in ("d", "e", "f"):
                Section(name, "", title=name)
        return system

    first, second = lines_of(write, 3, 6)
    assert [
        ("hint", "an empty Section 'a'", BODY, first),
        ("hint", "section d", "it has a title but no content", second),
    ] == told(write())


def test_an_empty_block_in_what_a_lazy_returns_is_a_hint() -> None:
    """A lazy writes under its own roof, and its blocks are told like any other."""

    def facts(_: object) -> Node:
        with Section("facts") as section:
            pass
        return section

    hint = ("hint", "an empty Section 'facts'", BODY, *lines_of(facts, 1))
    assert [hint] == told(System("Be kind.", Lazy(facts)))


def test_a_lazy_that_writes_and_returns_nothing_is_a_hint() -> None:
    """No block is open in its function, so what it writes there is nowhere."""

    def write(part: object) -> Node:
        return System("Be kind.", Lazy(lambda _: part if part else rules() and None))

    async def later(_: object) -> None:
        await asyncio.sleep(0)
        Text("Be brief.")

    why = "its function wrote parts and returned none; return the part, or a Fragment of them"
    hint = ("hint", "an empty Lazy", why)
    tree = System("Be kind.", Lazy(later))
    awaited = asyncio.run(arender(tree, model="gpt-5")).hints
    assert [(*hint, *lines_of(write, 1))] == told(write(None))
    assert [hint] == [(loss.kind, loss.what, loss.why) for loss in awaited]
    assert ([], []) == (told(write("x")), told(System("Be kind.", Lazy(lambda _: None))))


def test_an_empty_part_is_told_in_every_prompt_that_holds_it() -> None:
    """A shared part is told at its one line, in each render."""
    with Section("rules") as part:
        pass
    prompts = [Timeline(System("a", part), Developer("b", part)) for _ in range(2)]
    assert [1, 1] == [len(told(prompt)) for prompt in prompts]


SPACE = "the strings of one call are one text; write the space, or Text(...) for each"


CALLS: list[Callable[[str, str], Node]] = [
    System,
    Developer,
    User,
    Event,
    Ephemeral,
    lambda first, second: User(Text("a"), first, second, Text("b")),
    lambda first, second: Grounding("page", first, second),
    lambda first, second: Section("rules", first, second, title="Rules"),
    lambda first, second: System(Text(first, second)),
    lambda first, second: User(Paragraph(first, second)),
    lambda first, second: System(List(Item(first, second))),
    lambda first, second: System(Quote(first, second)),
    lambda first, second: System(Fragment(first, second)),
    lambda first, second: System(Limit(99, first, second)),
    lambda first, second: System(Lazy(lambda _: Text(first, second))),
]


@pytest.mark.parametrize("write", CALLS)
def test_sentences_that_touch_are_a_hint(write: Callable[[str, str], Node]) -> None:
    """The strings of one call are one text; a space that was forgotten between them is told."""
    hint = ("hint", "no space between 'kind.' and 'Be'", SPACE)
    tree = write("Be kind.", "Be brief.")
    assert [hint] == [loss[:3] for loss in told(Timeline(User("q"), tree))]
    assert not told(Timeline(User("q"), write("Be kind. ", "Be brief.")))


def test_the_hint_of_sentences_names_the_line_of_the_call() -> None:
    """Each line is told once, in each render, whatever the target."""

    def write() -> Node:
        with System() as system:
            for name in ("a", "b"):
                Section(name, "Be kind.", "Be brief.", "Be fast.")
            Text("Why? ", "Because!", "That is why.")
        return system

    first, second = lines_of(write, 3, 4)
    hints = [
        ("hint", "no space between 'kind.' and 'Be'", SPACE, first),
        ("hint", "no space between 'Because!' and 'That'", SPACE, second),
    ]
    tree = Timeline(write(), User("q"))
    assert [hints] * 3 == [
        told(tree),
        told(tree, model="gpt-5"),
        told(tree, model="claude-opus-5-5"),
    ]


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        (("Be kind!", "Stop."), "no space between 'kind!' and 'Stop.'"),
        (("The rules:", "Be kind."), "no space between 'rules:' and 'Be'"),
        (("See page 3.", "Then go on."), "no space between '3.' and 'Then'"),
        (("**Be kind.**", "Be brief."), "no space between 'kind.**' and 'Be'"),
        (("(Be kind.)", "Be brief."), "no space between 'kind.)' and 'Be'"),
        (("Well…", "Be brief."), "no space between 'Well…' and 'Be'"),
        (("Добрый день.", "Будь краток."), "no space between 'день.' and 'Будь'"),
        (("안녕하세요.", "반갑습니다 여러분"), "no space between '안녕하세요.' and '반갑습니다'"),
        (("Be kind.", Value("Be brief.")), "no space between 'kind.' and a Value"),
        ((Value("Be kind."), "Be brief."), "no space between a Value and 'Be'"),
        (("Be kind.", 3, "a.", "Be brief."), None),
        (("Be kind. ", "Be brief."), None),
        (("Be kind.", " Be brief."), None),
        (("Be kind.", "\nBe brief."), None),
        (("Be kind.", "be brief."), None),
        (("Be kind", "Be brief."), None),
        (("Be kind.", ""), None),
        (("", "Be kind."), None),
        (("v1.", "2 is out."), None),
        (("See https://example.org/a.", "HTML is fine."), None),
        (("Write to ann@example.", "Org is a domain."), None),
        (("The U.S.", "Army is large."), None),
        (("J.", "Smith is here."), None),
        (("collections.", "Counter"), None),
        (("collections", ".", "Counter is a class."), None),
        (("sha256:", "ABCDEF"), None),
        (("C:", "Users and documents"), None),
        (("请保持友好。", "请简短。"), None),
        ((Text("Be kind."), Text("Be brief.")), None),
        (("Be kind.", Text("Be brief.")), None),
    ],
)
def test_sentences_that_touch_are_told_from_names_and_numbers(parts: Any, what: str | None) -> None:
    """A word and a mark, then a letter that is not small and more than a word: nothing else."""
    assert ([] if what is None else [("hint", what)]) == losses_of(User(*parts))


@pytest.mark.parametrize("write", [Text, Code, Heading, Paragraph, FirstFit])
def test_what_is_written_in_one_string_is_no_hint(write: Callable[[Any], Node]) -> None:
    """Within one string or one t-string the author sees what stands beside what."""
    parts = "Be kind.Be brief.", template("Be kind.", Interpolation("Be brief."), "")
    told_of = [losses_of(User(write(part)), User(part)) for part in parts]
    assert [[], []] == told_of


def test_a_t_string_beside_a_string_is_checked_like_one() -> None:
    """The seam is between two arguments, whatever they are."""
    beside = template("Be brief, ", Interpolation("Ann"), ".")
    assert [("hint", "no space between 'kind.' and 'Be'")] == losses_of(User("Be kind.", beside))


def in_parts(*parts: str) -> Node:
    """Write strings into parts of a text."""
    return System(Section("a", *parts), Quote(*parts), List(Item(*parts)))


SENTENCES = st.lists(
    st.sampled_from(["Be kind.", "Be brief. ", "\n  So: ", "say", "", "Stop!", "</a>", "a.\n  b"]),
    min_size=1,
)


@examples(200)
@given(SENTENCES)
def test_a_hint_changes_no_text(parts: list[str]) -> None:
    """Whatever strings a call has, its text is that of the strings put together."""
    writes: list[Callable[..., Node]] = [System, in_parts, User, Event]
    apart = [comes_to(write("x", *parts)) for write in writes]
    assert [comes_to(write("".join(["x", *parts]))) for write in writes] == apart


def test_the_notice_on_untrusted_text_stands_apart() -> None:
    """It is a string, and yet no part of the text beside it."""
    written = System("Cite ids.", UNTRUSTED_NOTICE, "Be ", Value("kind"), ".")
    expected = f"Cite ids.\n\n{UNTRUSTED_NOTICE}\n\nBe kind."
    assert ([("system", expected)], []) == (comes_to(written), losses_of(written))
    assert [("user", "a", UNTRUSTED_NOTICE, "b")] == comes_to(User("a", UNTRUSTED_NOTICE, "b"))


def test_the_notice_is_a_string() -> None:
    """In one text, in an f-string and in a title it is what a string would be."""
    alone = f"{UNTRUSTED_NOTICE} Be kind."
    trees = [
        System(Text(UNTRUSTED_NOTICE, " Be kind.")),
        System(UNTRUSTED_NOTICE + " Be kind."),
        System(alone),
    ]
    assert [[("system", alone)]] * 3 == [comes_to(tree) for tree in trees]


def test_the_hints_are_in_document_order() -> None:
    """The first empty block in the prompt is the first that is told."""
    with Timeline() as prompt:
        with User():
            pass
        with Assistant():
            with List():
                pass
            with Quote():
                pass
        with Event():
            pass
    whats = ["an empty User", "an empty List", "an empty Quote", "an empty Event"]
    assert whats == [what for _, what, _, _ in told(prompt)]


Entries = list[Any]
"""What is written in a block: ``"text"``, or the entries of a section."""


def write_all(entries: Entries) -> None:
    """Write a text or a section for each entry."""
    for index, entry in enumerate(entries):
        if entry == "text":
            Text("x")
        else:
            with Section(f"s{index}"):
                write_all(entry)


@examples(200)
@given(st.recursive(st.just("text"), lambda inner: st.lists(inner, max_size=3)))
def test_there_is_a_hint_if_and_only_if_a_block_is_empty(entry: Any) -> None:
    """An empty block is told at any depth, and a block with anything in it never."""
    with System("Be kind.") as system:
        write_all([entry])
    assert ("[]" in repr(entry)) is bool(losses_of(system))


def test_the_command_shows_the_hint(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is a note of ``promptdsl render``."""
    (tmp_path / "prompt.py").write_text(
        "from promptdsl import System, Timeline, User\n"
        "with Timeline() as prompt:\n"
        "    with System():\n"
        "        'Be kind.'\n"
        "    User('q')\n"
    )
    monkeypatch.chdir(tmp_path)
    main(["render", "prompt.py:prompt"])
    assert f"hint: an empty System: {BODY}: prompt.py:3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "given", "is_told"),
    [
        ("You help them.", {"name": "Ann"}, True),
        ("You help <name>.\n", {"name": "Ann"}, True),
        ("You help {{ name }}.", {"name": "Ann"}, False),
        ("You help.{% if vip %} Now.{% endif %}", {"vip": False}, False),
        ("You help {name}.", {}, False),
        ("", {"name": "Ann"}, False),
    ],
)
def test_variables_that_a_text_does_not_take(
    text: str, given: Mapping[str, object], is_told: bool
) -> None:
    """A text that is no template of Jinja, and was given variables, is a hint with its line."""
    hints = [what for _, what, _, _ in told(Timeline(System(Template.from_string(text, given))))]
    what = f"the template {text.strip()!r}"
    assert hints == ([what] if is_told else [])


TAKES: dict[str, tuple[str, list[str]]] = {
    "one of two": ("Hi {{ name }}.", ["plan"]),
    "the other is marked in another way": ("{{ name }}: {plan}", ["plan"]),
    "one of three": ("{{ name }}{{ more }}", ["plan"]),
    "in a comment": ("{{ name }}{# {{ plan }} #}", ["plan"]),
    "as text": ("{{ name }}{% raw %}{{ plan }}{% endraw %}", ["plan"]),
    "an attribute of that name": ("{% if name.plan is defined %}!{% endif %}", ["plan"]),
    "all": ("{{ name }} {{ plan }}", []),
    "in a branch that is not taken": ("{{ name }}{% if false %}{{ plan }}{% endif %}", []),
    "in a condition": ("{{ name }}{% if plan == 'pro' %}!{% endif %}", []),
    "in a macro": ("{% macro m() %}{{ plan }}{% endmacro %}{{ name }}", []),
    "in another template": ("{{ name }}{% include 'rules.md' %}", []),
    "with the variables": ("{{ name }}{% import 'rules.md' as r with context %}", []),
    "without the variables": ("{{ name }}{% import 'rules.md' as r %}", ["plan"]),
}
"""Templates that are given variables, and the names of those they do not use."""


@pytest.mark.parametrize(("text", "unused"), TAKES.values(), ids=TAKES)
@pytest.mark.parametrize("kind", ["text", "mapping", "name", "path"])
def test_variables_that_a_template_does_not_name(
    text: str, unused: list[str], kind: str, tmp_path: Path
) -> None:
    """A variable that no branch of a template can use is a hint with its line.

    One of a mapping may be for other templates, unless the text marks it in another way.
    """
    (tmp_path / "rules.md").write_text("Be kind.")
    (tmp_path / "main.md").write_text(text)
    given = {"name": "Ann", "plan": "free", **({"more": 1} if "more" in text else {})}
    with register_templates(tmp_path):
        write: dict[str, Callable[[], Node]] = {
            "text": lambda: Template.from_string(text, **given),
            "mapping": lambda: Template.from_string(text, given),
            "name": lambda: Template("main.md", **given),
            "path": lambda: Template(tmp_path / "main.md", **given),
        }
        rendered = render(System(write[kind]()))
    if kind == "mapping":
        unused = [name for name in unused if f"{{{name}}}" in text.replace(f"{{{{ {name} }}}}", "")]
    line = lines_of(write[kind], 0)
    why = "its template does not use it; write {{{{ {} }}}} where it goes, or leave it out"
    hints = [("hint", f"the variable {name!r}", why.format(name), *line) for name in unused]
    assert hints == [(hint.kind, hint.what, hint.why, str(hint.source)) for hint in rendered.hints]


def test_a_mapping_is_for_all_templates_that_get_its_keys() -> None:
    """What one of them does not name is for others, also where it names nothing."""
    given = {"name": "Ann", "plan": "free"}
    two = [Template.from_string(text, given) for text in ("Hi {{ name }}.", "{{ plan }}")]
    most = Template.from_string("Hi {{ name }}.", {**given, "tone": "kind"})
    fixed = Template.from_string("Fixed.", given)
    assert [] == losses_of(System(*two, fixed), User(most))


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("{{ name }}: $plan.", True),
        ("{{ name }}: ${plan}", True),
        ("{{ name }}: %(plan)s", True),
        ("{{ name }}: $planet, %(plan)d", False),
        ("{{ name }}: $ plan", False),
    ],
)
def test_marks_of_other_template_languages(text: str, is_told: bool) -> None:
    """A whole word that is marked as Python or a shell marks variables is told."""
    given = {"name": "Ann", "plan": "free", "a.(b": 1}
    hints = [what for _, what, _, _ in told(System(Template.from_string(text, given)))]
    assert hints == (["the variable 'plan'"] if is_told else [])


def test_a_mapping_is_also_for_a_template_that_is_left_out() -> None:
    """What a template for people would use is not known, so nothing of its mapping is told."""
    given = {"name": "Ann", "plan": "free", "tone": "kind"}
    people = Note(Template.from_string("{{ tone }}", given))
    assert [] == losses_of(System(Template.from_string("{{ name }} {{ plan }}", given), people))


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("- a.{% if vip %} b.{% endif %}\n- two", "- two"),
        ("{% for n in vip %}{{ n }}{% endfor %}\n2. two", "2. two"),
        ("- {% if vip %}{% if vip %}a{% endif %}{% endif %}\r\n  ## b", "## b"),
        ("{% if vip %}\n- one\n{% endif %}\n- two", None),
        ("- a{% if vip %}b{% endif +%}\n- two", None),
        ("- a{% if vip %}b{% endif -%}\n- two", None),
        ("{% if vip %}\n- a{% else %}\n- b{% endif %}", None),
        ("{# - a{% endif %}\n- two #}{% if vip %}{% endif %}", None),
        ("{% raw %}- a{% endif %}\n- two{% endraw %}{% if vip %}{% endif %}", None),
    ],
)
def test_an_item_behind_a_tag_that_takes_the_line_end(
    text: str, item: str | None, tmp_path: Path
) -> None:
    """A line of text that ends in a tag and is followed by an item is told."""
    (tmp_path / "list.md").write_text(text, newline="")
    hints = [] if item is None else [("hint", f"the glued item {item!r}")]
    with register_templates(tmp_path):
        trimmed = losses_of(System(Template("list.md", vip=[1])))
    with register_templates(tmp_path, trim_blocks=False):
        untrimmed = losses_of(System(Template("list.md", vip=[1])))
    assert (hints, []) == (trimmed, untrimmed)


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        (lambda: System(Value("<code>")), ["<code>"]),
        (lambda: System(List(Value("</code>"), Value("```python"))), ["</code>", "```python"]),
        (lambda: System(Value("a"), Value("<b>"), Value("<b>\n")), ["<b>", "<b>"]),
        (lambda: Developer("Use ", Value("<code>")), []),
        (lambda: System(Template.from_string("{{ a }}", a="<a>")), ["<a>"]),
        (lambda: System(Template.from_string("{{ a }}", a=trusted("<a>"))), []),
        (lambda: System(Value('<code a="b">')), ['<code a="b">']),
        (lambda: System(Value("<br/>"), Value("<br />")), ["<br/>", "<br />"]),
        (lambda: System(Value('```py title="a"')), ['```py title="a"']),
        (lambda: System(Value("Use <code>.")), []),
        (lambda: System(Value("<a> and <b>")), []),
        (lambda: System(Value("<")), []),
        (lambda: User(Value("<code>")), []),
        (lambda: Grounding("plan", Value("</context>")), []),
        (lambda: System("<code>"), []),
    ],
)
def test_a_value_that_is_a_tag(part: Callable[[], Node], shown: list[str]) -> None:
    """It is a hint in instructions, where it is encoded, with the way to write one's own tag."""
    assert [("encoded_tag", tag, True) for tag in shown] == [
        (hint.name, hint.what.split("'")[1], "trusted(...)" in hint.why)
        for hint in render(Timeline(part(), User("q"))).hints
        for _ in range(hint.count)
    ]


NOW = Volatile("12:00", "now")


@pytest.mark.parametrize(
    ("turns", "count"),
    [
        ((System("At ", NOW, cache=True),), 1),
        ((System(Template.from_string("{{ at }}", at=NOW), cache=True),), 1),
        ((System(NOW), User("a", cache=True)), 1),
        ((User(NOW), CacheBreakpoint("1h")), 1),
        ((System("a", cache=True), User(NOW)), 0),
        ((Ephemeral(NOW, position="start"), User("a", cache=True)), 0),
    ],
)
@pytest.mark.parametrize("request_", [{}, {"model": "claude-sonnet-4-5", "cache": "auto"}])
def test_a_volatile_value_under_a_mark_of_the_author(
    turns: tuple[Node, ...], count: int, request_: Any
) -> None:
    """It is told with any target and with none; automatic marks are not the author's."""
    names = [hint.name for hint in render(Timeline(*turns, User("q")), **request_).hints]
    assert count == names.count("volatile_in_cache")


def in_round(number: int, turn: Node) -> Timeline:
    """Return the prompt of a round of a loop: a question, calls and results, and another turn."""
    messages: list[Any] = [Message("user", "How much rain fell?")]
    for n in range(number):
        messages.append(Message("assistant", [ToolUseBlock(f"c{n}", "run", {"file": n})]))
        messages.append(Message("tool", [ToolResultBlock(f"c{n}", f"result {n}")]))
    return Timeline(System("Be kind."), History(messages), turn)


def clock(position: Any, number: int) -> Node:
    """Return the time as a grounding."""
    return Grounding("clock", Volatile(f"12:0{number}", "now"), position=position)


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro"])
@pytest.mark.parametrize(
    ("position", "is_reported"),
    [("end", False), (None, True), ("start", True), ("after_system", True), ("before_user", True)],
)
def test_a_volatile_grounding_before_the_rounds(
    model: str, position: str | None, is_reported: bool
) -> None:
    """With each round more is read anew behind it; at the end, as the hint says, nothing is."""
    rounds = [
        render(in_round(n, clock(position, n)), model=model, cache="auto") for n in range(1, 4)
    ]
    shared = [prefix_report(*pair).shared for pair in pairwise(rounds)]
    hints = [hint for hint in rounds[-1].hints if hint.name == "volatile_grounding"]
    assert is_reported == (shared[0] == shared[1])
    assert is_reported == any('position="end"' in hint.why for hint in hints)


@pytest.mark.parametrize(
    ("prompt", "options"),
    [
        (in_round(2, clock(None, 1)), {}),
        (in_round(0, clock(None, 1)), {"cache": "auto"}),
        (in_round(2, Grounding("plan", "Pro")), {"cache": "auto"}),
        (in_round(2, Ephemeral(NOW)), {"cache": "auto"}),
        (Timeline(clock(None, 1), User("q"), Assistant("{")), {"cache": "auto"}),
    ],
)
def test_a_grounding_without_a_hint_on_the_cache(prompt: Node, options: Any) -> None:
    """Without cache="auto", a Volatile or answers behind it there is none."""
    assert not [hint for hint in render(prompt, **options).hints if "cache" in hint.why]


@pytest.mark.parametrize(
    ("models", "provider", "is_told"),
    [
        ("gpt-5 gpt-77 gemini-2.5-pro amazon.nova-lite-v1:0", "anthropic", True),
        ("gpt-5 claude-sonnet-4-5", "gemini", True),
        ("gemini-2.5-pro claude-sonnet-4-5", "openai_responses", True),
        ("us.anthropic.claude-sonnet-4-5-v1:0 my-model openai/gpt-5", "anthropic", False),
        ("gpt-5 gpt-5-pro", "openai_responses", False),
        ("gemini-2.5-pro claude-sonnet-4-5", "openai", False),
        *[("gpt-5", any_, False) for any_ in ("bedrock", "chat_template", "openai_compatible")],
    ],
)
def test_a_model_of_another_provider(models: str, provider: str, is_told: bool) -> None:
    """A provider with models of its own alone is told to have no other, where it is given."""
    rendered = [render(Timeline(User("q")), model=it, provider=provider) for it in models.split()]
    again = render(Timeline(User("q")), model="gpt-4o").for_target(provider)
    hinted = ["other_provider" in {hint.name for hint in it.hints} for it in (*rendered, again)]
    assert [*[is_told] * len(rendered), False] == hinted


def test_tools_without_a_description() -> None:
    """A line is told once, with the names of its tools; tools that were read are not."""
    tools = [Tool(name="look"), Tool(name="find"), Tool(name="ask", description="Ask.")]
    rendered = render(Timeline(*tools, User("q")), model="gpt-5")
    again = render(read_payload(rendered.to_openai(), "openai"), model="gpt-5")
    told_of = [(hint.what, hint.path, hint.also) for hint in rendered.hints]
    assert ([("no description", "look", ("find",))], ()) == (told_of, reported(again))


def test_a_grounding_of_nothing() -> None:
    """An argument of a grounding that is nothing is told, and nothing that became empty later."""
    nothing = Grounding("a", None), Grounding("b", "", False), Fragment(Grounding("c", None))
    emptied = (
        Grounding("d", Text("")),
        Grounding("e", Note("x")),
        Grounding("f", Lazy(lambda _: None)),
    )
    others = Grounding("g", None, audience="people"), Ephemeral(None), User("q")
    hints = [("hint", f"an empty Grounding {id!r}") for id in "abc"]
    assert hints == losses_of(*nothing, *emptied, *others)


def test_trusted_text_and_code_have_no_hints() -> None:
    """Who marks a text, or shows it as code, means it."""
    touching = Text("Be kind.", trusted("Be brief.")), Text(trusted("Be kind."), "Be brief.")
    assert [] == losses_of(System(*touching, Text(trusted(str(PART))), Code(str(PART))))
