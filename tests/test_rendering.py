"""Rendering: what a prompt comes to, for no target and for each."""

import asyncio
import json
import re
from collections.abc import Callable
from inspect import currentframe
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from attrs.exceptions import FrozenInstanceError
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import this_line
from tests.renders import ShortForm, comes_to, reported, short_form

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010800000000"
    "3a7e9b550000000a4944415478da636000000002000148afa4710000000049454e44ae426082"
)
TARGETS = ["openai", "openai_compatible", "anthropic"]
every_target = pytest.mark.parametrize("target", TARGETS)


def support(question: str = "Why?") -> Timeline:
    """Return a prompt with one of everything."""
    with Timeline() as timeline:
        with System():
            Section("role", "You are a support agent.")
            with Section("rules", title="Rules"):
                Text("Never promise refunds.")
        History([Message("user", "Hello."), Message("assistant", "Hello!")])
        with Event():
            UserAction("opened", target="invoice 1881")
        with Grounding("account", title="Account"):
            Text("Plan: ", Value("<pro>"))
        User(question)
        Assistant("Let me see.", ToolUse("look_up", {"invoice": 1881}, id="c1"))
        ToolMessage("c1", '{"paid": false}')
    return timeline


def test_a_whole_prompt() -> None:
    """A prompt comes to the messages its author reads off it."""
    assert [
        ("system", "You are a support agent.\n\n## Rules\nNever promise refunds."),
        ("user", "Hello."),
        ("assistant", "Hello!"),
        (
            "user",
            '<event type="user_action">\nUser opened: invoice 1881\n</event>',
            '<context title="Account">\nPlan: <pro>\n</context>',
            "Why?",
        ),
        ("assistant", "Let me see.", ("call", "c1", "look_up")),
        ("tool", ("result", "c1", '{"paid": false}')),
    ] == short_form(render(support()).messages)


def test_call_style() -> None:
    """Written with calls or with blocks, a prompt is the same."""
    called = Timeline(
        System(
            Section("role", "You are a support agent."),
            Section("rules", Text("Never promise refunds."), title="Rules"),
        ),
        History([Message("user", "Hello."), Message("assistant", "Hello!")]),
        Event(UserAction("opened", target="invoice 1881")),
        Grounding("account", Text("Plan: ", Value("<pro>")), title="Account"),
        User("Why?"),
        Assistant("Let me see.", ToolUse("look_up", {"invoice": 1881}, id="c1")),
        ToolMessage("c1", '{"paid": false}'),
    )
    assert render(support()).messages == render(called).messages


# What is rendered.


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (System("s"), [("system", "s")]),
        (User("u"), [("user", "u")]),
        (Assistant("a"), [("assistant", "a")]),
        (Event("e"), [("user", "<event>\ne\n</event>")]),
        (Ephemeral("e"), [("user", "<context>\ne\n</context>")]),
        (Grounding("g", "e"), [("user", "<context>\ne\n</context>")]),
        (Section("s", "x", title="S"), [("system", "## S\nx")]),
        (Fragment(User("u"), Assistant("a")), [("user", "u"), ("assistant", "a")]),
        (Fragment(Section("s", "x")), [("system", "x")]),
        (History([Message("user", "u")]), [("user", "u")]),
    ],
)
def test_a_part_alone(part: Node, expected: Any) -> None:
    """A turn, a section or a fragment alone is rendered as a prompt of its own."""
    assert expected == short_form(render(part).messages)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("text", "not str"),
        (None, "not None"),
        ([User("u")], "not list"),
        (support, "not function"),
        (Text("t"), "a prompt must be a Timeline"),
        (Value("t"), "a prompt must be a Timeline"),
        (Image.from_url("https://example.org/a.png"), "a prompt must be a Timeline"),
    ],
)
def test_what_cannot_be_rendered(tree: Any, message: str) -> None:
    """Something else is refused with the line of the call."""
    with pytest.raises(ContentError, match=message) as caught:
        render(tree)
    assert f"{__file__}:{this_line() - 1}" == caught.value.at[0]


def test_rendering_inside_an_open_block() -> None:
    """A part can be rendered while another prompt is being written."""
    with Timeline() as timeline:
        User("u")
        with detached():
            part = Section("s", "x")
        inner = short_form(render(part).messages)
    assert [("system", "x")] == inner
    assert [("user", "u")] == short_form(render(timeline).messages)


def test_a_prompt_that_is_still_open() -> None:
    """A prompt that is still being written cannot be rendered."""
    with Timeline() as timeline:
        User("u")
        with pytest.raises(ScopeError, match="still open"):
            render(timeline)


def test_a_prompt_that_failed() -> None:
    """A prompt whose block raised cannot be rendered."""
    with pytest.raises(KeyError), Timeline() as timeline:
        raise KeyError
    with pytest.raises(ScopeError, match="an error ended the block"):
        render(timeline)


def test_an_unknown_audience() -> None:
    """An audience there is none of is refused with the line of the call."""
    with pytest.raises(OptionError, match="did you mean 'model'") as caught:
        render(User("u"), audience="modell")
    assert (f"{__file__}:{this_line() - 1}",) == caught.value.at


@pytest.mark.parametrize("provider", ["openi", "cohere"])
def test_an_unknown_provider(provider: str) -> None:
    """A provider without an adapter is refused."""
    with pytest.raises(TargetError, match=f"unknown provider {provider!r}"):
        render(User("u"), provider=provider)


