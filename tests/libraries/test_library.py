"""A library: its functions and templates, their descriptions, and what it refuses."""

import copy
import inspect
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

from promptdsl import *
from tests.any_data import deep_list
from tests.errors import lines_of, raised

pytestmark = pytest.mark.usefixtures("site")


def surgery() -> Library:
    """Return the library of the tests."""
    return Library.load("surgery")


def text(part: object) -> str:
    """Return what a part in a system turn sends."""
    return render(System(part)).messages[0].text  # type: ignore[arg-type]


def test_a_function_section() -> None:
    """A function of a library has its qualified name, its section, and writes what it wrote."""
    part = surgery().tone("Ada")
    assert ("surgery:tone", "surgery:tone") == (part.name, part.section and part.section.name)
    assert "1.2.0" == (part.section and part.section.version)
    assert "You are Ada, at 3." == text(part)


def test_a_function_that_is_imported() -> None:
    """A function of a library is the same by a plain import."""
    tone = import_module("acme_surgery").tone
    assert tone is surgery().tone
    assert "surgery:tone" == tone("Ada").name


def test_a_function_that_takes_children() -> None:
    """A section that yields is a block."""
    with System() as system, surgery().card("Rules"):
        Text("Be kind.")
    assert "## Rules\nBe kind." == render(system).messages[0].text


def test_a_template_section() -> None:
    """A template of a library takes its inputs, as an attribute, an item and by its name."""
    calls: list[Callable[[], object]] = [
        lambda: surgery().refunds(region="EU", tags=["new"]),
        lambda: surgery()["refunds"](region="EU", tags=["new"]),
        lambda: Template("surgery:refunds", region="EU", tags=["new"]),
        lambda: Template("surgery:refunds", {"region": "EU"}, tags=["new"]),
    ]
    parts = [call() for call in calls]
    assert [parts[0]] * 4 == parts
    assert {"Refunds in EU within 30 days. new."} == {text(part) for part in parts}


def test_a_template_in_a_folder() -> None:
    """A template below a folder has its path in its name, and includes private files."""
    part = surgery()["billing/late"](soon="now")
    assert ("surgery:billing/late", "Pay now. Thanks.") == (part.name, text(part))


def test_a_section_is_made_once() -> None:
    """A template is made into a component once."""
    assert surgery().refunds is surgery()["refunds"]


def test_the_signature() -> None:
    """A template shows its inputs as keywords, with types and defaults."""
    signature = inspect.signature(surgery().refunds)
    assert (
        "(*, region: Literal['EU', 'US'], days: int = 30, tags: list[str] = [])"
        == str(signature).partition(" -> ")[0]
    )
    assert "refunds" == surgery().refunds.__name__


def test_the_docstring() -> None:
    """A template has its title, its description and its inputs as a docstring."""
    assert (
        "Refunds\n\nHow money is given back.\n\n"
        "Inputs:\n    region: where the customer lives\n    days\n    tags"
    ) == surgery().refunds.__doc__


def test_dir() -> None:
    """The sections whose names are names of Python are listed as attributes."""
    assert {"broken", "card", "refunds", "tone"} == {*dir(surgery())} - {*dir(Library)} - {
        name for name in dir(surgery()) if name.startswith("_")
    } - {"name"}


def test_what_it_says_about_a_template() -> None:
    """The information on a template is that of its front matter and its file."""
    info = surgery().sections["refunds"]
    assert ("template", "Refunds", "How money is given back.") == (
        info.kind,
        info.title,
        info.description,
    )
    assert ["region", "days", "tags"] == [it.name for it in info.inputs or ()]
    assert ("surgery:refunds", "1.2.0", 8) == (
        info.section.name,
        info.section.version,
        len(info.section.digest),
    )
    assert info.source == Path(info.file).read_text("utf-8")


def test_what_it_says_about_a_function() -> None:
    """The information on a function is that of its docstring and its signature."""
    info = surgery().sections["tone"]
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
    assert (names, 5) == ([*surgery().sections], len(surgery().sections))


