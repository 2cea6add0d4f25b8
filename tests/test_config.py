"""How layers of configuration become the one that holds."""

import json
import pickle
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import raised, this_line
from tests.internals import (
    EPHEMERAL_DELIMITER,
    EVENT_DELIMITER,
    LIBRARY,
    NO_DELIMITER,
    Delimiter,
    Delimiters,
    Resolved,
    resolve,
)
from tests.tolerant_reader import OWN

DID = Delimiter("pair", "<did>", "</did>")
NOTE = Delimiter("prefix", "Note: ")
EVENT_TYPES = ("user_action", "state_change", "system_event", "text")


def shout(block: Block) -> Block:
    """Format a block in capitals."""
    return TextBlock(block.text.upper()) if isinstance(block, TextBlock) else block


def whisper(block: Block) -> Block:
    """Format a block in small letters."""
    return TextBlock(block.text.lower()) if isinstance(block, TextBlock) else block


class Unhashable:
    """A format function that cannot be hashed."""

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, block: Block) -> Block:
        """Return the block unchanged."""
        return block


def config(options: Mapping[str, Any]) -> MessageTransformationConfig:
    """Return the configuration of options that no type checker sees."""
    return MessageTransformationConfig(**options)


def answering(answer: Any) -> Callable[[str | None, str | None], Any]:
    """Return a transformation function that returns ``answer`` whatever the target."""

    def transformation(_model: str | None, _provider: str | None) -> Any:
        return answer

    return transformation


# Every value a field can have, by flat key: what is written, and what comes of it.
VALUES: list[tuple[str, dict[str, Any], Any]] = [
    ("role_mapping.event", {"role_mapping": {"event": "user"}}, "user"),
    ("role_mapping.event", {"role_mapping": {"event": "developer"}}, "developer"),
    ("role_mapping.event", {"role_mapping": {"event": "system"}}, "system"),
    ("role_mapping.ephemeral", {"role_mapping": {"ephemeral": "user"}}, "user"),
    ("role_mapping.ephemeral", {"role_mapping": {"ephemeral": "developer"}}, "developer"),
    ("role_mapping.ephemeral", {"role_mapping": {"ephemeral": "system"}}, "system"),
    *(
        (f"delimiters.event.{type}", {"delimiters": {"event": {type: written}}}, delimiter)
        for type in EVENT_TYPES
        for written, delimiter in [
            (("<did>", "</did>"), DID),
            ("Note: ", NOTE),
            (None, NO_DELIMITER),
        ]
    ),
    *(
        (f"delimiters.event.{type}", {"delimiters": {"event": written}}, delimiter)
        for type in EVENT_TYPES
        for written, delimiter in [
            (("<did>", "</did>"), DID),
            ("Note: ", NOTE),
            (None, NO_DELIMITER),
        ]
    ),
    ("delimiters.ephemeral", {"delimiters": {"ephemeral": ("<did>", "</did>")}}, DID),
    ("delimiters.ephemeral", {"delimiters": {"ephemeral": ["<did>", "</did>"]}}, DID),
    ("delimiters.ephemeral", {"delimiters": {"ephemeral": "Note: "}}, NOTE),
    ("delimiters.ephemeral", {"delimiters": {"ephemeral": None}}, NO_DELIMITER),
    ("encoding.body", {"encoding": {"body": "minimal"}}, "minimal"),
    ("encoding.body", {"encoding": {"body": "full"}}, "full"),
    ("format_block", {"format_block": shout}, shout),
    ("format_block", {"format_block": None}, None),
    ("ephemeral_position", {"ephemeral_position": "flow"}, "flow"),
    ("ephemeral_position", {"ephemeral_position": "after_system"}, "after_system"),
    ("ephemeral_position", {"ephemeral_position": "start"}, "start"),
    ("ephemeral_position", {"ephemeral_position": "before_user"}, "before_user"),
    ("ephemeral_position", {"ephemeral_position": "end"}, "end"),
    ("format", {"format": "markdown"}, "markdown"),
    ("format", {"format": "xml"}, "xml"),
    ("merge_consecutive", {"merge_consecutive": True}, True),
    ("merge_consecutive", {"merge_consecutive": False}, False),
    ("merge_separator", {"merge_separator": ""}, ""),
    ("merge_separator", {"merge_separator": "\n\t "}, "\n\t "),
    ("lone_text", {"lone_text": "string"}, "string"),
    ("lone_text", {"lone_text": "list"}, "list"),
    ("lone_text", {"lone_text": None}, None),
    ("join_texts", {"join_texts": True}, True),
    ("join_texts", {"join_texts": False}, False),
    ("json_keys", {"json_keys": "sorted"}, "sorted"),
    ("json_keys", {"json_keys": None}, None),
    ("tool_pairing", {"tool_pairing": "error"}, "error"),
    ("tool_pairing", {"tool_pairing": "fill"}, "fill"),
    ("tool_pairing", {"tool_pairing": "prune"}, "prune"),
    ("tool_pairing", {"tool_pairing": "keep"}, "keep"),
    ("guard_conversation", {"guard_conversation": True}, True),
    ("guard_conversation", {"guard_conversation": False}, False),
]