def test_twice() -> None:
    """A tree can be rendered any number of times, for any target, to the same messages."""
    tree = support()
    first = render(tree, model="claude-opus-5-5")
    render(tree, provider="openai").payload()
    assert first.messages == render(tree, model="claude-opus-5-5").messages
    assert first.payload() == render(tree, model="claude-opus-5-5").payload()


def test_a_detached_part_serves_two_prompts() -> None:
    """A detached part can stand in two prompts, twice in one, and inside a with block."""
    rules = Section("rules", "never", title="Rules")
    with Timeline() as other, System("b"):
        include(rules)
    assert [("system", "a\n\n## Rules\nnever"), ("user", "## Rules\nnever")] == comes_to(
        System("a", rules), User(rules)
    )
    assert [("system", "b\n\n## Rules\nnever")] == short_form(render(other).messages)


def test_a_function_is_a_component() -> None:
    """A plain function that writes into the open block is a component."""

    def greeting(name: str) -> None:
        Text("Hello, ", Value(name))

    with Timeline() as timeline, System():
        greeting("Ada")
        greeting("Bob")
    assert [("system", "Hello, Ada\n\nHello, Bob")] == short_form(render(timeline).messages)


# Immutable.


@pytest.mark.parametrize(
    "name", ["messages", "losses", "config", "facts", "_stages", "_written", "anything"]
)
def test_a_result_cannot_be_changed(name: str) -> None:
    """Nothing of a result can be set or deleted."""
    rendered = render(support())
    with pytest.raises(FrozenInstanceError):
        setattr(rendered, name, ())
    with pytest.raises(FrozenInstanceError):
        delattr(rendered, name)


def test_what_it_holds_cannot_be_changed() -> None:
    """What a result holds are tuples of frozen values."""
    rendered = render(support(), provider="openai")
    with pytest.raises(FrozenInstanceError):
        rendered.messages[0].role = "user"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        rendered.messages[0].content[0].text = "x"  # type: ignore[misc, union-attr]
    with pytest.raises(FrozenInstanceError):
        rendered.config.format = "xml"  # type: ignore[misc]
    assert (tuple, tuple, tuple) == tuple(
        map(type, (rendered.messages, reported(rendered), rendered.stages()))
    )


