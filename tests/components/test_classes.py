"""The class of a component: what its annotation says, before it is used and after."""

import copy
import pickle
from collections.abc import Callable
from functools import singledispatch
from typing import Any, Protocol, runtime_checkable

import pytest
from attrs.exceptions import FrozenInstanceError

import promptdsl
from promptdsl import *
from tests.internals import Component, finish

PARTS: dict[str, Callable[[], Any]] = {
    "Timeline": lambda: Timeline(User("a")),
    "System": lambda: System("a"),
    "Developer": lambda: Developer("a"),
    "User": lambda: User("a"),
    "Assistant": lambda: Assistant("a"),
    "ToolMessage": lambda: ToolMessage("1", "a"),
    "Event": lambda: Event(UserAction("a")),
    "Ephemeral": lambda: Ephemeral("a"),
    "Grounding": lambda: Grounding("g", "a"),
    "History": lambda: History([]),
    "Section": lambda: Section("s", "a"),
    "Fragment": lambda: Fragment("a"),
    "Format": lambda: Format("xml", "a"),
    "Note": lambda: Note("a"),
    "Text": lambda: Text("a"),
    "Paragraph": lambda: Paragraph("a"),
    "Heading": lambda: Heading("a"),
    "Code": lambda: Code("a"),
    "Value": lambda: Value("a"),
    "Volatile": lambda: Volatile("a", label="l"),
    "Untrusted": lambda: Untrusted("a"),
    "Json": lambda: Json({"a": 1}),
    "List": lambda: List("a"),
    "Checklist": lambda: Checklist("a"),
    "Item": lambda: Item("a"),
    "Quote": lambda: Quote("a"),
    "Example": lambda: Example("a", "b"),
    "Table": lambda: Table([["a"]]),
    "Template": lambda: Template.from_string("a"),
    "Image": lambda: Image.from_file_id("f"),
    "Audio": lambda: Audio.from_base64("QQ==", "audio/wav"),
    "Document": lambda: Document.from_file_id("f"),
    "Video": lambda: Video.from_file_id("f"),
    "ToolUse": lambda: ToolUse("t", {}, id="1"),
    "ToolResult": lambda: ToolResult("1", "a"),
    "Reasoning": lambda: Reasoning("a"),
    "UserAction": lambda: UserAction("a"),
    "StateChange": lambda: StateChange("a", old=1, new=2),
    "SystemEvent": lambda: SystemEvent("a"),
    "Group": lambda: Group("a"),
    "FirstFit": lambda: FirstFit("a", "b"),
    "Limit": lambda: Limit(9, "a"),
    "Reserve": lambda: Reserve(9),
    "CacheBreakpoint": CacheBreakpoint,
    "Lazy": lambda: Lazy(str),
    "Tool": lambda: Tool(name="t", description="d", input_schema={"type": "object"}),
    "Output": lambda: Output({"type": "object"}),
}
"""By the name of a public component: how one is written."""

every_part = pytest.mark.parametrize("name", PARTS)


def names(part: object) -> tuple[str, str, str, str | None]:
    """Return what the class of a part is called."""
    cls = type(part)
    return cls.__name__, cls.__qualname__, cls.__module__, cls.__doc__


def test_each_component_is_tried() -> None:
    """Each public class of components has a row."""
    values = {name: getattr(promptdsl, name) for name in promptdsl.__all__}
    classes = {name: value for name, value in values.items() if isinstance(value, type)}
    assert sorted(PARTS) == sorted(name for name in classes if issubclass(classes[name], Component))


@every_part
def test_it_stays_what_it_is(name: str) -> None:
    """Its class is called the same before it is used and after, and it is an instance of it."""
    part = PARTS[name]()
    before = names(part)
    frozen = finish(part)
    assert frozen is part
    assert (before, True) == (names(part), isinstance(part, getattr(promptdsl, name)))


@every_part
def test_copies(name: str) -> None:
    """Copies are equal and of the same class, of a part that is used and of one that is not."""
    new, frozen = PARTS[name](), finish(PARTS[name]())
    copies = [copy.copy(frozen), copy.deepcopy(frozen), pickle.loads(pickle.dumps(frozen))]
    copies.append(pickle.loads(pickle.dumps(new)))
    assert [(frozen, type(frozen), str(frozen).split(" at ")[0])] * 4 == [
        (other, type(other), str(other).split(" at ")[0]) for other in copies
    ]


@every_part
def test_it_is_frozen(name: str) -> None:
    """Once it is used no attribute of it can be set, added or deleted."""
    part = finish(PARTS[name]())
    for change in (setattr, lambda *names: delattr(*names[:2])):
        with pytest.raises(FrozenInstanceError):
            change(part, "content", ())
    with pytest.raises(FrozenInstanceError):
        part.anything = 1


def test_the_ways_to_ask() -> None:
    """``match``, single dispatch and protocols take a frozen component as its class."""

    @runtime_checkable
    class HasContent(Protocol):
        content: Any

    @singledispatch
    def kind(_part: object) -> str:
        return "something"

    @kind.register
    def _(_part: Timeline) -> str:
        return "a prompt"

    @kind.register
    def _(_part: User) -> str:
        return "a user"

    prompt = Timeline(System("a"), User("b"))
    kinds = [kind(prompt), kind(prompt.content[1]), isinstance(prompt, HasContent)]
    render(prompt)
    match prompt:
        case Timeline(content=(System(), User())):
            matched = True
        case _:
            matched = False
    assert (["a prompt", "a user", True], True) == (kinds, matched)
    assert kinds == [kind(prompt), kind(prompt.content[1]), isinstance(prompt, HasContent)]


def test_a_frozen_class_has_no_subclasses() -> None:
    """The class of a part that is used refuses a subclass as its component does."""
    used = Timeline(User("a")).content[0]
    with pytest.raises(ContentError, match="Own cannot be a subclass of User"):
        type("Own", (type(used),), {})


def test_what_a_replaced_section_is() -> None:
    """A section that takes the place of its replacement when its block closes is a section."""
    replaced = Section("tone", "Be kind.")
    with override({"tone": replaced}), System() as system, Section("tone") as section:
        Text("Be brief.")
    assert ("Section", "Section") == (type(section).__name__, type(section).__qualname__)
    assert isinstance(section, Section)
    assert render(system).messages[0].text == "Be kind."


@pytest.mark.sdk
def test_checkers_at_run_time() -> None:
    """What beartype and pydantic check by its annotation is taken."""
    from beartype import beartype
    from pydantic import BaseModel, ConfigDict

    class Call(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        prompt: Timeline
        first: System

    @beartype
    def build(question: str) -> Timeline:
        with Timeline() as prompt:
            System("Be brief.")
            User(question)
        return prompt

    prompt = build("Why?")
    render(prompt)
    call = Call(prompt=prompt, first=prompt.content[0])
    assert (prompt, prompt.content[0]) == (call.prompt, call.first)
