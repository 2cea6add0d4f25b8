"""A library: its functions and templates, what it says about them, and what it refuses."""

import copy
import inspect
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from promptdsl import (
    Library,
    LibraryError,
    OptionError,
    Section,
    System,
    Template,
    TemplateError,
    Text,
    Timeline,
    Volatile,
    component,
    detached,
    render,
    trusted,
)
from tests.errors import lines_of, raised

pytestmark = pytest.mark.usefixtures("site")


def support() -> Library:
    """Return the library of the tests."""
    return Library.load("support")


def text(part: object) -> str:
    """Return what a part in a system turn sends."""
    return render(System(part)).messages[0].text  # type: ignore[arg-type]


def test_a_function_section() -> None:
    """A function of a library has its qualified name, its section, and writes what it wrote."""
    part = support().tone("Ada")
    assert ("support:tone", "support:tone") == (part.name, part.section.name)
    assert "1.2.0" == part.section.version
    assert "You are Ada, at 3." == text(part)


def test_a_function_that_is_imported() -> None:
    """A function of a library is the same by a plain import."""
    import acme_support

    assert acme_support.tone is support().tone
    assert "support:tone" == acme_support.tone("Ada").name


def test_a_function_that_takes_children() -> None:
    """A section that yields is a block."""
    with System() as system, support().card("Rules"):
        Text("Be kind.")
    assert "## Rules\nBe kind." == render(system).messages[0].text


def test_a_template_section() -> None:
    """A template of a library takes its inputs, as an attribute, an item and by its name."""
    calls = [
        lambda: support().refunds(region="EU", tags=["new"]),
        lambda: support()["refunds"](region="EU", tags=["new"]),
        lambda: Template("support:refunds", region="EU", tags=["new"]),
        lambda: Template("support:refunds", {"region": "EU"}, tags=["new"]),
    ]
    parts = [call() for call in calls]
    assert [parts[0]] * 4 == parts
    assert {"Refunds in EU within 30 days. new."} == {text(part) for part in parts}


def test_a_template_in_a_folder() -> None:
    """A template below a folder has its path in its name, and includes private files."""
    part = support()["billing/late"](soon="now")
    assert ("support:billing/late", "Pay now. Thanks.") == (part.name, text(part))


def test_a_section_is_made_once() -> None:
    """A template is made into a component once."""
    assert support().refunds is support()["refunds"]


def test_the_signature() -> None:
    """A template shows its inputs as keywords, with types and defaults."""
    signature = inspect.signature(support().refunds)
    assert (
        "(*, region: Literal['EU', 'US'], days: int = 30, tags: list[str] = [])"
        == str(signature).partition(" -> ")[0]
    )
    assert "refunds" == support().refunds.__name__


def test_the_docstring() -> None:
    """A template has its title, its description and its inputs as a docstring."""
    assert (
        "Refunds\n\nHow money is given back.\n\n"
        "Inputs:\n    region: where the customer lives\n    days\n    tags"
    ) == support().refunds.__doc__


def test_dir() -> None:
    """The sections whose names are names of Python are listed as attributes."""
    assert {"broken", "card", "refunds", "tone"} == {*dir(support())} - {*dir(Library)} - {
        name for name in dir(support()) if name.startswith("_")
    } - {"name"}


def test_what_it_says_about_a_template() -> None:
    """The information on a template is that of its front matter and its file."""
    info = support().sections["refunds"]
    assert ("template", "Refunds", "How money is given back.") == (
        info.kind,
        info.title,
        info.description,
    )
    assert ["region", "days", "tags"] == [it.name for it in info.inputs or ()]
    assert ("support:refunds", "1.2.0", 8) == (
        info.section.name,
        info.section.version,
        len(info.section.digest),
    )
    assert info.source == Path(info.file).read_text("utf-8")


def test_what_it_says_about_a_function() -> None:
    """The information on a function is that of its docstring and its signature."""
    info = support().sections["tone"]
    assert ("function", "How we speak.", "In three levels.", 4) == (
        info.kind,
        info.title,
        info.description,
        info.line,
    )
    assert [("name", "str", True, None), ("level", "int", False, 3)] == [
        (it.name, it.type, it.required, it.default) for it in info.inputs or ()
    ]