def spoil(value: Any) -> None:
    """Change every container in plain data."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        waiting.extend(item.values() if isinstance(item, dict) else item)
        waiting = [inner for inner in waiting if isinstance(inner, dict | list)]
        item.clear()


@pytest.mark.parametrize(
    "request_", [{"provider": target} for target in TARGETS] + [{"model": "claude-opus-5-5"}]
)
def test_every_payload_is_fresh(request_: dict[str, str]) -> None:
    """Whatever is done to a payload, the next one is as the first was."""
    rendered = render(support(), **request_)  # type: ignore[arg-type]
    first = rendered.payload()
    kept = json.dumps(first)
    spoil(first)
    second = rendered.payload()
    assert kept == json.dumps(second)
    spoil(second)
    assert kept == json.dumps(rendered.payload())


def test_an_explanation_is_fresh() -> None:
    """Whatever is done to an explanation, the next one is as the first was."""
    rendered = render(User("u"))
    rendered.explain().clear()
    assert "format" in rendered.explain()


# Stages.

STAGES = [
    "written",
    "select",
    "fill",
    "read",
    "fit",
    "expand",
    "extract_tools",
    "merge_system",
    "render_events",
    "place",
    "pair",
    "merge",
]


@pytest.mark.parametrize("target", [None, *TARGETS])
def test_the_stages(target: str | None) -> None:
    """There is a stage for the tree as written and for every pass, in the order of the passes."""
    assert STAGES == [name for name, _ in render(support(), provider=target).stages()]


def test_the_first_stage_is_the_prompt() -> None:
    """The first stage is the very tree that was rendered."""
    tree = support()
    assert tree is render(tree).stages()[0].tree


def changes(*content: Any, **transformation: Any) -> list[str]:
    """Return the stages in which the tree became another object."""
    stages = render(Timeline(*content), transformation=transformation).stages()
    return [after.name for before, after in pairwise(stages) if before.tree is not after.tree]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([System("s"), User("u"), Assistant("a")], []),
        ([User("u", audience="people"), User("v")], ["select"]),
        ([User("u", Lazy(lambda _: "x"))], ["fill"]),
        ([User("u", Lazy(lambda _: None))], ["fill"]),
        ([User("u", Lazy(lambda _: Note("n")))], ["fill"]),
        ([User("u", Template.from_string("x"))], ["read"]),
        ([Fragment(User("u"))], ["expand"]),
        ([History([Message("user", "u")])], ["read", "expand"]),
        ([User("u", FirstFit("a", "b"))], ["fit"]),
        ([User("u"), System("s")], ["merge_system"]),
        ([User("u"), Assistant("a"), Event("e")], ["render_events"]),
        ([User("u"), Assistant("a"), Ephemeral("e")], ["place"]),
        ([User("u"), User("v")], ["merge"]),
    ],
)
def test_a_pass_that_did_nothing(content: list[Node], expected: list[str]) -> None:
    """A pass that has nothing to do leaves the tree the same object."""
    assert expected == changes(*content)


def test_pairing_that_repairs() -> None:
    """The stage of pairing is another tree when something was repaired."""
    tree = [User("u"), Assistant("a", ToolUse("t", {}, id="c"))]
    assert ([], ["pair"]) == (changes(*tree), changes(*tree, tool_pairing="prune"))


def test_rendering_never_changes_the_tree() -> None:
    """The tree is equal before and after, every part of it the same object."""
    tree = support()
    parts = tree.content
    render(tree, model="claude-opus-5-5").payload()
    assert (support(), True) == (tree, parts is tree.content)


# Configuration.


@pytest.mark.parametrize(
    ("target", "own", "asked", "expected"),
    [
        ({}, None, None, ("user", "library")),
        ({"provider": "anthropic"}, None, None, ("developer", "provider anthropic")),
        ({"model": "gpt-5"}, None, None, ("developer", "provider openai")),
        ({"model": "gpt-3.5-turbo"}, None, None, ("user", "model gpt-3.5")),
        ({"model": "gpt-3.5-turbo"}, "developer", None, ("developer", "Timeline")),
        ({"model": "gpt-3.5-turbo"}, "developer", "system", ("system", "render")),
        ({"provider": "anthropic"}, None, "user", ("user", "render")),
        ({}, "system", None, ("system", "Timeline")),
    ],
)
def test_each_layer_wins_over_the_one_before(
    target: Any, own: str | None, asked: str | None, expected: tuple[str, str]
) -> None:
    """The layers are library, provider, model, Timeline, render; explain says which one did."""
    layers = [None if role is None else {"role_mapping": {"event": role}} for role in (own, asked)]
    tree = Timeline(Event("e"), transformation=layers[0])
    rendered = render(tree, transformation=layers[1], **target)
    assert expected == rendered.explain()["role_mapping.event"]
    assert expected[0] == rendered.messages[0].role


def test_nested_values_merge_key_by_key() -> None:
    """A layer that sets one nested value lets the others through."""
    own: Any = {
        "delimiters": {"event": {"user_action": "DID "}},
        "role_mapping": {"event": "system"},
    }
    asked: Any = {"delimiters": {"ephemeral": "NOW "}, "role_mapping": {"ephemeral": "developer"}}
    tree = Timeline(Event(UserAction("left")), Ephemeral("e"), Event("t"), transformation=own)
    assert [
        ("system", "DID User left"),
        ("developer", "NOW e"),
        ("system", "<event>\nt\n</event>"),
    ] == short_form(render(tree, transformation=asked).messages)


def test_a_layer_may_be_a_function() -> None:
    """A function of model and provider is called at its own place in the order."""
    asked: list[tuple[str | None, str | None]] = []

    def own(model: str | None, provider: str | None) -> MessageTransformationConfig:
        asked.append((model, provider))
        return MessageTransformationConfig(format="xml", merge_consecutive=False)

    tree = Timeline(User("a"), User("b"), Section("s", "x"), transformation=own)
    rendered = render(tree, model="gpt-5", transformation=lambda *_: {"format": "markdown"})
    assert [("system", "x"), ("user", "a"), ("user", "b")] == short_form(rendered.messages)
    assert [("gpt-5", "openai")] == asked
    assert (("markdown", "render"), (False, "Timeline")) == (
        rendered.explain()["format"],
        rendered.explain()["merge_consecutive"],
    )


def test_every_value_is_explained() -> None:
    """The explanation has every value and who set it."""
    assert {"library", "render"} == {
        layer for _, layer in render(User("u"), transformation={"format": "xml"}).explain().values()
    }


@pytest.mark.parametrize(
    ("transformation", "message"),
    [
        ({"merge": True}, "unknown key 'merge'"),
        ({"role_mapping": {"event": "wizard"}}, "unknown role_mapping.event 'wizard'"),
        ({"ephemeral_position": "before"}, "did you mean 'before_user'"),
        ({"tool_pairing": "fix"}, "unknown tool_pairing 'fix'"),
        (lambda *_: {"format": "html"}, "unknown format 'html'"),
    ],
)
def test_a_configuration_with_a_mistake(transformation: Any, message: str) -> None:
    """An unknown key or value is an error."""
    with pytest.raises(ConfigError, match=message) as caught:
        render(User("u"), transformation=transformation)
    assert () != caught.value.at


# Targets.


def test_no_target() -> None:
    """Rendered for no target there is no payload."""
    with pytest.raises(TargetError, match="rendered without a target") as caught:
        render(support()).payload()
    assert (f"{__file__}:{this_line() - 1}",) == caught.value.at


@pytest.mark.parametrize(
    ("target", "method"),
    [("openai", "to_anthropic"), ("openai_compatible", "to_anthropic"), ("anthropic", "to_openai")],
)
def test_another_target(target: str, method: str) -> None:
    """Another adapter's method is an error that says how to render for it."""
    rendered = render(support(), provider=target)
    with pytest.raises(
        TargetError, match=r"render\(tree, provider='(openai|anthropic)'\)"
    ) as caught:
        getattr(rendered, method)()
    assert (f"{__file__}:{this_line() - 1}",) == caught.value.at


@pytest.mark.parametrize(
    ("target", "method"),
    [("openai", "to_openai"), ("openai_compatible", "to_openai"), ("anthropic", "to_anthropic")],
)
def test_its_own_method(target: str, method: str) -> None:
    """The target's own method is its payload."""
    rendered = render(support(), provider=target)
    assert rendered.payload() == getattr(rendered, method)()


@pytest.mark.parametrize(
    ("target", "method"), [("openai", "to_openai"), ("anthropic", "to_anthropic")]
)
def test_a_method_without_a_target(target: str, method: str) -> None:
    """Rendered for no target, a method gives what rendering for its target gives."""
    own: Any = {"merge_consecutive": False, "format": "xml"}
    expected = render(support(), provider=target, transformation=own).payload()
    assert expected == getattr(render(support(), transformation=own), method)()


