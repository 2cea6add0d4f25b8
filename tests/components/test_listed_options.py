"""Signatures at run time: every option is listed, with its type and its default."""

import inspect
import pydoc
import re
from typing import Any, TypedDict

import pytest

import promptdsl
from promptdsl import *
from tests.internals import listed_signature

TURN: dict[str, Any] = {
    "metadata": {},
    "tags": (),
    "audience": "all",
    "priority": None,
    "id": None,
    "cache": False,
    "separator": None,
}
SPEECH: dict[str, Any] = {**TURN, "name": None, "merge": True}
REQUEST: dict[str, Any] = {
    name: TURN[name] for name in ("metadata", "tags", "audience", "priority")
}
OF_PARTS = ("priority", "cache", "audience", "separator")
FENCED: dict[str, Any] = {"encoding": None}
PLACE: dict[str, Any] = {"title": None, "position": None, "order": 0}


@pytest.mark.parametrize(
    ("component", "options"),
    [
        *((turn, TURN) for turn in (System, Developer)),
        (Event, {**TURN, **FENCED}),
        *((turn, SPEECH) for turn in (User, Assistant)),
        (Section, {"title": None, **{name: TURN[name] for name in OF_PARTS}, **FENCED}),
        (Grounding, {**PLACE, **REQUEST, **FENCED}),
        (Ephemeral, {"type": None, **PLACE, **REQUEST, **FENCED, "id": None}),
        (Untrusted, FENCED),
        (ToolMessage, {"is_error": False, "error_type": None, **TURN, "name": None}),
        (
            History,
            {
                "keep": 0,
                "step": None,
                "priority": 0,
                "max_result_tokens": None,
                "clear_results": None,
                "keep_compacted": False,
                "cut_line": False,
                "pin": None,
            },
        ),
        (Text, {}),
        (UserAction, {"target": None, "actor": None}),
    ],
)
def test_options_are_listed(component: Any, options: dict[str, Any]) -> None:
    """The signature of a component lists each option with its default."""
    parameters = inspect.signature(component).parameters.values()
    listed = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert options == listed


def test_few_values_are_listed() -> None:
    """An option that has few values names them."""
    text = str(inspect.signature(Section))
    assert "audience: Literal['all', 'model', 'people'] = 'all'" in text


def test_help_lists_the_options() -> None:
    """What ``help()`` shows first is the signature with the options."""
    signature, *_ = pydoc.plain(pydoc.render_doc(Section)).partition(") -> None")
    assert ["audience", "encoding", "separator"] == re.findall(r"(\w+): [^=]+ = ", signature)[-3:]


def test_settings_are_listed() -> None:
    """The settings of a configuration are listed with their defaults."""
    parameters = inspect.signature(MessageTransformationConfig).parameters
    assert ("markdown", ...) == (parameters["format"].default, parameters["role_mapping"].default)


class _Limits(TypedDict, total=False):
    limit: int
    offset: int


def test_a_function_without_parameters_has_its_options() -> None:
    """A function that declares no parameter is shown with its options alone."""

    def search() -> None:
        pass

    signature = listed_signature(search, _Limits, {"limit": 3})
    assert [("limit", 3), ("offset", ...)] == [
        (name, parameter.default) for name, parameter in signature.parameters.items()
    ]


@pytest.mark.parametrize("component", [Template, UserAction])
def test_free_keywords_stay(component: Any) -> None:
    """Keywords with names of the author's own are shown as what they are."""
    *_, last = inspect.signature(component).parameters.values()
    assert last.kind is last.VAR_KEYWORD


def test_only_listed_options_are_taken() -> None:
    """Every component that lists options takes these, and refuses any other by name."""
    classes = [getattr(promptdsl, name) for name in promptdsl.__all__]
    components: list[Any] = [x for x in classes if getattr(x, "_accepts", None)]
    listed = [inspect.signature(component).parameters.keys() for component in components]
    assert [True] * len(components) == [
        component._accepts <= names or component.__name__ in _MEDIA
        for component, names in zip(components, listed, strict=True)
    ]
    assert len(components) > 9
    with pytest.raises(OptionError, match="did you mean 'audience'"):
        Section("x", "y", audiense="all")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


_MEDIA = ("Image", "Audio", "Document", "Video")
"""Attachments are made by methods."""


def test_an_object_has_no_signature() -> None:
    """A component that was written cannot be called."""
    with pytest.raises(TypeError, match="not a callable object"):
        inspect.signature(Text("x"))  # type: ignore[arg-type]