# Two different values of every field.
PAIRS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "role_mapping.event",
        {"role_mapping": {"event": "user"}},
        {"role_mapping": {"event": "system"}},
    ),
    (
        "role_mapping.ephemeral",
        {"role_mapping": {"ephemeral": "developer"}},
        {"role_mapping": {"ephemeral": "user"}},
    ),
    *(
        (
            f"delimiters.event.{type}",
            {"delimiters": {"event": {type: ("<did>", "</did>")}}},
            {"delimiters": {"event": {type: None}}},
        )
        for type in EVENT_TYPES
    ),
    (
        "delimiters.ephemeral",
        {"delimiters": {"ephemeral": "Note: "}},
        {"delimiters": {"ephemeral": ("<did>", "</did>")}},
    ),
    ("encoding.body", {"encoding": {"body": "full"}}, {"encoding": {"body": "minimal"}}),
    ("format_block", {"format_block": shout}, {"format_block": whisper}),
    ("format_block", {"format_block": shout}, {"format_block": None}),
    ("ephemeral_position", {"ephemeral_position": "end"}, {"ephemeral_position": "flow"}),
    ("format", {"format": "xml"}, {"format": "markdown"}),
    ("merge_consecutive", {"merge_consecutive": False}, {"merge_consecutive": True}),
    ("merge_separator", {"merge_separator": " "}, {"merge_separator": "\n\n"}),
    ("lone_text", {"lone_text": "string"}, {"lone_text": None}),
    ("join_texts", {"join_texts": False}, {"join_texts": True}),
    ("json_keys", {"json_keys": "sorted"}, {"json_keys": None}),
    ("tool_pairing", {"tool_pairing": "fill"}, {"tool_pairing": "prune"}),
    ("guard_conversation", {"guard_conversation": True}, {"guard_conversation": False}),
]
NAMES = ("provider anthropic", "model gpt-3.5", "Timeline", "render")
NEIGHBOURS = [("library", NAMES[0]), *pairwise(NAMES)]


# Defaults.


def test_library_defaults() -> None:
    """Without a layer every value is the library's."""
    expected = Resolved(
        event_role="user",
        ephemeral_role="user",
        delimiters=Delimiters(),
        body_encoding="minimal",
        inline_encoding="readable",
        format_block=None,
        ephemeral_position="flow",
        format="markdown",
        merge_consecutive=True,
        merge_separator="\n\n",
        lone_text=None,
        join_texts=True,
        json_keys=None,
        tool_pairing="error",
        guard_conversation=False,
        silent_hints=(),
    )
    assert expected == resolve([])


def test_library_delimiters() -> None:
    """Events are in an event tag and request-only turns in a context tag, with attributes."""
    assert (
        Delimiter("default", "<event>", "</event>"),
        Delimiter("default", "<context>", "</context>"),
    ) == (EVENT_DELIMITER, EPHEMERAL_DELIMITER)


def test_library_explanation() -> None:
    """Without a layer every value is explained by the library, in the order of the fields."""
    assert [(key, (value, "library")) for key, value in LIBRARY.items()] == list(
        resolve([]).explain().items()
    )


@pytest.mark.parametrize("layer", [None, {}, MessageTransformationConfig(), answering(None)])
def test_a_layer_may_say_nothing(layer: Any) -> None:
    """A layer that is absent, empty or a function that returns nothing changes nothing."""
    assert resolve([]).explain() == resolve([("render", layer)]).explain()


@pytest.mark.parametrize(
    "options",
    [{"role_mapping": {}}, {"delimiters": {}}, {"delimiters": {"event": {}}}, {"encoding": {}}],
)
def test_a_nested_value_may_be_empty(options: dict[str, Any]) -> None:
    """A nested mapping without keys sets nothing."""
    assert MessageTransformationConfig() == config(options)


# Values and layers.


@pytest.mark.parametrize(("key", "options", "value"), VALUES)
def test_every_value(key: str, options: dict[str, Any], value: Any) -> None:
    """Every value of every field can be set, and the explanation names the layer that set it."""
    assert (value, "render") == resolve([("render", config(options))]).explain()[key]