@pytest.mark.parametrize("model", ["claude-opus-5-5", "gpt-5"])
def test_a_model_names_its_provider(model: str) -> None:
    """With only a model, its name tells the target."""
    assert {"claude-opus-5-5": "anthropic", "gpt-5": "openai"}[model] == (
        render(User("u"), model=model).facts.provider
    )


@pytest.mark.parametrize("method", ["to_openai", "to_anthropic"])
def test_a_method_goes_on_from_what_was_read(tmp_path: Path, method: str) -> None:
    """A method without a target reads no recording a second time."""
    path = tmp_path / "dot.png"
    path.write_bytes(PNG)
    picture = {"type": "image", "source": {"type": "path", "path": str(path)}}
    history = History([{"role": "user", "content": ["Look:", picture]}])
    rendered = render(history, media_roots=[tmp_path])
    path.unlink()
    assert 2 == len(getattr(rendered, method)()["messages"][0]["content"])


def test_a_strict_render_is_strict_for_every_target() -> None:
    """Rendered strictly for no target, a method is as strict."""
    rendered = render(Timeline(User("u"), Developer("d"), User("v")), strict=True)
    assert 3 == len(rendered.to_openai()["messages"])
    with pytest.raises(LossError, match="developer message"):
        rendered.to_anthropic()


def test_content_only() -> None:
    """A payload holds content only: no model, no limit, no setting."""
    assert {"messages"} == set(render(support(), model="gpt-5").payload())
    assert {"system", "messages"} == set(render(support(), model="claude-opus-5-5").payload())


# Losses.


def test_where_a_loss_is_from() -> None:
    """A loss has a kind, the address of its turn, file, line and a reason."""
    first = this_line() + 1
    tree = Timeline(
        User("u"),
        Developer("d"),
        User("v", name="ada", id="q"),
        Event("e"),
    )
    losses = reported(render(tree, model="claude-opus-4-5"))
    assert [
        ("role", "developer[0]", first + 2),
        ("hint", "q", first + 3),
    ] == sorted(
        [(loss.kind, loss.path, loss.source and loss.source.line) for loss in losses],
        key=lambda loss: loss[2] or 0,
    )
    assert {(True, __file__)} == {(bool(x.why), x.source and x.source.file) for x in losses}


NAMED = [
    {"role": "user", "content": "u"},
    {"role": "assistant", "content": "a"},
    {"role": "user", "content": "v", "name": "ada"},
]


@pytest.mark.parametrize(
    "content",
    [
        lambda history: [history],
        lambda history: [System("s"), history],
        lambda history: [history, Assistant("w")],
        lambda history: [Ephemeral("e", position="end"), history],
        lambda history: [Grounding("g", "e"), history],
    ],
)
@pytest.mark.parametrize(
    "recorded",
    [
        History(NAMED),
        History([Message.from_dict(item) for item in NAMED]),
        History.from_openai(NAMED),
    ],
)
def test_where_a_recorded_loss_is_from(
    content: Callable[[Node], list[Node]], recorded: History
) -> None:
    """A recorded message's loss has its place in the recording and the line of its History."""
    hints = render(Timeline(*content(recorded)), model="claude-opus-5-5").hints
    [loss] = [loss for loss in hints if "name" in loss.what]
    assert ("hint", "history[2]", str(recorded.source)) == (loss.kind, loss.path, str(loss.source))


def test_losses_of_a_prompt() -> None:
    """What a target cannot say of a prompt's tools and form has the line that renders it."""
    tools = (ToolDefinition("f", extra={"own": 1}, origin="openai"),)
    prompt = Prompt((Message("user", "x", name="Ada"),), tools, output=OutputSchema({}))
    losses, place = render(prompt, provider="anthropic").hints, f"{__file__}:{this_line()}"
    unknown = "this model is unknown; name one that takes an output schema"
    prompted = f"{unknown}: it is sent as the last part of the system text"
    assert [
        f"hint: the output schema: {prompted}: {place}",
        f"hint: key 'own' (tools/f): anthropic has no such key: {place}",
        f"hint: name of a speaker (history[0]): the target takes no speaker's name: {place}",
    ] == [str(loss) for loss in losses]


@pytest.mark.parametrize(
    ("tree", "model", "kinds"),
    [
        (support(), "gpt-5", []),
        (Timeline(User("u"), Developer("d")), "claude-opus-5-5", []),
        (Timeline(User("u"), Developer("d")), "claude-opus-4-5", ["role"]),
        (Timeline(User("u"), Event("e")), "claude-opus-4-5", []),
        (Timeline(User("u"), Ephemeral("e")), "claude-opus-4-5", []),
        (Timeline(User("u\ud800")), "gpt-5", ["content"]),
        (
            Timeline(User("u"), Assistant("a", ToolUse("t", {}, id="c")), ToolMessage("c", "x")),
            *("gpt-5", []),
        ),
        (Timeline(User("u", id="q", metadata={"n": 1}, tags=("t",))), "claude-opus-5-5", []),
    ],
)
def test_what_is_a_loss(tree: Timeline, model: str, kinds: list[str]) -> None:
    """What the target cannot say is a loss at render; ids, metadata and tags are none."""
    assert kinds == [loss.kind for loss in render(tree, model=model).losses]


