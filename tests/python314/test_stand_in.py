"""What the tests of older Pythons take for a t-string is one to the package."""

from collections.abc import Callable, Mapping
from string import templatelib
from typing import Any

import pytest
from hypothesis import given as searched
from hypothesis import strategies as st

from promptdsl import (
    Checklist,
    Example,
    Fragment,
    Heading,
    Item,
    Lazy,
    List,
    Paragraph,
    PromptError,
    Quote,
    Section,
    Template,
    Text,
    Timeline,
    User,
    component,
    render,
    trusted,
)
from tests.renders import reported
from tests.template_strings import Interpolation, template
from tests.template_strings import Template as StandIn
from tests.value_places import CONTAINERS, FORMS, LINES, RECORDED

Write = Callable[[Any], Any]
PROVIDERS = ("openai", "openai_responses", "anthropic", "gemini", "bedrock")


@component
def returning(part: Any) -> Any:
    """Return a part."""
    return part


PARTS: Mapping[str, Write] = {
    "argument": lambda t: t,
    "text": lambda t: Text("a ", t, " b"),
    "nested": lambda t: Text(template("a ", Interpolation(t), " b")),
    "paragraph": Paragraph,
    "heading": Heading,
    "list": lambda t: List("a", t),
    "item": lambda t: List(Item("a ", t), ordered=True),
    "checklist": Checklist,
    "quote": Quote,
    "input": lambda t: Example(t, "b"),
    "output": lambda t: Example("a", t),
    "section": lambda t: Section("one", "\n    a\n    ", t, title="One"),
    "fragment": lambda t: Fragment("a", t),
    "lazy": lambda t: Lazy(lambda _: t),
    "component": returning,
}
"""Parts of a turn that a t-string is text of."""

PLACES: Mapping[str, Write] = {
    f"{part}, {holder}": lambda t, part=part, holder=holder: CONTAINERS[holder].write(
        PARTS[part](t), 0
    )
    for part in PARTS
    for holder in CONTAINERS
}
"""Where a t-string is text."""

VALUE_PLACES: Mapping[str, Write] = {
    **{name: lambda t, form=form: User(form.write(t)) for name, form in FORMS.items()},
    **{name: lambda t, line=line: line(t, 0) for name, line in LINES.items()},
    **{name: form.write for name, form in RECORDED.items()},
    "title": lambda t: User(Section("one", "a", title=t)),
    "variable": lambda t: User(Template.from_string("{{ v }}", v=t)),
    "trusted": lambda t: User(trusted(t)),
}
"""Where a value stands, which a t-string is not."""

TEXTS: Mapping[str, Any] = {
    "static": template("# <b> </context>"),
    "empty": template(""),
    "value": template("<b> ", Interpolation("# <b> </context>", "user.name"), "."),
    "values": template("", Interpolation("<"), "", Interpolation("/context>", " y"), ""),
    "number": template("", Interpolation(3), " and ", Interpolation(0.5, ""), ""),
    "flags": template("", Interpolation(True), "", Interpolation(False), ""),
    "conversions": template("", Interpolation("é", "x", "r"), "", Interpolation("é", "x", "a"), ""),
    "conversion of a list": template("", Interpolation([1, "<"], "x", "s"), ""),
    "format": template("", Interpolation(2 / 3, "x", None, ".2f"), ""),
    "conversion and format": template("", Interpolation("<", "x", "r", ">9"), ""),
    "lines": template("\n    a\n      ", Interpolation("\n    # b\n  c"), "\n    d\n"),
    "hidden": template("a\ud800 ", Interpolation("b\ud800\u202e\x07"), ""),
    "trusted": template("a ", Interpolation(trusted("<b>")), ""),
    "template": template(
        "<a> ", Interpolation(template("<b> ", Interpolation("<c>", "deep"), "")), ""
    ),
    "template as a string": template("", Interpolation(template("a"), "x", None, ""), ""),
}
"""T-strings that are text."""

WRONG: Mapping[str, Any] = {
    "none": template("", Interpolation(None), ""),
    "list": template("a ", Interpolation(["x"], "user.names"), ""),
    "object": template("a ", Interpolation(len), ""),
    "component": template("a ", Interpolation(Text("x")), ""),
    "wrong format": template("a ", Interpolation("x", "user.name", None, ".2f"), ""),
    "wrong format without a name": template("a ", Interpolation("x", "", None, ".2f"), ""),
    "wrong in a template": template("", Interpolation(template("", Interpolation([]), "")), ""),
    "class in a template": template("", Interpolation(template("", Interpolation(Text), "")), ""),
    "interpolation alone": Interpolation("x"),
}
"""What is no text."""


def real(given: Any) -> Any:
    """Return what the language has for a stand-in, and for those in it."""
    if isinstance(given, Interpolation):
        return templatelib.Interpolation(
            real(given.value), given.expression, given.conversion, given.format_spec
        )
    if not isinstance(given, StandIn):
        return given
    values = [*map(real, given.interpolations), ""]
    return templatelib.Template(
        *(part for pair in zip(given.strings, values, strict=True) for part in pair)
    )


def outcome(write: Write, given: Any) -> Any:
    """Return what a t-string comes to for every provider, or the error there is instead."""
    try:
        made = write(given)
        tree = Timeline(*(made if isinstance(made, tuple) else (made,)))
        rendered = [render(tree), *(render(tree, provider=name) for name in PROVIDERS)]
    except (PromptError, TypeError) as error:
        return type(error), str(error)
    said = [(one.messages, reported(one), one.outline()) for one in rendered]
    return [*said, *(one.payload() for one in rendered[1:])]


def differences(write: Write, samples: Mapping[str, Any]) -> list[Any]:
    """Return the samples that come to something else as a t-string of the language."""
    pairs = {
        name: (outcome(write, sample), outcome(write, real(sample)))
        for name, sample in samples.items()
    }
    return [(name, *pair) for name, pair in pairs.items() if pair[0] != pair[1]]


def refused(write: Write, samples: Mapping[str, Any]) -> list[str]:
    """Return the samples that are an error as a t-string of the language."""
    return [name for name in samples if isinstance(outcome(write, real(samples[name])), tuple)]


EVERYWHERE = {**PLACES, **VALUE_PLACES}


@pytest.mark.parametrize("place", EVERYWHERE)
def test_the_stand_in_is_a_t_string(place: str) -> None:
    """A t-string gives what its stand-in gives: messages, losses, payloads, outline or error."""
    assert [] == differences(EVERYWHERE[place], {**TEXTS, **WRONG})


VALUES = st.recursive(
    st.builds(Interpolation, st.text() | st.integers() | st.floats(), st.text()),
    lambda inner: st.builds(lambda part: Interpolation(template("", part, "")), inner),
)


@searched(st.tuples(st.text(), VALUES, st.text(), VALUES, st.text()))
def test_any_stand_in_is_a_t_string(parts: tuple[Any, ...]) -> None:
    """Whatever stands in it."""
    assert [] == differences(PLACES["argument, section"], {"any": template(*parts)})


@pytest.mark.parametrize("place", PLACES)
def test_a_t_string_is_text_in_every_place_of_text(place: str) -> None:
    """Wherever a string may stand in a turn, a t-string may, if what it holds is text."""
    assert sorted(WRONG) == sorted(refused(PLACES[place], {**TEXTS, **WRONG}))


def test_a_t_string_is_no_value() -> None:
    """A field, a cell, a title or a variable takes a value, and a t-string is none."""
    taken = [name for name, write in VALUE_PLACES.items() if not refused(write, TEXTS)]
    assert ["t-string", "lazy", "part of a heading"] == taken