@pytest.mark.parametrize(("key", "options", "value"), VALUES)
def test_a_mapping_is_a_configuration(key: str, options: dict[str, Any], value: Any) -> None:
    """A plain mapping says what a configuration of the same keywords says."""
    assert (value, "Timeline") == resolve([("Timeline", options)]).explain()[key]


@pytest.mark.parametrize(("lower", "upper"), NEIGHBOURS)
@pytest.mark.parametrize(("key", "first", "second"), PAIRS)
def test_every_layer_wins_over_the_one_before(
    key: str, first: dict[str, Any], second: dict[str, Any], *, lower: str, upper: str
) -> None:
    """For every field the later of two layers sets the value."""
    value = resolve([(upper, second)]).explain()[key][0]
    assert (value, upper) == resolve([(lower, first), (upper, second)]).explain()[key]


@pytest.mark.parametrize("upper", NAMES)
@pytest.mark.parametrize(("key", "options", "_other"), PAIRS)
def test_every_layer_lets_through(
    key: str, options: dict[str, Any], _other: dict[str, Any], upper: str
) -> None:
    """What a later layer leaves out is what the layer below says, the default included."""
    below = resolve([("below", options)]).explain()[key]
    assert (
        below
        == resolve([("below", options), (upper, MessageTransformationConfig())]).explain()[key]
    )


def test_the_passes_read_flat_values() -> None:
    """Every value is on the resolved configuration under the name the passes use."""
    options = config(
        {
            "role_mapping": {"event": "system", "ephemeral": "developer"},
            "delimiters": {"event": {"text": None}, "ephemeral": "Note: "},
            "encoding": {"body": "full"},
            "format_block": shout,
            "ephemeral_position": "end",
            "format": "xml",
            "merge_consecutive": False,
            "merge_separator": "\n",
            "lone_text": "list",
            "join_texts": False,
            "json_keys": "sorted",
            "tool_pairing": "fill",
            "guard_conversation": True,
            "silent_hints": ["white_space", "empty_block"],
        }
    )
    expected = Resolved(
        event_role="system",
        ephemeral_role="developer",
        delimiters=Delimiters(text=NO_DELIMITER, ephemeral=NOTE),
        body_encoding="full",
        inline_encoding="readable",
        format_block=shout,
        ephemeral_position="end",
        format="xml",
        merge_consecutive=False,
        merge_separator="\n",
        lone_text="list",
        join_texts=False,
        json_keys="sorted",
        tool_pairing="fill",
        guard_conversation=True,
        silent_hints=("empty_block", "white_space"),
    )
    assert expected == resolve([("render", options)])


def test_roles_merge_key_by_key() -> None:
    """A layer that maps one role leaves the other to the layer below."""
    found = resolve(
        [
            ("provider anthropic", {"role_mapping": {"event": "developer", "ephemeral": "system"}}),
            ("Timeline", MessageTransformationConfig(role_mapping={"event": "user"})),
        ]
    ).explain()
    assert (("user", "Timeline"), ("system", "provider anthropic")) == (
        found["role_mapping.event"],
        found["role_mapping.ephemeral"],
    )


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param(
            {"user_action": ("<did>", "</did>")},
            {"text": "Note: "},
            (DID, EVENT_DELIMITER, EVENT_DELIMITER, NOTE),
            id="types merge",
        ),
        pytest.param(
            {"user_action": ("<did>", "</did>"), "text": None},
            "Note: ",
            (NOTE, NOTE, NOTE, NOTE),
            id="a single one wins for all",
        ),
        pytest.param(
            "Note: ",
            {"state_change": None},
            (NOTE, NO_DELIMITER, NOTE, NOTE),
            id="a later type wins for itself",
        ),
    ],
)
def test_event_delimiters_merge(first: Any, second: Any, expected: object) -> None:
    """One delimiter for all events overrides every type, a delimiter for a type only that type."""
    delimiters = resolve(
        [
            ("Timeline", {"delimiters": {"event": first}}),
            ("render", {"delimiters": {"event": second}}),
        ]
    ).delimiters
    assert expected == delimiters.all[:4]


OPTIONS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "role_mapping": st.fixed_dictionaries(
            {},
            optional={
                "event": st.sampled_from(["user", "developer", "system"]),
                "ephemeral": st.sampled_from(["user", "developer", "system"]),
            },
        ),
        "delimiters": st.fixed_dictionaries(
            {},
            optional={
                "event": st.none() | st.just("Note: "),
                "ephemeral": st.none() | st.just(("<did>", "</did>")),
            },
        ),
        "format": st.sampled_from(["markdown", "xml"]),
        "merge_consecutive": st.booleans(),
        "tool_pairing": st.sampled_from(["error", "fill", "prune"]),
    },
)


