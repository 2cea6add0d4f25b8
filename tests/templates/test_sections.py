"""Templates with inputs among other templates: includes, libraries, white space, and values."""

import pickle
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jinja2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import lines_of, raised
from tests.hostile import VALUES
from tests.internals import (
    LOADED_LIBRARIES,
    TemplateFolder,
    TemplateSource,
    rendered_template,
    split,
)
from tests.searching import examples, outcomes
from tests.templates.rendered import fault, file_fault, file_pieces, in_full, pieces, put
from tests.tolerant_reader import OWN, tags_in

Written = Callable[..., Node]

SMALL = "---\ninputs:\n  a: str\n  b: int = 2\n---\n{{ a }} {{ b }}"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return a registered folder with a template that has inputs."""
    with register_templates(put(tmp_path, small=SMALL)):
        yield tmp_path


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{% include 'small.md' %}", "A 2"),
        ("{% set b = 3 %}{% include 'small.md' %}", "A 3"),
        ("{% for a in ['x', 'y'] %}{% include 'small.md' %};{% endfor %}", "x 2;y 2;"),
        ("{% set a %}<{{ other[0] }}>{% endset %}{% include 'small.md' %}", "<1> 2"),
        ("{% include ['none.md', 'small.md'] %}", "A 2"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_an_include_is_checked(template: str, expected: str) -> None:
    """A template with inputs that is included gets these of the variables around it."""
    assert expected == in_full(pieces(template, a="A", other=[1]))


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (
            "\n{% include 'small.md' without context %}",
            "template 'small.md' needs the input 'a': str",
        ),
        ("\n{% import 'small.md' as m %}", "template 'small.md' needs the input 'a': str"),
        (
            "{% set a = 3 %}\n{% include 'small.md' %}",
            "template 'small.md': input 'a' takes str, not int",
        ),
        (
            "\n{% set b %}3{% endset %}{% include 'small.md' %}",
            "template 'small.md': input 'b' takes int, not '3'",
        ),
        ("\n{% extends 'base.md' %}", "template 'base.md': input 'a' takes int, not 'A'"),
    ],
)
def test_an_include_of_wrong_inputs(template: str, expected: str, folder: Path) -> None:
    """Wrong inputs of an included, imported or extended template have the line that asks for it."""
    put(folder, base="---\ninputs:\n  a: int\n---\n{{ a }}")
    assert f"the template, line 2: {expected}" == fault(template, a="A").split("\n")[0]


def test_an_include_sees_its_inputs_alone(folder: Path) -> None:
    """What a template with inputs includes sees these alone."""
    put(folder, outer="---\ninputs:\n  a: str\n---\n{% include 'inner.md' %}")
    put(folder, inner="{{ a }} {{ secret is defined }}{{ 1 if secret is defined }}")
    with pytest.raises(TemplateError) as caught:
        pieces("{% include 'outer.md' %}", a="A", secret="s")
    assert "'secret'" not in str(caught.value)
    put(folder, nested="---\ninputs:\n  a: str\n---\n{% include 'inside.md' %}")
    put(folder, inside="{{ a }}{{ ' and ' ~ secret if secret is defined }}")
    assert "A" == in_full(pieces("{% include 'nested.md' %}", a="A", secret="s"))


def test_a_base_gives_its_defaults(folder: Path) -> None:
    """A template that another one extends checks its inputs, and gives their defaults."""
    put(
        folder,
        base='---\ninputs:\n  title: str = "T"\n---\n{{ title }}: {% block text %}{% endblock %}',
        child="---\ninputs:\n  a: str\n---\n{% extends 'base.md' %}"
        "{% block text %}{{ a }}{% endblock %}",
    )
    assert "T: A" == in_full(file_pieces("child.md", a="A"))


@pytest.mark.usefixtures("folder")
def test_wrong_inputs_have_the_line_of_the_caller() -> None:
    """Wrong inputs of a template in a folder have the line of the code that wrote it."""

    def write() -> Template:
        return Template("small.md", a=3)

    with pytest.raises(TemplateError) as caught:
        render(System(write()))
    assert (
        f"{lines_of(write, 1)[0]}: template 'small.md': input 'a' takes str, not int\n"
        "  give a value of that type"
    ) == str(caught.value)


# White space.

PLAIN = "a\n  {% if x %}\n  b\n  {% endif %}\nc\n"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"trim_blocks": False, "lstrip_blocks": False, "keep_trailing_newline": True},
        {"trim_blocks": False},
        {"lstrip_blocks": False},
    ],
)
@pytest.mark.parametrize("head", ["", "---\ntitle: T\n---\n"])
@pytest.mark.parametrize("body", [PLAIN, f"  {PLAIN}", "  {% if x %}\n d{% endif %}\n\n"])
def test_white_space(options: dict[str, bool], head: str, body: str, tmp_path: Path) -> None:
    """The text of a template is that of Jinja with the same settings, with front matter too."""
    settings: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, **options}
    expected = jinja2.Environment(**settings).from_string(body).render(x=True)
    with register_templates(put(tmp_path, a=head + body), **options):
        assert expected == in_full(file_pieces("a.md", x=True))
    assert expected == text(User(Template.from_string(head + body, x=True, **options)))


SETTINGS = ("trim_blocks", "lstrip_blocks", "keep_trailing_newline")
TAKERS: dict[str, Callable[..., object]] = {
    "a folder": lambda **options: register_templates(Path(__file__).parent, **options),
    "a text": lambda **options: Template.from_string("a", **options),
    "a library": lambda **options: Library("jinja", templates=None, **options),
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
def test_a_setting_is_true_or_false(take: Callable[..., object], name: str) -> None:
    """What else is passed for a setting of white space, such as a variable, is an error."""
    error = raised(TemplateError, lambda: take(**{name: "no"}))
    assert f"{name} is True or False, not 'no'" == error.what
    assert lines_of(take, 0) == error.at


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(
    ("write", "way"),
    [
        (lambda name: Template("a.md", **{name: True}), "register_templates"),
        (lambda name: Template("a.md", {name: True}), "register_templates"),
        (lambda name: Template(Path("a.md"), **{name: True}), "register_templates"),
        (lambda name: Template.from_string("a", {name: True}), "Template.from_string"),
        (lambda name: Template.from_format("a", **{name: True}), "Template.from_string"),
    ],
)
def test_a_setting_is_no_variable(write: Callable[[str], object], way: str, name: str) -> None:
    """A setting of white space among the variables is an error that says where it belongs."""
    error = raised(TemplateError, lambda: write(name))
    assert f"{name} is a setting of Jinja, not a variable" == error.what
    assert (f"write {way}(..., {name}=...)", lines_of(write, 0)) == (error.fix, error.at)


def test_each_folder_has_its_white_space(tmp_path: Path) -> None:
    """A file is read with the settings of its own folder, where another one includes it, too."""
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    ours = put(tmp_path / "ours", a="{% if 1 %}\na{% endif %}\n{% include 'b.md' %}")
    theirs = put(tmp_path / "theirs", b="{% if 1 %}\nb{% endif %}\n")
    with register_templates(ours), register_templates(theirs, trim_blocks=False):
        assert "a\nb" == in_full(file_pieces("a.md"))


def test_a_file_is_read_once(tmp_path: Path) -> None:
    """Without ``reload`` a file is read once for each registration."""
    with register_templates(put(tmp_path, a="old")):
        first = in_full(file_pieces("a.md"))
        put(tmp_path, a="longer")
        second = in_full(file_pieces("a.md"))
    with register_templates(tmp_path):
        assert ("old", "old", "longer") == (first, second, in_full(file_pieces("a.md")))


def text(turn: System | User) -> str:
    """Return the text of the message of a turn."""
    return render(turn).messages[0].text


TEXT = "\n\n  - a: {{ a }}\n    b\n"


@pytest.mark.parametrize("turn", [System, User])
def test_a_file_is_not_dedented(tmp_path: Path, turn: type[System | User]) -> None:
    """The text of a file is sent unchanged, with its blank lines; that of code is dedented."""
    (tmp_path / "list.md").write_text(TEXT)
    with register_templates(tmp_path, keep_trailing_newline=True):
        assert TEXT.replace("{{ a }}", "A") == text(turn(Template("list.md", a="A")))


def test_a_text_in_code_is_dedented() -> None:
    """A template that is passed as text in code is dedented in instructions."""
    assert "- a: A\n  b" == text(System(Template.from_string(TEXT, a="A")))


# The folder of a library.

FOOTER = "Foot of {{ region }}."


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TemplateFolder:
    """Return the templates of a library ``support``."""
    home = tmp_path / "support"
    (home / "billing").mkdir(parents=True)
    (home / "_footer.md.j2").write_text(FOOTER)
    (home / "billing" / "refunds.md.j2").write_text(
        "---\ninputs:\n  region: str\n---\n{{ region }}. {% include '_footer.md.j2' %}"
    )
    made = TemplateFolder(str(home), library="support", version="1.2.0")

    class Support:
        templates = made

    monkeypatch.setitem(LOADED_LIBRARIES, "support", Support)
    return made


def test_names_of_a_library(library: TemplateFolder, tmp_path: Path) -> None:
    """A template of a library finds names in the folder of that library alone."""
    source = TemplateSource("name", "billing/refunds.md.j2", library)
    (tmp_path / "_footer.md.j2").write_text("Not this one.")
    with register_templates(tmp_path):
        rendered = rendered_template(source, {"region": "EU"})
    assert "EU. Foot of EU." == in_full(rendered.pieces)


def test_a_partial_that_is_missing(library: TemplateFolder, tmp_path: Path) -> None:
    """A partial that the library does not have is an error, whatever a registered folder has."""
    (tmp_path / "_footer.md.j2").write_text("Not this one.")
    Path(library.folder, "_footer.md.j2").unlink()
    with register_templates(tmp_path), pytest.raises(TemplateError) as caught:
        rendered_template(
            TemplateSource("name", "billing/refunds.md.j2", library), {"region": "EU"}
        )
    assert (
        "template 'support:billing/refunds', line 5: there is no template '_footer.md.j2'"
    ) == caught.value.what


@pytest.mark.usefixtures("library")
def test_a_qualified_name() -> None:
    """A template includes a section of a library by its qualified name, and both are noted."""
    source = TemplateSource.from_text("{% include 'support:billing/refunds' %}")
    rendered = rendered_template(source, {"region": "EU"})
    assert "EU. Foot of EU." == in_full(rendered.pieces)
    assert (
        ["support:billing/refunds 1.2.0 b732d376", "support:_footer 1.2.0 4425cbdb"],
        (LibrarySection("support:billing/refunds"), LibrarySection("support:_footer")),
    ) == ([str(it) for it in rendered.sections], rendered.sections)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{% include x %}", "'support:billing/refunds' is not the name of a template"),
        ("{% include ['no.md', x] %}", "'support:billing/refunds' is not the name of a template"),
        ("{% include 'support:_footer' %}", "'support:_footer' is a private file of its library"),
        ("{% include 'support:../a' %}", "'../a' is not the name of a template"),
        ("{% include 'support:a:b' %}", "'a:b' is not the name of a template"),
        ("{% include 'support:refunds' %}", "there is no template 'support:refunds'"),
        (
            "{% extends 'support:billing/refunds' %}",
            "template 'support:billing/refunds' needs the input 'region': str",
        ),
    ],
)
@pytest.mark.usefixtures("library")
def test_a_wrong_qualified_name(template: str, expected: str) -> None:
    """A section is named where the template writes it out, never by a value; private files not."""
    found = fault(template, x="support:billing/refunds").split("\n")[0]
    assert f"the template, line 1: {expected}" == found


@pytest.mark.usefixtures("library")
def test_a_section_that_may_be_missing() -> None:
    """A section that is missing can be ignored, and replaced by another one of a list."""
    template = (
        "{% include 'support:no' ignore missing %}"
        "{% include ['support:no', 'support:billing/refunds', 'no:refunds'] %}"
    )
    assert "EU. Foot of EU." == in_full(pieces(template, region="EU"))


def test_the_source_of_a_library_is_the_same_after_a_pickle(library: TemplateFolder) -> None:
    """The source of a section is comparable and hashable, also when files of it were found."""
    source = TemplateSource("name", "billing/refunds.md.j2", library)
    rendered_template(source, {"region": "EU"})
    again = pickle.loads(pickle.dumps(source))
    assert (source, hash(source)) == (again, hash(again))


def test_a_library_has_no_links_out(library: TemplateFolder, tmp_path: Path) -> None:
    """A link of a library does not lead out of its folder."""
    put(tmp_path, secret="secret")
    (Path(library.folder) / "a.md.j2").symlink_to(tmp_path / "secret.md")
    what = f"template 'support:a' is a link that leads out of {library.folder!r}"
    assert f"the template, line 1: {what}" == fault("{% include 'support:a' %}").split("\n")[0]


# Values in typed inputs.

ATTACK = """---
inputs:
  text: str
  name: list[str]
  names: list[list[str]]