def test_a_role_that_was_asked_for_is_no_loss() -> None:
    """An event sent in the user turn because the author said so is no loss."""
    mapping = {"role_mapping": {"event": "user", "ephemeral": "user"}}
    tree = Timeline(User("u"), Event("e"), Ephemeral("x"))
    assert () == reported(render(tree, model="claude-opus-4-5", transformation=mapping))


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (Timeline(User("u"), Developer("d")), "developer message can only be sent in another role"),
        (Timeline(User("u\ud800")), "a lone surrogate cannot be sent"),
    ],
)
def test_strict(tree: Timeline, message: str) -> None:
    """A strict render raises for text that is not sent, or sent in another voice, with its line."""
    with pytest.raises(LossError, match=message) as caught:
        render(tree, model="claude-opus-4-5", strict=True)
    assert caught.value.at[0].startswith(f"{__file__}:")


def test_strict_names_the_line() -> None:
    """The line is that of the turn that loses."""
    turn, written = Developer("d"), this_line()
    with pytest.raises(LossError) as caught:
        render(Timeline(User("u"), turn), model="claude-opus-4-5", strict=True)
    assert (f"{__file__}:{written}",) == caught.value.at


def test_a_hint_is_not_strict() -> None:
    """A strict render takes what is only a hint."""
    tree = Timeline(
        User("u", name="ada"),
        User("v", name="bob"),
    )
    assert ["hint", "hint"] == [
        hint.kind for hint in render(tree, model="claude-opus-4-5", strict=True).hints
    ]


@every_target
def test_nothing_lost(target: str) -> None:
    """A prompt that every target can say loses nothing anywhere."""
    tree = Timeline(System("s"), User("u"), Assistant("a"), User("v"))
    assert () == reported(render(tree, provider=target, strict=True))


# Instructions in mid-conversation.


def sent(model: str, *content: Any) -> list[tuple[str, ...]]:
    """Return role and texts of what is sent to a Claude model, the system text first."""
    payload: Any = render(Timeline(*content), model=model).payload()
    system = [("", *(block["text"] for block in payload.get("system", [])))]
    return system[: "system" in payload] + [
        (m["role"], *(block.get("text", block["type"]) for block in m["content"]))
        for m in payload["messages"]
    ]


NATIVE = "claude-opus-5-5"
FENCED = "claude-opus-4-5"
D = "<developer>\nd\n</developer>"
E = "<event>\ne\n</event>"
X = "<context>\nx\n</context>"


@pytest.mark.parametrize(
    ("content", "native", "fenced"),
    [
        (
            [User("u"), Developer("d"), Assistant("a")],
            [("user", "u"), ("system", "d"), ("assistant", "a")],
            [("user", "u", D), ("assistant", "a")],
        ),
        (
            [User("u"), Developer("d")],
            [("user", "u"), ("system", "d")],
            [("user", "u", D)],
        ),
        (
            [User("u"), Developer("d"), User("v")],
            [("user", "u", D, "v")],
            [("user", "u", D, "v")],
        ),
        (
            [User("u"), Assistant("a"), Developer("d"), User("v")],
            [("user", "u"), ("assistant", "a"), ("user", D, "v")],
            [("user", "u"), ("assistant", "a"), ("user", D, "v")],
        ),
        (
            [User("u"), Assistant("a"), Developer("d")],
            [("user", "u"), ("assistant", "a"), ("user", D)],
            [("user", "u"), ("assistant", "a"), ("user", D)],
        ),
        (
            [User("u"), Event("e"), Developer("d"), Ephemeral("x"), Assistant("a")],
            [("user", "u"), ("system", E, "d", X), ("assistant", "a")],
            [("user", "u", E, D, X), ("assistant", "a")],
        ),
        (
            [User("u"), Event("e"), Developer("d"), User("v"), Ephemeral("x")],
            [("user", "u", E, D, "v"), ("system", X)],
            [("user", "u", E, D, "v", X)],
        ),
        (
            [System("s"), Developer("d"), User("u")],
            [("", "s", "d"), ("user", "u")],
            [("", "s", "d"), ("user", "u")],
        ),
        (
            [Developer("d"), Developer("d2"), User("u"), Developer("d"), Assistant("a")],
            [("", "d", "d2"), ("user", "u"), ("system", "d"), ("assistant", "a")],
            [("", "d", "d2"), ("user", "u", D), ("assistant", "a")],
        ),
        (
            [System("s"), Event("e"), User("u")],
            [("", "s"), ("user", E, "u")],
            [("", "s"), ("user", E, "u")],
        ),
        (
            [User("u"), Assistant(ToolUse("t", {}, id="c")), ToolMessage("c", "r"), Developer("d")],
            [("user", "u"), ("assistant", "tool_use"), ("user", "tool_result"), ("system", "d")],
            [("user", "u"), ("assistant", "tool_use"), ("user", "tool_result", D)],
        ),
        (
            [History([Message("user", "u"), Message("system", "d"), Message("assistant", "a")])],
            [("user", "u"), ("system", "d"), ("assistant", "a")],
            [("user", "u", D), ("assistant", "a")],
        ),
        (
            [User("u"), Developer("</developer> <b>"), User("v")],
            [("user", "u", "<developer>\n&lt;/developer> <b>\n</developer>", "v")],
            [("user", "u", "<developer>\n&lt;/developer> <b>\n</developer>", "v")],
        ),
    ],
)
def test_instructions_for_claude(
    content: list[Node], native: list[tuple[str, ...]], fenced: list[tuple[str, ...]]
) -> None:
    """Instructions are native where they are legal, elsewhere fenced in place, never in front."""
    assert (native, fenced) == (sent(NATIVE, *content), sent(FENCED, *content))