EVENTS = ("user_action", "state_change", "system_event", "text")
FENCES: dict[Any, Delimiter] = {
    None: Delimiter("none", "", ""),
    "Note: ": Delimiter("prefix", "Note: ", ""),
    ("<did>", "</did>"): Delimiter("pair", "<did>", "</did>"),
}
"""What the delimiters of ``OPTIONS`` mean."""


def said_of(options: dict[str, Any]) -> dict[str, Any]:
    """Return what options say of each key."""
    fences = {key: FENCES[value] for key, value in options.get("delimiters", {}).items()}
    roles = {f"role_mapping.{key}": v for key, v in options.get("role_mapping", {}).items()}
    events = {f"delimiters.event.{event}": fences.get("event") for event in EVENTS}
    others = {key: options.get(key) for key in ("format", "merge_consecutive", "tool_pairing")}
    said = {**roles, **events, "delimiters.ephemeral": fences.get("ephemeral"), **others}
    return {key: value for key, value in said.items() if value is not None}


@given(st.lists(OPTIONS, max_size=5))
def test_any_layers_are_updates(layers: list[dict[str, Any]]) -> None:
    """For any layers the last one that sets a key is the one that holds."""
    expected: dict[str, tuple[Any, str]] = {
        key: (value, "library") for key, value in LIBRARY.items()
    } | {
        key: (value, str(number))
        for number, options in enumerate(layers)
        for key, value in said_of(options).items()
    }
    named = [(str(number), config(options)) for number, options in enumerate(layers)]
    assert expected == resolve(named).explain()


@given(OPTIONS)
def test_a_mapping_can_come_from_json(options: dict[str, Any]) -> None:
    """Any configuration that JSON can hold says the same after a trip through it."""
    assert resolve([("render", options)]) == resolve([("render", json.loads(json.dumps(options)))])


# Functions.


def test_a_function_is_given_model_and_provider() -> None:
    """A layer that is a function is called with the model and the provider."""

    def transformation(model: str | None, provider: str | None) -> dict[str, Any]:
        return {"delimiters": {"ephemeral": f"{model} of {provider}"}}

    found = resolve([("Timeline", transformation)], model="m", provider="p")
    assert Delimiter("prefix", "m of p") == found.delimiters.ephemeral


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        (
            [("Timeline", answering({"format": "xml"})), ("render", {"format": "markdown"})],
            ("markdown", "render"),
        ),
        (
            [("Timeline", {"format": "markdown"}), ("render", answering({"format": "xml"}))],
            ("xml", "render"),
        ),
        (
            [
                ("Timeline", {"format": "xml"}),
                ("render", answering(MessageTransformationConfig(merge_consecutive=False))),
            ],
            ("xml", "Timeline"),
        ),
    ],
)
def test_a_function_stands_at_its_place(layers: Any, expected: object) -> None:
    """What a function returns wins over earlier layers and loses to later ones."""
    assert expected == resolve(layers).explain()["format"]


def test_a_function_is_called_every_time() -> None:
    """A function is asked again at every render, and its answer of today is the one that holds."""
    answers = iter(["xml", "markdown"])

    def transformation(_model: str | None, _provider: str | None) -> dict[str, Any]:
        return {"format": next(answers)}

    layers = [("render", transformation)]
    assert ("xml", "markdown") == (resolve(layers).format, resolve(layers).format)


def test_a_mapping_is_read_every_time() -> None:
    """A mapping that changed between two renders says what it says now."""
    options: dict[str, Any] = {"role_mapping": {"event": "user"}}
    before = resolve([("render", options)]).event_role
    options["role_mapping"]["event"] = "system"
    assert ("user", "system") == (before, resolve([("render", options)]).event_role)


def test_a_configuration_is_a_copy() -> None:
    """Changing a mapping after a configuration was made of it does not change the configuration."""
    options: dict[str, Any] = {"event": "user"}
    made = config({"role_mapping": options})
    options["event"] = "system"
    assert MessageTransformationConfig(role_mapping={"event": "user"}) == made


def test_the_same_layers_give_the_same_object() -> None:
    """Configurations that are equal resolve to one object, so that what hangs on it is kept."""
    assert resolve([("render", MessageTransformationConfig(format="xml"))]) is resolve(
        [("render", MessageTransformationConfig(format="xml"))]
    )


def test_a_layer_that_sets_nothing() -> None:
    """A layer that is ``None`` is no layer: without it the object is the same one."""
    layers = [("render", {"format": "xml"})]
    assert resolve(layers) is resolve([("Timeline", None), *layers])


def test_a_function_that_cannot_be_hashed() -> None:
    """A format function that cannot be hashed is used like any other."""
    function = Unhashable()
    assert resolve([("render", {"format_block": function})]).format_block is function