---
Before {{ text }}, {{ name|join(" and ") }}.
{% for row in names %}
- {% for it in row %}{{ it }}{% endfor %}

{% endfor %}
After
"""


def _sent(value: str) -> tuple[str, ...]:
    prompt = System(
        Template.from_string(ATTACK, text=value, name=[value, "b"], names=[[value], ["c"]])
    )
    message = render(prompt).messages[0]
    return message.role, message.text


@examples(200)
@example("#\x85.*\n#\r)\r")
@given(VALUES.filter(bool))
def test_any_value_in_an_input(value: str) -> None:
    """Any value in an input of text stays a value: the text around it is always the same."""
    role, text = _sent(value)
    parts = text.split("Before ", 1)[1]
    assert ("system", "") == (role, text.split("Before ", 1)[0])
    assert parts.endswith("- c\nAfter")
    assert [] == tags_in(text, OWN)
    assert [] == re.findall(r"(?m)^#+(?:\s|$)", text)
    assert f"Before {value}, {value} and b.\n- {value}\n- c\nAfter" == decode(text)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Written]]:
    """Give the ways to write one template: its text, a file, and the sections of a library."""
    folder = tmp_path_factory.mktemp("attacked")
    files = {
        "attack": ATTACK,
        "outer": '{% include "attack.md.j2" %}',
        "_inner": ATTACK,
        "whole": '{% include "_inner.md.j2" %}',
    }
    for name, source in files.items():
        (folder / f"{name}.md.j2").write_text(source, "utf-8")
    library = Library("attacked", templates=folder)
    with register_templates(folder):
        yield {
            "text": partial(Template.from_string, ATTACK),
            "name": partial(Template, "attack.md.j2"),
            "path": partial(Template, folder / "attack.md.j2"),
            "include": partial(Template, "outer.md.j2"),
            "section": library.attack,
            "partial": library.whole,
        }


@examples(60)
@given(VALUES.filter(bool))
def test_any_value_on_every_way(attacked: dict[str, Written], value: str) -> None:
    """A template says the same for any value, wherever it is: in code, a folder or a library."""
    inputs = {"text": value, "name": [value, "b"], "names": [[value], ["c"]]}
    messages = {
        way: render(System(Section("rules", write(**inputs)))).messages
        for way, write in attacked.items()
    }
    assert dict.fromkeys(attacked, messages["text"]) == messages


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({}, "'text'"),
    "unknown": ({"text": "a", "name": [], "names": [], "nam": 1}, "'nam'"),
    "type": ({"text": 3, "name": [], "names": []}, "'text'"),
    "item": ({"text": "a", "name": [3], "names": []}, "'name'"),
    "none": ({"text": None, "name": [], "names": []}, "'text'"),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("way", ["text", "name", "path", "section"])
def test_wrong_inputs_on_every_way(attacked: dict[str, Written], way: str, wrong: str) -> None:
    """A wrong input is an error with the line of the caller, the template and the input."""
    inputs, named = WRONG[wrong]

    def write() -> object:
        return render(System(attacked[way](**inputs)))

    with pytest.raises(TemplateError) as caught:
        write()
    template = {"text": "the template", "section": "'attacked:attack'"}.get(way, "attack.md.j2'")
    assert lines_of(write, 1) == caught.value.at
    assert template in caught.value.what
    assert named in caught.value.what


@examples(100)
@given(
    st.fixed_dictionaries(
        {
            "n": st.integers(-(10**9), 10**9),
            "x": st.floats(allow_nan=False, allow_infinity=False),
            "flag": st.booleans(),
            "day": st.dates(),
            "choice": st.sampled_from(["<b>", "# c", "d e"]),
        }
    )
)
def test_values_of_the_other_types(given: dict[str, Any]) -> None:
    """Numbers, booleans, dates and choices are written as everywhere else, and encoded."""
    source = (
        "---\ninputs:\n  n: int\n  x: float\n  flag: bool\n  day: date\n"
        '  choice: one of "<b>", "# c", "d e"\n---\n'
        "{{ n }} {{ x }} {{ flag|int }} {{ day }} {{ choice }}"
    )
    text = render(System(Template.from_string(source, given))).messages[0].text
    assert [] == tags_in(text, OWN)
    values = given["n"], given["x"], int(given["flag"]), given["day"], given["choice"]
    assert "{} {} {} {} {}".format(*values) == decode(text)


WORDS = ["inputs:", "a: ", "str", "one of", " = ", "[", '"', "#", "\n", "\n  ", " ", "---"]


@pytest.mark.hypothesis
def test_any_front_matter() -> None:
    """Any text between the lines of front matter is read, or refused by name and line."""
    texts = st.lists(st.sampled_from(WORDS)).map("".join)
    assert {"read", "refused"} == outcomes(_outcome, "inputs:\n  a: str", texts, 200)


def _outcome(text: str) -> str:
    try:
        split(f"---\n{text}\n---\n", None)
    except TemplateError as error:
        return "refused" if error.what.startswith("the template, line ") else error.what
    return "read"


def test_author_text_in_an_input() -> None:
    """``trusted()`` is a text for inputs, and stays author text."""
    source = "---\ninputs:\n  a: str\n---\n{{ a }} {{ a|upper }}"
    text = render(System(Template.from_string(source, a=trusted("<b>")))).messages[0].text
    assert "<b> <B>" == text


@pytest.mark.parametrize(
    "body",
    [
        "{{ a.__class__ }}",
        "{{ a.__class__.__mro__ }}",
        "{{ ''.format.__globals__ }}",
        "{{ self.__init__ }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ a.format(1) }}",
    ],
)
def test_a_file_runs_no_python(body: str, tmp_path: Path) -> None:
    """A template file with inputs is in the same sandbox: it reaches no Python object."""
    with register_templates(put(tmp_path, a=f"---\ninputs:\n  a: str\n---\n{body}")):
        assert file_fault("a.md", a="A").startswith("template 'a.md', line 5: ")