def test_the_names_of_the_sections() -> None:
    """All sections are listed, a broken one too."""
    names = ["billing/late", "broken", "card", "refunds", "tone"]
    assert names == [*support().sections]


WRONG: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "missing": (
        lambda: support().refunds(),
        TemplateError,
        "template 'support:refunds' needs the input 'region': one of EU, US",
    ),
    "unknown": (
        lambda: support().refunds(regin="EU"),
        TemplateError,
        "template 'support:refunds' has no input 'regin'",
    ),
    "value": (
        lambda: Template("support:refunds", region="UK"),
        TemplateError,
        "template 'support:refunds': input 'region' takes one of EU, US, not 'UK'",
    ),
    "bool": (
        lambda: support().refunds(region="EU", days=True),
        TemplateError,
        "template 'support:refunds': input 'days' takes int, not True",
    ),
    "position": (
        lambda: support().refunds("EU"),
        OptionError,
        "support:refunds(): its inputs are given by name",
    ),
    "broken": (
        lambda: support().broken,
        TemplateError,
        "template 'support:broken', line 3: 'thing' is not a type of an input",
    ),
    "section": (
        lambda: support().refund,
        AttributeError,
        "the library 'support' has no section 'refund'",
    ),
    "item": (
        lambda: support().sections["refund"],
        KeyError,
        "the library 'support' has no section 'refund'",
    ),
    "private": (
        lambda: Template("support:_end"),
        LibraryError,
        "the library 'support' has no section '_end'",
    ),
    "outside": (
        lambda: Template("support:../secret"),
        LibraryError,
        "the library 'support' has no section '../secret'",
    ),
    "library": (
        lambda: Template("suport:refunds"),
        LibraryError,
        "there is no library 'suport'",
    ),
    "text": (
        lambda: Template.from_string("---\ninputs:\n  day: date\n---\n{{ day }}", day="now"),
        TemplateError,
        "the template: input 'day' takes date, not 'now'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_names_the_line(name: str) -> None:
    """Each mistake is told where the section is called, in plain words."""
    call, kind, what = WRONG[name]
    error = raised(kind, call)
    assert what == error.what  # type: ignore[attr-defined]
    line = inspect.getsourcelines(call)[1]
    assert (f"{__file__}:{line}",) == error.at  # type: ignore[attr-defined]


def test_a_mistake_inside_a_component() -> None:
    """A mistake in a component, a block or a detached part names the line that calls the section."""

    @component
    def outer() -> None:
        with Section("a"), detached():
            Template("support:refunds", region="UK")

    error = raised(TemplateError, lambda: System(outer()))
    assert lines_of(outer, 3) == error.at


def test_the_line_of_a_part() -> None:
    """The component and its template have the line of the author, however it is called."""

    def written() -> list[object]:
        one = support().refunds(region="EU")
        other = Template("support:refunds", region="EU")
        return [it.source for part in (one, other) for it in (part, part.content[0])]

    assert [*lines_of(written, 1) * 2, *lines_of(written, 2) * 2] == [*map(str, written())]


def test_volatile_and_trusted_inputs() -> None:
    """A volatile input is checked by its value, also in a list; trusted text is author text."""
    with System() as system:
        support().refunds(
            region="EU", days=Volatile(5, "day"), tags=[Volatile("a", "tag"), trusted("<b>")]
        )
    rendered = render(system)
    assert "Refunds in EU within 5 days. a. <b>." == rendered.messages[0].text
    assert {"day", "tag"} <= {span.volatile for span in rendered.spans()}


def test_trees_with_sections() -> None:
    """A tree with sections of a library is the same after a pickle and a copy."""
    tree = Timeline(System(support().tone("Ada"), support().refunds(region="EU")))
    loaded = pickle.loads(pickle.dumps(tree))
    assert tree == loaded == copy.deepcopy(tree)
    assert render(tree).messages == render(loaded).messages
    assert "support:tone" == loaded.content[0].content[0].section.name


def test_a_library_is_pickled_by_its_name() -> None:
    """An installed library is the same object after a pickle and a copy."""
    assert support() is pickle.loads(pickle.dumps(support())) is copy.copy(support())


def test_threads_that_make_a_section_at_once() -> None:
    """Threads that ask for a template at once get one component."""
    made: list[object] = []
    threads = [threading.Thread(target=lambda: made.append(support().refunds)) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert {support().refunds} == {*made}


def test_reload(tmp_path: Path) -> None:
    """With reload a template is read again when it changed, its inputs and digest too."""
    file = tmp_path / "note.md.j2"
    file.write_text("---\ninputs:\n  a: int\n---\n{{ a }}.", "utf-8")
    house = Library("house", templates=tmp_path, reload=True)
    before = house.note(a=1)
    file.write_text("---\ninputs:\n  a: str\n---\nNow {{ a }}.", "utf-8")
    after = house.note(a="one")
    assert "Now one." == text(after)
    assert before.section.digest != after.section.digest


def test_white_space(tmp_path: Path) -> None:
    """The white-space settings of Jinja are those of the library."""
    (tmp_path / "note.md.j2").write_text("a\n{% if 1 %}\nb\n{% endif %}\n", "utf-8")
    house = Library("house", templates=tmp_path)
    jinja = Library("jinja", templates=tmp_path, trim_blocks=False, lstrip_blocks=False)
    assert ["a\nb\n", "a\n\nb\n"] == [text(it.note()) for it in (house, jinja)]


def _plain() -> None:
    """Not a component."""


def _in_house() -> Callable[..., object]:
    @component
    def tone() -> str:
        return "Kind."

    return tone


def _taken() -> Callable[..., object]:
    tone = _in_house()
    Library("first", sections=[tone])  # type: ignore[list-item]
    return tone


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "name": (lambda: Library("my house"), "'my house' is no name of a library"),
    "type": (lambda: Library(3), "3 is no name of a library"),  # type: ignore[arg-type]
    "plain": (
        lambda: Library("house", sections=[_plain]),  # type: ignore[list-item]
        "the library 'house': _plain is no component",
    ),
    "one": (
        lambda: Library("house", sections=_in_house()),  # type: ignore[arg-type]
        "sections of the library 'house' is function, no list",
    ),
    "twice": (
        lambda: Library("house", sections=[_in_house(), _in_house()]),  # type: ignore[list-item]
        "the library 'house': two sections are called 'tone'",
    ),
    "taken": (
        lambda: Library("house", sections=[_taken()]),  # type: ignore[list-item]
        "the library 'house': tone is 'first:tone'",
    ),
    "folder": (
        lambda: Library("house", templates="/nowhere"),
        "the library 'house' has no folder '/nowhere'",
    ),
    "requires": (
        lambda: Library("house", requires="promptdsl~=1"),
        "the library 'house' requires 'promptdsl~=1', which is no version",
    ),
    "other": (
        lambda: Library("house", requires="jinja2>=3"),
        "the library 'house' requires 'jinja2>=3', which is no version",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_library_that_is_refused(name: str) -> None:
    """What cannot be a library is an error at the line that makes it."""
    call, what = REFUSED[name]
    error = raised(LibraryError, call)
    assert what == error.what
    line = inspect.getsourcelines(call)[1]
    assert error.at[0].startswith(f"{__file__}{os.pathsep if os.pathsep == ';' else ':'}")
    assert 0 <= int(error.at[0].rpartition(":")[2]) - line <= 1


def test_a_function_and_a_template_of_one_name(tmp_path: Path) -> None:
    """A library has one section of each name."""
    (tmp_path / "tone.md.j2").write_text("Kind.", "utf-8")
    tone = _in_house()
    error = raised(LibraryError, lambda: Library("house", sections=[tone], templates=tmp_path))  # type: ignore[list-item]
    assert "the library 'house': 'tone' is a function and a template" == error.what


@pytest.mark.parametrize("requires", ["promptdsl", "promptdsl>=0.0.1,<99", "promptdsl != 98"])
def test_versions_that_fit(requires: str) -> None:
    """A library that requires a version that fits is made."""
    assert "house" == Library("house", requires=requires).name