def test_an_explanation_is_fresh() -> None:
    """Changing an explanation that was handed out changes nothing for the next one who asks."""
    resolve([]).explain().clear()
    assert len(LIBRARY) == len(resolve([]).explain())


@pytest.mark.parametrize(
    "value", [config({"format": "xml"}), resolve([("render", {"format": "xml"})])]
)
def test_a_configuration_can_be_pickled(value: object) -> None:
    """A configuration, resolved or not, survives pickling."""
    assert value == pickle.loads(pickle.dumps(value))


# Transformations.


@pytest.mark.parametrize(
    "given",
    [
        {"format": "xml"},
        MessageTransformationConfig(format="xml"),
        answering({"format": "xml"}),
        answering(MessageTransformationConfig(format="xml")),
    ],
)
def test_what_a_transformation_is(given: Any) -> None:
    """A transformation is a mapping, a configuration, or a function that returns one of these."""
    tree = Timeline(User("u"), transformation=given)
    assert (("xml", "Timeline"), ("xml", "render")) == (
        render(tree).explain()["format"],
        render(tree, transformation=given).explain()["format"],
    )


@pytest.mark.parametrize("given", [None, {}, MessageTransformationConfig(), answering(None)])
def test_a_transformation_that_sets_nothing(given: Any) -> None:
    """A transformation may set nothing: the layers below hold."""
    tree = Timeline(User("u"), transformation=given)
    assert {"library"} == {
        layer for _, layer in render(tree, transformation=given).explain().values()
    }


NONE_OF_THEM = "a transformation must be a configuration, a mapping or a function, not "
WHITE = "\n  " + r'write "\n\n" for a blank line, "" for nothing'
FLAG = "\n  write True or False"
NEAR = "\n  did you mean 'white_space'?"
NAMED = '\n  write ["empty_conversation"]'
XML = '\n  write transformation={"format": "xml"}'


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, NONE_OF_THEM + "3" + XML),
        (True, NONE_OF_THEM + "True" + XML),
        ("xml", NONE_OF_THEM + "'xml'" + XML),
        ([("format", "xml")], NONE_OF_THEM + "[('format', 'xml')]" + XML),
        ({1: "xml"}, NONE_OF_THEM + "{1: 'xml'}" + XML),
        ({"formt": "xml"}, "unknown key 'formt' in a configuration\n  did you mean 'format'?"),
        ({"format": "md"}, "unknown format 'md'\n  known: markdown, xml"),
        ({"merge_consecutive": 1}, "merge_consecutive is True or False, not 1" + FLAG),
    ],
)
def test_what_is_no_transformation(given: Any, message: str) -> None:
    """What is no transformation is an error at the line of the Timeline, or of the render."""
    own = raised(ConfigError, lambda: Timeline(User("u"), transformation=given))
    asked = raised(ConfigError, lambda: render(User("u"), transformation=given))
    line = this_line()
    assert (f"{__file__}:{line - 2}: {message}", f"{__file__}:{line - 1}: {message}") == (
        str(own),
        str(asked),
    )


# Delimiters.


@pytest.mark.parametrize("type", EVENT_TYPES)
def test_the_delimiter_of_an_event(type: str) -> None:
    """Every type of event has a delimiter of its own."""
    found = resolve([("render", {"delimiters": {"event": {type: ("<did>", "</did>")}}})]).delimiters
    assert DID == getattr(found, type)


@pytest.mark.parametrize(
    ("delimiter", "name", "is_tag", "literals"),
    [
        (EVENT_DELIMITER, "event", True, ()),
        (EPHEMERAL_DELIMITER, "context", True, ()),
        (NO_DELIMITER, None, False, ()),
        (DID, "did", True, ()),
        (Delimiter("pair", '<did by="us">\n', "\n</did >"), "did", True, ()),
        (Delimiter("pair", "<did>", "</done>"), "did", False, ("<did>", "</done>")),
        (Delimiter("pair", "<did>", "[end]"), "did", False, ("<did>", "[end]")),
        (Delimiter("pair", "[[EVENT", "]]"), None, False, ("[[EVENT", "]]")),
        (Delimiter("pair", "<a><b>", "</b></a>"), None, False, ("<a><b>", "</b></a>")),
        (Delimiter("pair", "[did]", "</did>"), None, False, ("[did]", "</did>")),
        (NOTE, None, False, ("Note:",)),
        (Delimiter("prefix", "<note> "), "note", False, ("<note>",)),
        (Delimiter("prefix", "<1>"), None, False, ("<1>",)),
    ],
)
def test_what_reads_as_a_tag(
    delimiter: Delimiter, name: str | None, is_tag: bool, literals: tuple[str, ...]
) -> None:
    """An opening tag gives its name; only with its own closing tag does the name guard it all."""
    assert (name, is_tag, literals) == (delimiter.tag_name, delimiter.is_tag, delimiter.literals)


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
SIGNS = [*map(chr, range(128)), "\u00aa", "\u00e9", "\u0660", "\u212a"]