WRONG: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "missing": (
        lambda: surgery().refunds(),
        TemplateError,
        "template 'surgery:refunds' needs the input 'region': one of EU, US",
    ),
    "unknown": (
        lambda: surgery().refunds(regin="EU"),
        TemplateError,
        "template 'surgery:refunds' has no input 'regin'",
    ),
    "value": (
        lambda: Template("surgery:refunds", region="UK"),
        TemplateError,
        "template 'surgery:refunds': input 'region' takes one of EU, US, not 'UK'",
    ),
    "bool": (
        lambda: surgery().refunds(region="EU", days=True),
        TemplateError,
        "template 'surgery:refunds': input 'days' takes int, not True",
    ),
    "position": (
        lambda: surgery().refunds("EU"),
        OptionError,
        "surgery:refunds(): its inputs are passed by name",
    ),
    "broken": (
        lambda: surgery().broken,
        TemplateError,
        "template 'surgery:broken', line 3: 'thing' is not a type of an input",
    ),
    "section": (
        lambda: surgery().refund,
        AttributeError,
        "the library 'surgery' has no section 'refund'",
    ),
    "item": (
        lambda: surgery().sections["refund"],
        KeyError,
        "the library 'surgery' has no section 'refund'",
    ),
    "private": (
        lambda: Template("surgery:_end"),
        LibraryError,
        "the library 'surgery' has no section '_end'",
    ),
    "outside": (
        lambda: Template("surgery:../secret"),
        LibraryError,
        "the library 'surgery' has no section '../secret'",
    ),
    "library": (
        lambda: Template("surgry:refunds"),
        LibraryError,
        "there is no library 'surgry'",
    ),
    "text": (
        lambda: Template.from_string("---\ninputs:\n  day: date\n---\n{{ day }}", day="now"),
        TemplateError,
        "the template: input 'day' takes date, not 'now'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_names_the_line(name: str) -> None:
    """Each mistake is reported where the section is called, in plain words."""
    call, kind, what = WRONG[name]
    error = raised(kind, call)
    assert what == error.what  # type: ignore[attr-defined]
    line = inspect.getsourcelines(call)[1]
    assert (f"{__file__}:{line}",) == error.at  # type: ignore[attr-defined]


def test_a_mistake_inside_a_component() -> None:
    """A mistake in a component, a block or a detached part names the line of the section."""

    @component
    def outer() -> None:
        with Section("a"), detached():
            Template("surgery:refunds", region="UK")

    error = raised(TemplateError, lambda: System(outer()))
    assert lines_of(outer, 3) == error.at


def test_the_line_of_a_part() -> None:
    """The component and its template have the line of the author, however it is called."""

    def written() -> list[object]:
        one = surgery().refunds(region="EU")
        other = Template("surgery:refunds", region="EU")
        return [it.source for part in (one, other) for it in (part, part.content[0])]

    assert [*lines_of(written, 1) * 2, *lines_of(written, 2) * 2] == [*map(str, written())]


def test_volatile_and_trusted_inputs() -> None:
    """A volatile input is checked by its value, also in a list; trusted text is author text."""
    with System() as system:
        surgery().refunds(
            region="EU", days=Volatile(5, "day"), tags=[Volatile("a", "tag"), trusted("<b>")]
        )
    rendered = render(system)
    assert "Refunds in EU within 5 days. a. <b>." == rendered.messages[0].text
    assert ["day", "tag"] == [it.label for it in rendered.spans() if it.kind == "volatile"]


def test_trees_with_sections() -> None:
    """A tree with sections of a library is the same after a pickle and a copy."""
    tree = Timeline(System(surgery().tone("Ada"), surgery().refunds(region="EU")))
    loaded = pickle.loads(pickle.dumps(tree))
    assert tree == loaded == copy.deepcopy(tree)
    assert render(tree).messages == render(loaded).messages
    assert "surgery:tone" == loaded.content[0].content[0].section.name


def test_a_library_is_pickled_by_its_name() -> None:
    """An installed library is the same object after a pickle and a copy."""
    assert surgery() is pickle.loads(pickle.dumps(surgery())) is copy.copy(surgery())


def test_threads_that_make_a_section_at_once() -> None:
    """Threads that ask for a template at once get one component."""
    with ThreadPoolExecutor(8) as threads:
        made = [*threads.map(lambda _: surgery().refunds, range(8))]
    assert {surgery().refunds} == {*made}


def test_reload(tmp_path: Path) -> None:
    """With reload a template is read again when it changed, its inputs and digest too."""
    file = tmp_path / "note.md.j2"
    file.write_text("---\ninputs:\n  a: int\n---\n{{ a }}.", "utf-8")
    house = Library("house", templates=tmp_path, reload=True)
    before = house.note(a=1)
    file.write_text("---\ninputs:\n  a: str\n---\nNow {{ a }}.", "utf-8")
    after = house.note(a="one")
    assert "Now one." == text(after)
    assert before.section
    assert after.section
    assert before.section.digest != after.section.digest


def test_reload_of_other_inputs(tmp_path: Path) -> None:
    """With reload a section takes the inputs that its file declares at the call."""
    file = tmp_path / "note.md.j2"
    file.write_text("---\ninputs:\n  a: int\n---\n{{ a }}.", "utf-8")
    house = Library("house", templates=tmp_path, reload=True)
    before = text(house.note(a=1))
    file.write_text("---\ninputs:\n  other: int\n---\nNow {{ other }}.", "utf-8")
    assert ("1.", "Now 2.") == (before, text(house.note(other=2)))


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    """A library whose folder was removed, or that has none, does not have a section."""
    folder = tmp_path / "gone"
    folder.mkdir()
    house = Library("house", templates=folder)
    folder.rmdir()
    gone = raised(LibraryError, lambda: house.note)
    without = raised(LibraryError, lambda: Library("house", templates=None).note)
    told = ("the library 'house' has no section 'note'", "it has no sections")
    assert [told, told] == [(gone.what, gone.fix), (without.what, without.fix)]


def test_white_space(tmp_path: Path) -> None:
    """The white-space settings of Jinja are those of the library."""
    (tmp_path / "note.md.j2").write_text("a\n{% if 1 %}\nb\n{% endif %}\n", "utf-8")
    house = Library("house", templates=tmp_path)
    jinja = Library("jinja", templates=tmp_path, trim_blocks=False, lstrip_blocks=False)
    assert ["a\nb\n", "a\n\nb\n"] == [text(it.note()) for it in (house, jinja)]


SHORT = version("promptdsl").removesuffix(".0")
"""The installed version without the zero at its end, as authors of libraries write it."""


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


def test_a_section_that_was_called() -> None:
    """A section that was called already is no component: the error says what to give."""
    error = raised(LibraryError, lambda: Library("house", sections=[surgery().tone("Ada")]))  # type: ignore[list-item]
    assert (
        "the library 'house': CustomComponent is not a component",
        "give functions that were made with @component, without a call: sections=[tone]",
    ) == (error.what, error.fix)


@pytest.mark.parametrize("file", ["late.md", "late.j2", "late.txt"])
def test_a_file_of_another_ending(tmp_path: Path, file: str) -> None:
    """A file that would be a section with the right ending is named with its right name."""
    (tmp_path / file).write_text("Pay.", "utf-8")
    house = Library("house", templates=tmp_path)
    error = raised(LibraryError, lambda: house.late)
    assert f"rename {file} to late.md.j2" == error.fix


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "name": (lambda: Library("my house"), "'my house' cannot be the name of a library"),
    "type": (lambda: Library(3), "3 cannot be the name of a library"),  # type: ignore[arg-type]
    "number": (
        lambda: Library(10**5000),  # type: ignore[arg-type]
        "<int that cannot be printed> cannot be the name of a library",
    ),
    "plain": (
        lambda: Library("house", sections=[_plain]),  # type: ignore[list-item]
        "the library 'house': _plain is not a component",
    ),
    "one": (
        lambda: Library("house", sections=_in_house()),  # type: ignore[arg-type]
        "the library 'house' takes a list of sections, not component",
    ),
    "its own name": (
        lambda: Library("house", sections=[component(name="load")(_plain)]),  # type: ignore[list-item]
        "the library 'house': every library has an attribute 'load'",
    ),
    "its own name of an object": (
        lambda: Library("house", sections=[component(name="name")(_plain)]),  # type: ignore[list-item]
        "the library 'house': every library has an attribute 'name'",
    ),
    "twice": (
        lambda: Library("house", sections=[_in_house(), _in_house()]),  # type: ignore[list-item]
        "the library 'house': two sections are called 'tone'",
    ),
    "taken": (
        lambda: Library("house", sections=[_taken()]),  # type: ignore[list-item]
        "the library 'house': tone belongs to another library: 'first:tone'",
    ),
    "folder": (
        lambda: Library("house", templates="/nowhere"),
        "the library 'house' has no folder '/nowhere'",
    ),
    "requires": (
        lambda: Library("house", requires="promptdsl~=1"),
        "the library 'house' requires 'promptdsl~=1', which is not a version",
    ),
    "the second of two": (
        lambda: Library("house", requires="promptdsl>=0.0.1,<0.0.2"),
        "the library 'house' requires promptdsl>=0.0.1,<0.0.2, and promptdsl "
        f"{version('promptdsl')} is installed",
    ),
    "other": (
        lambda: Library("house", requires="jinja2>=3"),
        "the library 'house' requires 'jinja2>=3', which is not a version",
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


def test_parameters_that_take_any_arguments() -> None:
    """What a section takes in any number is none of its inputs."""

    @component
    def tone(name: str, *others: str, **more: str) -> str:
        return f"{name}{others}{more}"

    sections = Library("house", sections=[tone]).sections  # type: ignore[list-item]
    assert ["name"] == [it.name for it in sections["tone"].inputs or ()]


def test_hidden_files(tmp_path: Path) -> None:
    """Hidden and private files, folders of such names, and other files are no sections."""
    names = ["late", ".late", "_late", ".git/late", "_in/late", "in/late", "in/_in/late"]
    for name in [*names, "late.txt"]:
        file = tmp_path / "own" / (name if name.endswith("txt") else f"{name}.md.j2")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("Pay.", "utf-8")
    assert ["in/late", "late"] == [*Library("house", templates=tmp_path / "own").sections]


def test_a_template_with_wrong_syntax(tmp_path: Path) -> None:
    """What a library says about a template with wrong syntax is an error with the line."""
    (tmp_path / "late.md.j2").write_text("---\ntitle: Late\n---\nPay.\n{% if %}", "utf-8")
    error = raised(TemplateError, lambda: Library("house", templates=tmp_path).sections["late"])
    assert (
        "template 'house:late', line 5: Expected an expression, got 'end of statement block'"
        == (error.what)
    )


@pytest.mark.parametrize(
    "requires",
    [
        "promptdsl",
        "promptdsl>=0.0.1,<99",
        "promptdsl != 98",
        f"promptdsl=={SHORT}",
        f"promptdsl<={SHORT}",
        f"promptdsl>={SHORT}.0.0",
    ],
)
def test_versions_that_fit(requires: str) -> None:
    """A library that requires a version that fits is made."""
    assert "house" == Library("house", requires=requires).name


def test_a_list_in_itself() -> None:
    """A list that holds itself, and one that is very deep, are no inputs: no other error comes."""
    library = Library.load("surgery")
    endless: list[object] = []
    endless.append(endless)
    problem = "template 'surgery:refunds': item 0 of input 'tags' takes str, not list"
    assert (problem, problem) == (
        raised(TemplateError, lambda: library.refunds(region="EU", tags=endless)).what,
        raised(TemplateError, lambda: library.refunds(region="EU", tags=deep_list(2_000))).what,
    )


def test_a_text_of_a_class_of_its_own_in_an_error() -> None:
    """An error shows the characters of a text, whatever its class says."""

    class Odd(str):
        def __getitem__(self, index: object) -> str:
            return "odd"

        def __str__(self) -> str:
            return "odd"

    library = Library.load("surgery")
    error = raised(TemplateError, lambda: library.refunds(region=Odd("EUR")))
    takes = "input 'region' takes one of EU, US, not 'EUR'"
    assert (f"template 'surgery:refunds': {takes}", "did you mean 'EU'?") == (error.what, error.fix)