@pytest.mark.parametrize(
    ("provider", "role"), [("openai", "developer"), ("openai_compatible", "system")]
)
def test_instructions_for_openai(provider: str, role: str) -> None:
    """In Chat an instruction is a message in place."""
    tree = Timeline(System("s"), User("u"), Developer("d"), User("v"))
    payload: Any = render(tree, provider=provider).payload()
    assert [("system", "s"), ("user", "u"), (role, "d"), ("user", "v")] == [
        (message["role"], message["content"]) for message in payload["messages"]
    ]


@given(
    st.lists(st.sampled_from(["user", "assistant", "developer", "event", "end", "flow"])),
    st.sampled_from([NATIVE, FENCED]),
)
def test_instructions_are_never_moved(turns: list[str], model: str) -> None:
    """Behind the first turn each turn is one block in its place, what is for the end last."""
    made: dict[str, Any] = {
        "user": User,
        "assistant": Assistant,
        "developer": Developer,
        "event": Event,
        "end": lambda text: Ephemeral(text, position="end"),
        "flow": Ephemeral,
    }
    written = [made[turn](f"({number})") for number, turn in enumerate(turns)]
    payload: Any = render(Timeline(User("(u)"), *written), model=model).payload()
    texts = [block["text"] for message in payload["messages"] for block in message["content"]]
    in_place = [f"({number})" for number, turn in enumerate(turns) if turn != "end"]
    at_the_end = [f"({number})" for number, turn in enumerate(turns) if turn == "end"]
    assert ["(u)", *in_place, *at_the_end] == [unfenced(text) for text in texts]


def unfenced(text: str) -> str:
    """Return the one line in a fence; any other text is returned as it is."""
    fence = re.fullmatch(r"<(\w+)>\n(.*)\n</\1>", text)
    return fence[2] if fence else text


def test_a_result_is_a_rendered() -> None:
    """Rendering gives a Rendered, which holds the messages."""
    rendered = render(User("u"))
    assert (Rendered, (Message("user", "u"),)) == (type(rendered), rendered.messages)


def test_a_wrong_transformation_names_the_line_of_the_render() -> None:
    """A mistake in ``render(transformation=...)`` is shown where it was written."""
    tree = User("x")
    with pytest.raises(ConfigError) as caught:
        render(tree, transformation={"formt": "xml"})
    assert (f"{__file__}:{currentframe().f_lineno - 1}",) == caught.value.at  # type: ignore[union-attr]


@pytest.mark.parametrize("options", [{"model": 5}, {"provider": 5}, {"provider": "gemeni"}])
def test_a_wrong_target_names_the_line_of_the_render(options: dict[str, Any]) -> None:
    """A model that is no name and a provider nobody knows are errors with the author's line."""
    with pytest.raises(PromptError) as caught:
        render(User("x"), **options)
    assert __file__ == caught.value.at[0].rpartition(":")[0]