def signs_in(name: str) -> tuple[str, str]:
    """Return the signs that may be in a name, as an opening tag has it and as a pair has it."""
    given = [(sign, name.format(sign)) for sign in SIGNS]
    pairs = [(sign, name, Delimiter("pair", f"<{name}>", f"</{name}>")) for sign, name in given]
    return (
        "".join(sign for sign, name, pair in pairs if pair.tag_name == name),
        "".join(sign for sign, name, pair in pairs if pair.is_tag),
    )


@pytest.mark.parametrize(
    ("name", "signs"),
    [("{}", LETTERS), ("{}b", LETTERS), ("a{}b", f"-.0123456789{LETTERS}")],
)
def test_the_name_of_a_tag(name: str, signs: str) -> None:
    """A tag's name is ASCII letters, digits, dots, hyphens and underscores behind a letter."""
    assert (signs, signs) == signs_in(name)


@pytest.mark.parametrize(
    ("open", "close", "name", "is_tag"),
    [
        ("<a>", "</a>", "a", True),
        ("\n <a>\t", "\n </a>\t", "a", True),
        ("<a b='1' c=\"2\">", "</a \n>", "a", True),
        ("<a\nb>", "</a>", "a", True),
        ("<a >", "</a>", "a", True),
        ("<a/>", "</a>", None, False),
        ("<a b='>'>", "</a>", None, False),
        ("<a b='<'>", "</a>", None, False),
        ("< a>", "</a>", None, False),
        ("<>", "</>", None, False),
        ("<a>x", "</a>", None, False),
        ("x<a>", "</a>", None, False),
        ("<a", "</a>", None, False),
        ("a>", "</a>", None, False),
        ("<a>", "</A>", "a", False),
        ("<a>", "</ a>", "a", False),
        ("<a>", "</a b>", "a", False),
        ("<a>", "<a>", "a", False),
        ("<a>", "x</a>", "a", False),
        ("<a>", "</a>x", "a", False),
        ("<a>", "</a", "a", False),
        ("<a>", "/a>", "a", False),
    ],
)
def test_a_pair_of_tags(open: str, close: str, name: str | None, is_tag: bool) -> None:
    """An opening tag may have attributes, a closing one blanks; blanks may be around both."""
    pair = Delimiter("pair", open, close)
    assert (name, is_tag) == (pair.tag_name, pair.is_tag)


@pytest.mark.parametrize(
    ("options", "names", "literals"),
    [
        ({}, OWN, frozenset[str]()),
        ({"event": None, "ephemeral": None}, OWN, frozenset[str]()),
        ({"event": ("<did>", "</did>")}, OWN | {"did"}, frozenset[str]()),
        ({"event": {"text": ('<did x="1">', "</did>")}}, OWN | {"did"}, frozenset[str]()),
        ({"ephemeral": ("<now>", "</now>")}, OWN | {"now"}, frozenset[str]()),
        ({"ephemeral": ("<NOW.>", "</NOW.>")}, OWN | {"now"}, frozenset[str]()),
        ({"ephemeral": "Note: "}, OWN, frozenset({"Note:"})),
        ({"event": ("[[", "]]")}, OWN, frozenset({"[[", "]]"})),
    ],
)
def test_fences(options: Any, names: frozenset[str], literals: frozenset[str]) -> None:
    """The fences are the library's own tags and those a configuration sets, literal ones apart."""
    found = resolve([("render", {"delimiters": options})])
    assert (names, literals) == (found.tags, found.literals)


def test_fences_of_an_unhashable_configuration() -> None:
    """The fences do not depend on whether a format function can be hashed."""
    assert OWN == resolve([("render", {"format_block": Unhashable()})]).tags


# Errors.