def test_one_folder_is_one_media_root(tmp_path: Path) -> None:
    """A string given as ``media_roots`` is one folder: it opens nothing else."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    history = [{"role": "user", "content": [{"type": "image", "path": f"{tmp_path}/secret.png"}]}]
    with pytest.raises(MediaError):
        render(History(history), media_roots=str(inside))


def test_what_is_lost_on_a_target_can_be_asked_for() -> None:
    """A prompt rendered for no target says for each target what is lost there."""
    picture = Image.from_url("https://e.org/a.png")
    rendered = render(Timeline(User("q"), Assistant("a", picture), User("r")))
    assert ((), ["content"], ["content"]) == (
        reported(rendered),
        [loss.kind for loss in rendered.for_target("openai").losses],
        [loss.kind for loss in rendered.for_target("anthropic").losses],
    )


def test_a_format_block_that_cannot_be_hashed_is_used() -> None:
    """Any callable formats blocks, one without a hash too."""

    class Shout(list[str]):
        def __call__(self, block: object) -> str:
            return "LOUD"

    tree = Timeline(Event(UserAction("a")), User("q"))
    found = render(tree, transformation={"format_block": Shout()}).messages[0].content[0]
    assert '<event type="user_action">\nLOUD\n</event>' == found.text  # type: ignore[union-attr]


# Waiting for lazies.


async def now(_: LazyContext) -> str:
    """Return a text without waiting."""
    return "<now>"


def later(made: Any) -> Lazy:
    """Return a lazy that comes to something after a pause."""

    async def answer(_: LazyContext) -> Any:
        await asyncio.sleep(0)
        return made

    return Lazy(answer)


@pytest.mark.native
@pytest.mark.parametrize("model", [None, "gpt-5", "claude-opus-5"])
@pytest.mark.parametrize("audience", ["model", "people"])
def test_arender_is_render(model: str | None, audience: str) -> None:
    """Where nothing has to be awaited, ``arender`` gives what ``render`` gives."""
    tree = Timeline(
        System(Lazy(lambda context: f"{context.model} <b>"), Note("n")),
        History([{"role": "user", "content": "h\ud800"}]),
        Lazy(lambda _: Assistant("a", Lazy(lambda _: Section("s", "x")))),
        User("q"),
    )
    one = render(tree, model=model, audience=audience)
    two = asyncio.run(arender(tree, model=model, audience=audience))
    assert (one.messages, one.losses, one.config, one.outline()) == (
        two.messages,
        two.losses,
        two.config,
        two.outline(),
    )
    assert [stage.name for stage in one.stages()] == [stage.name for stage in two.stages()]


@pytest.mark.native
def test_functions_run_concurrently() -> None:
    """All functions of a round run before any has to be done: each waits for the next one."""

    async def main() -> list[ShortForm]:
        begun = [asyncio.Event() for _ in range(5)]

        def waiting(number: int) -> Lazy:
            async def answer(_: LazyContext) -> str:
                begun[number].set()
                await asyncio.gather(*(event.wait() for event in begun))
                return str(number)

            return Lazy(answer)

        return short_form((await arender(User(*map(waiting, range(5))))).messages)

    assert [("user", "0", "1", "2", "3", "4")] == asyncio.run(main())


@pytest.mark.native
def test_answers_stand_in_document_order() -> None:
    """Whichever function is done first, what it wrote stands where its lazy stood."""

    async def main() -> tuple[list[int], list[ShortForm]]:
        done: list[int] = []
        turns = [asyncio.Event() for _ in range(5)]
        turns[4].set()

        def waiting(number: int) -> Lazy:
            async def answer(_: LazyContext) -> str:
                await turns[number].wait()
                done.append(number)
                turns[number - 1].set()
                return str(number)

            return Lazy(answer)

        rendered = await arender(User(*map(waiting, range(5))))
        return done, short_form(rendered.messages)

    expected = ([4, 3, 2, 1, 0], [("user", "0", "1", "2", "3", "4")])
    assert expected == asyncio.run(main())


@pytest.mark.native
def test_asynchronous_and_other_functions_together() -> None:
    """Functions that are awaited and others stand beside each other and in each other."""
    tree = Timeline(
        System(later("a"), Lazy(lambda _: "b"), Lazy(now)),
        Lazy(lambda _: User(later(Fragment("c", later(Value("d")))))),
        later(Assistant(Lazy(lambda _: "e"))),
    )
    assert [
        ("system", "a\n\nb\n\n&lt;now>"),
        ("user", "c", "d"),
        ("assistant", "e"),
    ] == short_form(asyncio.run(arender(tree)).messages)


@pytest.mark.native
def test_functions_are_called_once_by_arender() -> None:
    """However many rounds it takes, each function is called once."""
    called: list[str] = []

    def noting(name: str, made: Any = None) -> Lazy:
        async def answer(_: LazyContext) -> Any:
            called.append(name)
            return made

        return Lazy(answer)

    tree = User(noting("a", noting("b", noting("c", "x"))), noting("d", "y"))
    assert [("user", "x", "y")] == short_form(asyncio.run(arender(tree)).messages)
    assert ["a", "d", "b", "c"] == called


@pytest.mark.native
def test_the_first_error_in_the_document_is_raised() -> None:
    """The exception of the first lazy that failed is raised, once all others are done."""

    async def main() -> tuple[BaseException, list[str]]:
        done: list[str] = []
        failed = asyncio.Event()

        async def first(_: LazyContext) -> str:
            await failed.wait()
            raise KeyError("first")

        async def second(_: LazyContext) -> str:
            failed.set()
            raise KeyError("second")

        async def third(_: LazyContext) -> str:
            await failed.wait()
            await asyncio.sleep(0.01)
            done.append("third")
            return "third"

        with pytest.raises(KeyError) as caught:
            await arender(User(Lazy(now), Lazy(first), Lazy(second), Lazy(third)))
        return caught.value, done

    error, done = asyncio.run(main())
    assert (("first",), ["third"]) == (error.args, done)


@pytest.mark.native
def test_the_first_error_may_be_what_was_returned() -> None:
    """What cannot be content counts where its lazy stands, before what others raise."""

    def failing(_: LazyContext) -> None:
        raise KeyError

    lazy, written = later(["a"]), later.__code__.co_firstlineno
    with pytest.raises(ContentError, match="a list cannot be content of a Lazy") as caught:
        asyncio.run(arender(User(lazy, Lazy(failing))))
    assert (f"{__file__}:{written + 7}",) == caught.value.at


@pytest.mark.native
def test_an_exception_that_is_returned_is_not_raised() -> None:
    """A function that returns an exception returned no content: it did not raise."""
    with pytest.raises(ContentError, match="a KeyError cannot be content of a Lazy"):
        asyncio.run(arender(User(later(KeyError("x")))))


@pytest.mark.native
def test_cancelling_cancels_the_functions() -> None:
    """Who cancels ``arender`` cancels what it waits for, and nothing goes on behind it."""

    async def main() -> list[str]:
        ended: list[str] = []
        begun = [asyncio.Event(), asyncio.Event()]

        def waiting(number: int) -> Lazy:
            async def answer(_: LazyContext) -> None:
                begun[number].set()
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    ended.append(f"cancelled {number}")
                    raise

            return Lazy(answer)

        task = asyncio.create_task(arender(User(waiting(0), waiting(1))))
        await asyncio.gather(*(event.wait() for event in begun))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return [*ended, str(len(asyncio.all_tasks()))]

    assert ["cancelled 0", "cancelled 1", "1"] == asyncio.run(main())


@pytest.mark.native
def test_no_block_is_open_in_any_function() -> None:
    """Each function runs where no block is open, with pauses too, and they do not mix."""

    def writing(number: int) -> Lazy:
        async def answer(_: LazyContext) -> Node:
            Text("lost")
            with Section(f"s{number}") as part:
                await asyncio.sleep(0)
                Text(number)
                await asyncio.sleep(0)
            return part

        return Lazy(answer)

    async def main() -> list[ShortForm]:
        with System("around"):
            with detached():
                tree = User(*map(writing, range(5)))
            rendered = await arender(tree)
        return short_form(rendered.messages)

    assert [("user", "0", "1", "2", "3", "4")] == asyncio.run(main())


@pytest.mark.native
def test_prompts_rendered_beside_each_other() -> None:
    """Many prompts can be awaited at once in one loop, each with the overrides of its own."""

    @component
    def number() -> str:
        return "none"

    def by(value: int) -> Lazy:
        async def answer(_: LazyContext) -> Node:
            await asyncio.sleep(0)
            return number()

        with override({"number": lambda: str(value)}):
            return Lazy(answer)

    async def main() -> list[list[ShortForm]]:
        rendered = await asyncio.gather(*(arender(User(by(value))) for value in range(10)))
        return [short_form(one.messages) for one in rendered]

    assert [[("user", str(value))] for value in range(10)] == asyncio.run(main())


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"audience": "modell"}, OptionError),
        ({"model": 5}, OptionError),
        ({"provider": "gemeni"}, TargetError),
        ({"transformation": {"formt": "xml"}}, ConfigError),
        ({"media_roots": 3}, OptionError),
    ],
)
def test_wrong_arguments_of_arender(options: dict[str, Any], kind: type[PromptError]) -> None:
    """What is wrong with a call is raised by it, not when it is awaited, with its line."""
    with pytest.raises(kind) as caught:
        arender(User("x"), **options)  # type: ignore[unused-coroutine]
    assert (f"{__file__}:{this_line() - 1}",) == caught.value.at


def test_what_arender_cannot_render() -> None:
    """What is no prompt is refused with the line of the call."""
    with pytest.raises(ContentError, match="a prompt must be a Timeline") as caught:
        arender("text")  # type: ignore[arg-type, unused-coroutine]
    assert (f"{__file__}:{this_line() - 1}",) == caught.value.at


# A prompt that was read.


def test_a_prompt_that_was_read() -> None:
    """What was read of a payload is rendered again, with its tools, choice and form."""
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    tree = Timeline(
        Tool(name="t", input_schema=schema), Output(schema), System("s"), User("a"), Assistant("b")
    )
    payload = render(tree, model="gpt-5", tool_choice="t").to_openai()
    again = render(read_payload(payload, "openai"), model="gpt-5")
    assert (payload, "t") == (again.to_openai(), again.tool_choice)


def test_a_prompt_goes_elsewhere() -> None:
    """A payload of one provider becomes that of another, tools and all."""
    tree = Timeline(Tool(name="t"), System("s"), User("a"))
    read = read_payload(render(tree, provider="bedrock", tool_choice="auto").payload(), "bedrock")
    assert render(tree, provider="gemini", tool_choice="auto").payload() == (
        render(read, provider="gemini").payload()
    )


def test_a_given_choice_wins() -> None:
    """A choice of tools that is given wins over the one that was read."""
    read = Prompt((Message("user", "a"),), (ToolDefinition("t"),), "required")
    assert ("none", "required") == (
        render(read, tool_choice="none").tool_choice,
        render(read).tool_choice,
    )


# What cannot be asked for.


@pytest.mark.parametrize(
    ("options", "what", "fix"),
    [
        ({"tool_choice": "any"}, "tool_choice='any'", "did you mean 'required'?"),
        ({"tool_choice": "fnid"}, "tool_choice='fnid'", "did you mean 'find'?"),
        ({"strict": "yes"}, "strict='yes'", "write True or False"),
        ({"hints": "no"}, "hints='no'", "write True or False"),
        ({"chat_template": 5}, "a chat template is", ""),
    ],
)
def test_wrong_requests(options: dict[str, Any], what: str, fix: str) -> None:
    """What cannot be asked for is an error with the author's line."""
    tree = Timeline(Tool(name="find"), User("a"))
    with pytest.raises(PromptError) as caught:
        render(tree, **options)
    assert (True, True, True) == (
        caught.value.what.startswith(what),
        fix in caught.value.fix,
        __file__ in caught.value.at[0],
    )


def test_a_choice_without_tools() -> None:
    """To require a call there has to be a tool."""
    with pytest.raises(OptionError, match="there are no tools"):
        render(Timeline(User("a")), tool_choice="required")


@pytest.mark.native
def test_an_awaited_choice_names_its_line() -> None:
    """Also what is awaited names the line of its author."""
    tree = Timeline(Tool(name="find"), User("a"))
    with pytest.raises(OptionError) as caught:
        asyncio.run(arender(tree, tool_choice="nope"))
    assert __file__ in caught.value.at[0]


@pytest.mark.parametrize("target", [{"provider": "anthropic"}, {"model": "gpt-5"}])
def test_a_chat_template_of_no_open_model(target: dict[str, str]) -> None:
    """A provider that takes no chat template is not given one in silence."""
    with pytest.raises(TargetError, match="takes no chat template"):
        render(Timeline(User("a")), chat_template="{{ messages }}", **target)  # type: ignore[arg-type]


def test_another_target_of_a_chat_template() -> None:
    """What was rendered for a chat template can go elsewhere."""
    rendered = render(
        Timeline(User("a")), chat_template="{% for m in messages %}{{ m.content }}{% endfor %}"
    )
    assert render(Timeline(User("a")), provider="openai").payload() == (
        rendered.for_target("openai").payload()
    )


def test_the_way_out_keeps_the_model() -> None:
    """What says how to render for another target keeps the model."""
    rendered = render(Timeline(User("a")), model="gpt-5")
    with pytest.raises(TargetError) as caught:
        rendered.to_openai_responses()
    assert "model='gpt-5', provider='openai_responses'" in caught.value.fix


def test_a_model_that_nobody_knows() -> None:
    """Where the model is not known, it is its provider that has to be named."""
    with pytest.raises(TargetError, match="the model 'marvin' is unknown") as caught:
        render(Timeline(User("a")), model="marvin").payload()
    assert 'provider="openai_compatible"' in caught.value.fix