class Anything:
    """A value that says it equals whatever it is compared with."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, _: object) -> bool:
        """Return that it is equal."""
        return True

    def __repr__(self) -> str:
        """Return its name."""
        return "ANYTHING"


ANYTHING = Anything()
NO_FENCE = "write a pair of texts, one text as a prefix, or None for no delimiters"
BAD: list[tuple[dict[str, Any], str]] = [
    (
        {"rolemapping": {}},
        "unknown key 'rolemapping' in a configuration\n  did you mean 'role_mapping'?",
    ),
    (
        {"role_mapping": {"evnt": "user"}},
        "unknown key 'evnt' in role_mapping\n  did you mean 'event'?",
    ),
    (
        {"role_mapping": {"event": "usr"}},
        "unknown role_mapping.event 'usr'\n  did you mean 'user'?",
    ),
    (
        {"role_mapping": {"ephemeral": None}},
        "unknown role_mapping.ephemeral None\n  known: developer, system, user",
    ),
    (
        {"role_mapping": None},
        "role_mapping must be a mapping, not None\n"
        "  write a mapping with these keys: event, ephemeral",
    ),
    (
        {"role_mapping": "user"},
        "role_mapping must be a mapping, not 'user'\n"
        "  write a mapping with these keys: event, ephemeral",
    ),
    (
        {"delimiters": ("<e>", "</e>")},
        "delimiters must be a mapping, not ('<e>', '</e>')\n"
        "  write a mapping with these keys: event, ephemeral",
    ),
    (
        {"delimiters": {"events": None}},
        "unknown key 'events' in delimiters\n  did you mean 'event'?",
    ),
    (
        {"delimiters": {"event": {"user_acton": None}}},
        "unknown key 'user_acton' in delimiters.event\n  did you mean 'user_action'?",
    ),
    (
        {"encoding": "full"},
        "encoding must be a mapping, not 'full'\n  write a mapping with these keys: body, inline",
    ),
    (
        {"encoding": {"bodies": "full"}},
        "unknown key 'bodies' in encoding\n  known: body, inline",
    ),
    (
        {"encoding": {"body": "ful"}},
        "unknown encoding.body 'ful'\n  did you mean 'full'?",
    ),
    ({"encoding": {"body": None}}, "unknown encoding.body None\n  known: full, minimal"),
    (
        {"format_block": "upper"},
        "format_block must be a function of a block or None, not 'upper'\n"
        "  write lambda block: ...",
    ),
    (
        {"ephemeral_position": "befor_user"},
        "unknown ephemeral_position 'befor_user'\n  did you mean 'before_user'?",
    ),
    ({"format": "md"}, "unknown format 'md'\n  known: markdown, xml"),
    ({"format": ["xml"]}, "unknown format ['xml']\n  known: markdown, xml"),
    ({"merge_separator": " - "}, "merge_separator is white space, not ' - '" + WHITE),
    ({"merge_separator": None}, "merge_separator is white space, not None" + WHITE),
    ({"merge_separator": 2}, "merge_separator is white space, not 2" + WHITE),
    ({"lone_text": "sting"}, "unknown lone_text 'sting'\n  did you mean 'string'?"),
    ({"lone_text": False}, "unknown lone_text False\n  known: list, string"),
    ({"json_keys": "sort"}, "unknown json_keys 'sort'\n  did you mean 'sorted'?"),
    ({"json_keys": True}, "unknown json_keys True\n  known: sorted"),
    ({"tool_pairing": "fil"}, "unknown tool_pairing 'fil'\n  did you mean 'fill'?"),
    (
        {"delimiters": {"ephemeral": {"text": "Note: "}}},
        "delimiters.ephemeral cannot be {'text': 'Note: '}\n  " + NO_FENCE,
    ),
    ({"delimiters": {"event": ""}}, "delimiters.event cannot be ''\n  " + NO_FENCE),
    (
        {"delimiters": {"event": {"text": 1}}},
        "delimiters.event.text cannot be 1\n  " + NO_FENCE,
    ),
    ({"format": ANYTHING}, "unknown format ANYTHING\n  known: markdown, xml"),
    ({"merge_consecutive": 1}, "merge_consecutive is True or False, not 1" + FLAG),
    ({"guard_conversation": None}, "guard_conversation is True or False, not None" + FLAG),
    ({"silent_hints": "a"}, "silent_hints must be a list of hint names, not 'a'" + NAMED),
    ({"silent_hints": ["wite_space"]}, "unknown hint name 'wite_space'" + NEAR),
]
BAD_DELIMITERS = ["", ("", "</e>"), ("<e>", ""), ("<e>",), ("a", "b", "c"), (1, 2), 3, True, b"ab"]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_a_mistake_names_its_line(options: dict[str, Any], message: str) -> None:
    """An unknown key or value is an error at the author's line, with the nearest known name."""
    with pytest.raises(ConfigError) as caught:
        MessageTransformationConfig(**options)
    line = this_line() - 1
    assert f"{__file__}:{line}: {message}" == str(caught.value)


@pytest.mark.parametrize(("options", "message"), BAD)
def test_a_mistake_in_a_mapping_names_its_layer(options: dict[str, Any], message: str) -> None:
    """A mistake in a plain mapping is an error that names the layer it came from."""
    with pytest.raises(ConfigError) as caught:
        resolve([("Timeline", options)])
    first, *rest = message.split("\n")
    assert "\n".join([f"{first} (in the transformation of Timeline)", *rest]) == str(caught.value)


@pytest.mark.parametrize("written", BAD_DELIMITERS)
@pytest.mark.parametrize("path", ["event", "ephemeral"])
def test_what_is_no_delimiter(path: str, written: Any) -> None:
    """A delimiter is a pair of texts, a text or None, and none of the texts is empty."""
    with pytest.raises(ConfigError) as caught:
        config({"delimiters": {path: written}})
    assert f"delimiters.{path} cannot be {written!r}" == caught.value.what


@pytest.mark.parametrize("written", BAD_DELIMITERS)
def test_what_is_no_delimiter_of_a_type(written: Any) -> None:
    """The delimiter of one type of event is checked like any other."""
    with pytest.raises(ConfigError) as caught:
        config({"delimiters": {"event": {"text": written}}})
    assert f"delimiters.event.text cannot be {written!r}" == caught.value.what


BLANK = (
    "is blank or not valid Unicode\n  write a delimiter with visible characters, such as '[[event'"
)
REFERENCE = (
    "can be part of a character reference\n"
    "  write a delimiter with other characters, such as '[[event'"
)


@pytest.mark.parametrize("path", ["event", "ephemeral"])
@pytest.mark.parametrize(
    ("written", "end", "why"),
    [
        (" \n", " \n", BLANK),
        ((" ", "]]"), " ", BLANK),
        (("[[", "\n"), "\n", BLANK),
        ("\ud800", "\ud800", BLANK),
        (("\ud800", "]]"), "\ud800", BLANK),
        (("[[", "\ud800"), "\ud800", BLANK),
        (("<e x='\ud800'>", "</e>"), "<e x='\ud800'>", BLANK),
        ("amp", "amp", REFERENCE),
        ((" 12", "]]"), " 12", REFERENCE),
        (("[[", "lt"), "lt", REFERENCE),
        (("[[", "a&b"), "a&b", REFERENCE),
        (("<e x='&amp;'>", "[end]"), "<e x='&amp;'>", REFERENCE),
        ("<e x='&amp;'>", "<e x='&amp;'>", REFERENCE),
    ],
)
def test_a_delimiter_that_guards_nothing(path: str, written: Any, end: str, why: str) -> None:
    """Both ends of a delimiter are texts that can be kept out of what is between them."""
    options: Any = {path: written}
    error = raised(ConfigError, lambda: MessageTransformationConfig(delimiters=options))
    line = this_line() - 1
    assert f"{__file__}:{line}: the delimiter {end!r} {why}" == str(error)


@pytest.mark.parametrize("path", ["event", "ephemeral"])
def test_a_reference_in_a_tag(path: str) -> None:
    """A character reference may be in an attribute: what guards a tag is its name."""
    written = ("<e x='&amp;'>", "</e>")
    found = resolve([("render", {"delimiters": {path: written}})]).delimiters
    assert Delimiter("pair", *written) in found.all


@pytest.mark.parametrize("layer", [[], "xml", 3, True])
def test_what_is_no_layer(layer: Any) -> None:
    """A layer is a configuration, a mapping, a function or nothing."""
    with pytest.raises(ConfigError) as caught:
        resolve([("render", layer)])
    expected = f"a configuration must be a mapping, not {layer!r} (in the transformation of render)"
    assert expected == caught.value.what


@pytest.mark.parametrize("answer", [[], "xml", 3, True, print])
def test_what_is_no_answer(answer: Any) -> None:
    """A function returns a configuration, a mapping or nothing, and not another function."""
    with pytest.raises(ConfigError) as caught:
        resolve([("render", answering(answer))])
    expected = (
        f"a configuration must be a mapping, not {answer!r} (in the transformation of render)"
    )
    assert expected == caught.value.what


def test_a_function_with_a_mistake_names_its_line() -> None:
    """What a function returns is checked, and the error names the line of the function."""
    line = this_line() + 2

    def transformation(_model: str | None, _provider: str | None) -> dict[str, Any]:
        return {"formt": "xml"}

    with pytest.raises(ConfigError) as caught:
        resolve([("render", transformation)])
    assert (f"{Path(__file__)}:{line}",) == caught.value.at


def test_a_function_that_raises() -> None:
    """An error a function raises itself reaches its author unchanged."""

    def divide(_model: str | None, _provider: str | None) -> dict[str, Any]:
        return {"format": 1 // 0}

    with pytest.raises(ZeroDivisionError):
        resolve([("render", divide)])


def test_a_position_is_an_error() -> None:
    """A configuration is written with keywords only."""
    make: Any = MessageTransformationConfig
    with pytest.raises(TypeError):
        make({"format": "xml"})
