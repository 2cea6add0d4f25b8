"""Google Gemini, written and read."""

import base64
import json
from functools import partial
from typing import Any

import pytest

from promptdsl import *
from tests.errors import raised
from tests.internals import json_schema
from tests.internals import read_gemini as read
from tests.internals import read_response_gemini as read_response
from tests.internals import write_gemini as write
from tests.providers.conversations import (
    ASK,
    PNG,
    WAV,
    answer,
    call,
    heard,
    media,
    say,
    whole,
)
from tests.providers.every_target import MADE_FACTS, every_check_of, lost_of
from tests.providers.strategies import joined

SIGNING = MADE_FACTS["gemini signing"]
CONTINUING = MADE_FACTS["gemini continuing"]
OLDER = MADE_FACTS["gemini older"]

typed = pytest.mark.sdk("google.genai")
SUBSTITUTE = {"thought_signature": base64.b64encode(b"skip_thought_signature_validator").decode()}
SIGNED = {"thought_signature": "c2ln"}
HELLO = say("user", "Hello.")
RAIN = say("assistant", "Rain.")
RULE = say("developer", "Use feet.")


def payload_contents(*messages: Message, facts: ModelFacts = OLDER) -> list[Any]:
    """Return the contents on the wire as (role, parts), losses aside."""
    contents: Any = write(whole(messages), facts)[0]["contents"]
    return [(content["role"], content["parts"]) for content in contents]


def config(prompt: Prompt, facts: ModelFacts = OLDER) -> Any:
    """Return the configuration on the wire."""
    return write(prompt, facts)[0]["config"]


lost = partial(lost_of, facts=OLDER)


def kinds_and_names(losses: tuple[Loss, ...]) -> list[tuple[str, str]]:
    """Return kind and subject of losses."""
    return [(loss.kind, loss.what) for loss in losses]


def use(id: str, name: str = "look_up", **keys: Any) -> dict[str, Any]:
    """Return a call on the wire."""
    return {"function_call": {"id": id, "name": name, "args": {"q": "x"}}, **keys}


def result(id: str, output: str, name: str = "look_up", **keys: Any) -> dict[str, Any]:
    """Return a result on the wire."""
    response = {"output": output}
    return {"function_response": {"id": id, "name": name, "response": response, **keys}}


@pytest.fixture
def types() -> Any:
    """Return the types of the SDK."""
    from google.genai import types

    return types


# Contents.


def test_system() -> None:
    """Leading system and developer messages are the system instruction, text for text."""
    prompt = whole([say("system", "One.", "Two."), say("system", "Three."), RULE, HELLO])
    texts = [{"text": text} for text in ("One.", "Two.", "Three.", "Use feet.")]
    assert {"system_instruction": {"parts": texts}} == config(prompt)


# Tools.


def as_json(text: str) -> TextBlock:
    """Return a text that was an object when it was recorded."""
    return TextBlock(text, extra={"json": True})


@pytest.mark.parametrize(
    ("text", "is_error", "response"),
    [
        ('{"temp": 3}', False, {"temp": 3}),
        ('{"temp": 3}', True, {"error": {"temp": 3}}),
        ('{"error": "x", "code": 3}', True, {"error": "x", "code": 3}),
        ('{"error": "x", "code": 3}', False, {"output": {"error": "x", "code": 3}}),
        ('{"error": null, "n": 3}', False, {"error": None, "n": 3}),
        ("[1]", False, {"output": [1]}),
        ("null", True, {"error": "null"}),
        ("{}", False, {"output": {}}),
        ('"x"', False, {"output": '"x"'}),
        ("{bad", False, {"output": "{bad"}),
    ],
)
def test_objects_as_results(text: str, is_error: bool, response: object) -> None:
    """A result that was recorded as an object is one again."""
    block = ToolResultBlock("a", (as_json(text),), is_error=is_error)
    wire = payload_contents(HELLO, say("assistant", call("a")), say("tool", block))
    assert response == wire[2][1][0]["function_response"]["response"]


def test_reference_in_a_result() -> None:
    """An object that names something it does not hold stays text, a hint."""
    block = ToolResultBlock("a", (as_json('{"a": [{"$ref": "x"}]}'),))
    messages = (HELLO, say("assistant", call("a")), say("tool", block))
    response = payload_contents(*messages)[2][1][0]["function_response"]["response"]
    expected = ({"output": '{"a": [{"$ref": "x"}]}'}, [("hint", "a result as an object")])
    assert expected == (response, lost(*messages))


def test_result_of_no_call() -> None:
    """A result that answers nothing has the name it came with, and no result is without one."""
    blocks = (ToolResultBlock("a", name="f"), ToolResultBlock("b"))
    wire = payload_contents(HELLO, say("tool", *blocks))
    names = [part["function_response"]["name"] for part in wire[0][1]]
    assert ["f", "_"] == names


PICTURE = ImageBlock(media("base64", PNG, "image/png"))
INLINE = {"inline_data": {"mime_type": "image/png", "data": PNG}}


def test_title_in_a_result() -> None:
    """An attachment of a result has its title, by which its object may name it."""
    titled = ImageBlock(PICTURE.source, title="dot.png")
    messages = (HELLO, say("assistant", SIGNED_CALL), answer("b", titled))
    (part,) = payload_contents(*messages, facts=CONTINUING)[2][1][0]["function_response"]["parts"]
    expected = {"inline_data": {**INLINE["inline_data"], "display_name": "dot.png"}}
    assert (expected, []) == (part, lost(*messages, facts=CONTINUING))


@pytest.mark.parametrize(
    ("block", "facts", "expected"),
    [
        (PICTURE, OLDER, ("hint", "image in a tool result")),
        (
            AudioBlock(media("base64", WAV, "audio/wav")),
            SIGNING,
            ("hint", "audio in a tool result"),
        ),
        (
            ImageBlock(media("base64", "Qk0=", "image/bmp")),
            SIGNING,
            ("content", "image (base64, image/bmp)"),
        ),
    ],
)
def test_files_that_leave_a_result(
    block: Block, facts: ModelFacts, expected: tuple[str, str]
) -> None:
    """What a result cannot hold is in the next user turn; what no turn can hold is lost."""
    messages = (HELLO, say("assistant", call("a")), answer("a", block))
    assert expected in lost(*messages, facts=facts)
    assert 3 + (expected[0] == "hint") == len(payload_contents(*messages, facts=facts))


LOOK_UP = ToolDefinition("look up", "Looks.", {"type": "object"})
DECLARED = {
    "name": "look_up",
    "description": "Looks.",
    "parameters_json_schema": {"type": "object"},
}
SEARCH = ToolDefinition("google_search", raw={"google_search": {}}, origin="gemini")


def test_tools() -> None:
    """The service's own tools come first, then all functions in one, as the client sends them."""
    prompt = Prompt((HELLO,), (LOOK_UP, SEARCH, ToolDefinition("f")))
    tools = [{"google_search": {}}, {"function_declarations": [DECLARED, {"name": "f"}]}]
    assert {"tools": tools} == config(prompt)


@pytest.mark.parametrize("choice", ["required", "google_search"])
def test_choice_without_functions(choice: str) -> None:
    """Only functions can be chosen, the service's own tools cannot."""
    payload, losses = write(Prompt((HELLO,), (SEARCH,), choice), OLDER)
    expected: Any = ({"tools": [{"google_search": {}}]}, [("hint", f"tool_choice {choice!r}")])
    assert expected == (payload["config"], kinds_and_names(losses))


# Media.


def file(uri: str, media_type: str | None = None) -> dict[str, Any]:
    """Return an address on the wire."""
    return {"file_data": {"file_uri": uri, **({"mime_type": media_type} if media_type else {})}}


UPLOADED = "https://generativelanguage.googleapis.com/v1beta/files/abc"


@pytest.mark.parametrize(
    ("block", "what"),
    [
        (ImageBlock(media("base64", "R0lG", "image/gif")), "image (base64, image/gif)"),
        (ImageBlock(media("base64", "c2l", "image/png")), "image (base64, image/png)"),
        (ImageBlock(media("base64", "", "image/png")), "image (base64, image/png)"),
        (ImageBlock(media("base64", PNG)), "image (base64)"),
        (ImageBlock(media("url", "http://e.org/a.png")), "image (url)"),
        (ImageBlock(media("url", "https://e.org/a")), "image (url)"),
        (ImageBlock(media("file_id", "file-1", "image/png")), "image (file_id, image/png)"),
        (ImageBlock(media("file_id", UPLOADED, "image/gif")), "image (file_id, image/gif)"),
        (AudioBlock(media("gcs", "gs://b/a.mp4")), "audio (gcs)"),
        (DocumentBlock(media("s3", "s3://b/a.pdf")), "document (s3)"),
    ],
)
def test_lost_media(block: Block, what: str) -> None:
    """A source or a type that is not taken is a loss of content."""
    assert [("content", what)] == lost(say("user", block, "x"))


def test_addresses_of_the_model() -> None:
    """A model makes bytes: an address in its turn is a loss of content."""
    picture = ImageBlock(media("file_id", UPLOADED))
    assert [("content", "image (file_id)")] == lost(HELLO, say("assistant", picture), HELLO)
    (loss,) = write(Prompt((HELLO, say("assistant", picture), HELLO)), OLDER)[1]
    assert "Gemini takes a file that a model made as bytes only, not as an address" == loss.why


def test_pictures_of_the_model() -> None:
    """A picture the model made is sent back with its signature."""
    picture = ImageBlock(media("base64", PNG, "image/png"), extra=SIGNED)
    assert ("model", [{**INLINE, **SIGNED}]) == payload_contents(
        HELLO, say("assistant", picture), HELLO
    )[1]


# Thoughts and signatures.

THOUGHT = ReasoningBlock("Hm.", signature="c2ln", origin="gemini")
THINKING = {"text": "Hm.", "thought": True, **SIGNED}


def test_thoughts_keep_their_white_space() -> None:
    """What is to be continued is not trimmed: a signature may cover it."""
    reasoning = ReasoningBlock("Hm. ", signature="c2ln", origin="gemini")
    wire = payload_contents(HELLO, say("assistant", "x", reasoning))
    assert ({**THINKING, "text": "Hm. "}, []) == (
        wire[1][1][1],
        lost(HELLO, say("assistant", reasoning)),
    )


def test_empty_thought() -> None:
    """A thought without text and signature says nothing."""
    messages = (HELLO, say("assistant", ReasoningBlock("", origin="gemini"), "Rain."), HELLO)
    assert ([{"text": "Rain."}], []) == (payload_contents(*messages)[1][1], lost(*messages))


@pytest.mark.parametrize(
    "part",
    [
        {"text": "Rain.", **SIGNED},
        {"text": "", **SIGNED},
        {"text": "", "thought": True, **SIGNED},
        {**INLINE, **SIGNED},
        {"executable_code": {"code": "1", "language": "PYTHON"}, **SIGNED},
        {"tool_call": {"id": "a"}, **SIGNED},
    ],
)
def test_signatures_stay(part: dict[str, Any]) -> None:
    """A signature comes back on exactly the part it came with."""
    contents = [
        {"role": "user", "parts": [{"text": "x"}]},
        {"role": "model", "parts": [{"text": "y"}, part, {"text": "z"}]},
        {"role": "user", "parts": [{"text": "x"}]},
    ]
    assert contents == write(read(contents), SIGNING)[0]["contents"]


def test_signature_alone() -> None:
    """A part with only a signature is refused, so it gets an empty text."""
    contents = [{"role": "model", "parts": [{"text": "x"}, {"thoughtSignature": "c2ln"}]}]
    wire: Any = write(read(contents), SIGNING)[0]["contents"]
    assert [{"text": "x"}, {"text": "", **SIGNED}] == wire[1]["parts"]


SIGNED_CALL = ToolUseBlock("b", "look_up", '{"q": "x"}', extra=SIGNED)


@pytest.mark.parametrize(
    ("blocks", "parts", "losses"),
    [
        pytest.param([call("a")], [use("a", **SUBSTITUTE)], 1, id="one call"),
        pytest.param([SIGNED_CALL], [use("b", **SIGNED)], 0, id="a signed call"),
        pytest.param(
            [call("a"), call("c")], [use("a", **SUBSTITUTE), use("c")], 1, id="parallel calls"
        ),
        pytest.param(
            [SIGNED_CALL, call("c")],
            [use("b", **SIGNED), use("c")],
            0,
            id="only the first is signed",
        ),
        pytest.param(
            [call("a"), SIGNED_CALL],
            [use("a", **SUBSTITUTE), use("b", **SIGNED)],
            1,
            id="only the second is signed",
        ),
    ],
)
def test_substitute(blocks: list[Any], parts: list[Any], losses: int) -> None:
    """The first call of a step has a signature, or a substitute with a hint; no other has one."""
    answers = [answer(block.id, "x") for block in blocks]
    messages = (HELLO, say("assistant", *blocks), *answers)
    hints = [("hint", "a call without a signature")] * losses
    assert (parts, hints) == (
        payload_contents(*messages, facts=SIGNING)[1][1],
        lost(*messages, facts=SIGNING),
    )


def test_substitute_in_every_step() -> None:
    """Each step has its own first call, also in turns before the current one."""
    steps: list[tuple[Message, ...]] = [
        (say("assistant", call(id)), answer(id, "x")) for id in ("a", "b")
    ]
    wire = payload_contents(HELLO, *joined(steps), RAIN, ASK, facts=SIGNING)
    expected = [use("a", **SUBSTITUTE), use("b", **SUBSTITUTE)]
    assert expected == [part for _, parts in wire for part in parts if "function_call" in part]


WORD = "skip_thought_signature_validator"


@pytest.mark.parametrize("signature", [*SUBSTITUTE.values(), WORD, WORD.encode()])
def test_substitute_is_dropped_when_read(signature: object) -> None:
    """A substitute is no signature: what is read has none, and another model is sent none."""
    (message,) = read([{"role": "model", "parts": [use("a", thoughtSignature=signature)]}]).messages
    assert (call("a", "look_up", '{"q": "x"}'),) == message.content


def test_substitute_comes_back() -> None:
    """A model that needs one is sent a substitute again, with the same hint."""
    payload_and_losses = write(
        whole((HELLO, say("assistant", call("a")), answer("a", "x"))), SIGNING
    )
    again = write(read(payload_and_losses[0]), SIGNING)
    assert (payload_and_losses[0], kinds_and_names(payload_and_losses[1])) == (
        again[0],
        kinds_and_names(again[1]),
    )


@pytest.mark.parametrize("block", [TextBlock("x", extra=SUBSTITUTE)])
def test_no_substitute_on_other_parts(block: Block) -> None:
    """A substitute stands on calls only: on another part it is a hint."""
    messages = (HELLO, say("assistant", block), HELLO)
    expected = ([{"text": "x"}], [("hint", "key 'thought_signature'")])
    assert expected == (payload_contents(*messages)[1][1], lost(*messages))


# The last turn.


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (
            TextBlock("It is \n", extra={"thought_signature": "c2ln"}),
            {"text": "It is \n", "thought_signature": "c2ln"},
        ),
        (
            TextBlock(" ", extra={"thought_signature": "c2ln"}),
            {"text": " ", "thought_signature": "c2ln"},
        ),
        (ReasoningBlock("Hm. ", origin="gemini"), {"text": "Hm. ", "thought": True}),
    ],
    ids=["signed", "only white space", "a thought"],
)
def test_what_a_signature_is_bound_to(block: Block, part: dict[str, Any]) -> None:
    """A text with a signature goes back as it came, and so does a thought."""
    messages = (HELLO, say("assistant", block))
    wire = payload_contents(*messages, facts=OLDER)[1][1]
    assert ([part], []) == (wire, lost(*messages, facts=OLDER))


# Reading.


@pytest.mark.parametrize(
    ("data", "messages"),
    [
        ([], ()),
        ({"contents": [], "config": {"system_instruction": ""}}, ()),
        ({"contents": ["One."]}, (heard("user", "One."),)),
        (
            {"contents": [], "config": {"system_instruction": "One."}},
            (heard("system", "One."),),
        ),
        (
            {"contents": [], "systemInstruction": {"role": "user", "parts": [{"text": "One."}]}},
            (heard("system", "One."),),
        ),
        ([{"parts": [{"text": "One."}]}], (heard("user", "One."),)),
        ([{"role": "model"}], (heard("assistant"),)),
        (
            [
                {
                    "role": "model",
                    "parts": [{"text": "Hm.", "thought": True, "thoughtSignature": "c2ln"}],
                }
            ],
            (heard("assistant", THOUGHT),),
        ),
        (
            [{"role": "model", "parts": [{"text": "Yes.", "thought": False, "inline_data": None}]}],
            (heard("assistant", "Yes."),),
        ),
        (
            [{"role": "model", "parts": [{"text": "x", "thought_signature": b"sig"}]}],
            (heard("assistant", TextBlock("x", extra=SIGNED)),),
        ),
        (
            [{"parts": [{"inlineData": {"mimeType": "image/png", "data": b"\x00"}}]}],
            (heard("user", ImageBlock(MediaSource("base64", "AA==", "image/png"))),),
        ),
        (
            [{"parts": [{"fileData": {"fileUri": "gs://b/a", "mimeType": "video/mp4"}}]}],
            (heard("user", VideoBlock(MediaSource("gcs", "gs://b/a", "video/mp4"))),),
        ),
        (
            [{"parts": [{"file_data": {"file_uri": "files/a", "display_name": "A"}}]}],
            (heard("user", DocumentBlock(MediaSource("file_id", "files/a"), "A")),),
        ),
        (
            [{"parts": [{"file_data": {"file_uri": "https://e.org/a", "mime_type": "audio/wav"}}]}],
            (heard("user", AudioBlock(MediaSource("url", "https://e.org/a", "audio/wav"))),),
        ),
        (
            [{"role": "model", "parts": [{"executableCode": {"code": "1"}}]}],
            (heard("assistant", UnknownBlock({"executable_code": {"code": "1"}}, "gemini")),),
        ),
        (
            [{"parts": [{"inline_data": {"data": "AA==", "x": 1}}]}],
            (heard("user", UnknownBlock({"inline_data": {"data": "AA==", "x": 1}}, "gemini")),),
        ),
        (
            [{"parts": [{"text": "x"}, result("a", "y", "f")]}],
            (heard("user", "x", ToolResultBlock("a", (TextBlock("y"),), name="f")),),
        ),
    ],
)
def test_read(data: object, messages: tuple[Message, ...]) -> None:
    """A payload is read as recorded messages, whichever way its keys are spelled."""
    assert messages == read(data).messages


@typed
@pytest.mark.parametrize(
    ("contents", "messages"),
    [
        (
            lambda types: {
                "contents": [],
                "config": types.GenerateContentConfig(system_instruction="One."),
            },
            (heard("system", "One."),),
        ),
        (
            lambda types: [
                types.Content(
                    role="model", parts=[types.Part(text="Rain.", thought_signature=b"sig")]
                )
            ],
            (heard("assistant", TextBlock("Rain.", extra=SIGNED)),),
        ),
    ],
)
def test_read_objects(contents: Any, messages: tuple[Message, ...], types: Any) -> None:
    """The SDK's own objects are read as what they say."""
    assert messages == read(contents(types)).messages


def responded(response: object, **keys: Any) -> list[Any]:
    """Return a recording of a result."""
    return [
        {"parts": [{"functionResponse": {"id": "a", "name": "f", "response": response, **keys}}]}
    ]


@pytest.mark.parametrize(
    ("response", "block"),
    [
        ({"output": "x"}, ToolResultBlock("a", (TextBlock("x"),), name="f")),
        ({"output": ""}, ToolResultBlock("a", name="f")),
        ({"error": "x"}, ToolResultBlock("a", (TextBlock("x"),), name="f", is_error=True)),
        ({"output": [1]}, ToolResultBlock("a", (as_json("[1]"),), name="f")),
        ({"celsius": 7}, ToolResultBlock("a", (as_json('{"celsius": 7}'),), name="f")),
        ({"error": 5}, ToolResultBlock("a", (as_json("5"),), name="f", is_error=True)),
        ({"error": None}, ToolResultBlock("a", (as_json('{"error": null}'),), name="f")),
        (
            {"error": "x", "code": 3},
            ToolResultBlock("a", (as_json('{"error": "x", "code": 3}'),), name="f", is_error=True),
        ),
        ({}, ToolResultBlock("a", name="f")),
    ],
)
def test_read_result(response: object, block: ToolResultBlock) -> None:
    """A response is the text of its only key, or its JSON text."""
    assert (heard("tool", block),) == read(responded(response)).messages


@pytest.mark.parametrize(
    ("response", "keys"),
    [
        ({"temp": 3}, {}),
        ({"error": "x", "code": 3}, {}),
        ({"error": {"code": 3}}, {}),
        ({"error": None}, {}),
        ({"output": None}, {}),
        ({"output": {"temp": 3}}, {}),
        (
            {"image": {"$ref": "a.png"}},
            {"parts": [{"inline_data": {**INLINE["inline_data"], "display_name": "a.png"}}]},
        ),
    ],
)
def test_results_come_back(response: object, keys: dict[str, Any]) -> None:
    """A result that was an object is written as it was, and loses nothing."""
    call_turn = {"role": "model", "parts": [use("a", "f", **SIGNED)]}
    data = [{"role": "user", "parts": [{"text": "x"}]}, call_turn, *responded(response, **keys)]
    payload, losses = write(read(data), SIGNING)
    contents: Any = payload["contents"]
    expected = {"id": "a", "name": "f", "response": response, **keys}
    assert (expected, ()) == (contents[-1]["parts"][0]["function_response"], losses)


def test_read_media_of_a_result() -> None:
    """The attachments of a result are its blocks, and its further keys stay."""
    data = responded({"output": "x"}, parts=[INLINE], scheduling="SILENT")
    block = ToolResultBlock(
        "a", (TextBlock("x"), PICTURE), name="f", extra={"scheduling": "SILENT"}
    )
    assert (heard("tool", block),) == read(data).messages


def test_results_keep_their_keys() -> None:
    """What a result says of its scheduling is sent back."""
    data = responded({"output": "x"}, scheduling="SILENT")
    wire: Any = write(read(data), OLDER)[0]["contents"]
    expected = {"id": "a", "name": "f", "response": {"output": "x"}, "scheduling": "SILENT"}
    assert [{"function_response": expected}] == wire[0]["parts"]


def unnamed(kind: str, name: str) -> dict[str, Any]:
    """Return a call or a result without an id."""
    key = "args" if kind == "function_call" else "response"
    return {kind: {"name": name, key: {}}}


def test_calls_without_ids() -> None:
    """Calls and results without ids, as older models have them, are paired by name."""
    calls = [unnamed("function_call", name) for name in ("f", "g", "f")]
    results = [unnamed("function_response", name) for name in ("g", "f", "f")]
    data = [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]
    answer_message, *answers = read([*data, *data]).messages[:4]
    ids = [block.id for block in answer_message.content if isinstance(block, ToolUseBlock)]
    answered = [b.tool_use_id for m in answers for b in m.content if isinstance(b, ToolResultBlock)]
    assert (["call_0", "call_1", "call_2"], ["call_1", "call_0", "call_2"]) == (ids, answered)


@every_check_of("gemini")
def test_rounds_without_ids(check: Any) -> None:
    """Each round of calls without ids gets ids of its own on the wire."""
    data = [
        {"role": "model", "parts": [unnamed("function_call", "f")]},
        {"role": "user", "parts": [unnamed("function_response", "f")]},
    ]
    payload, _ = write(read([*data, *data]), OLDER)
    check(payload, OLDER)
    ids = [
        part["function_call"]["id"]
        for content in json.loads(json.dumps(payload))["contents"]
        for part in content["parts"]
        if "function_call" in part
    ]
    assert ["call_0", "call_0_2"] == ids


def ids_of(messages: tuple[Message, ...]) -> tuple[list[str], list[str]]:
    """Return the ids of all calls, and those their results have."""
    blocks = [block for message in messages for block in message.content]
    calls = [block.id for block in blocks if isinstance(block, ToolUseBlock)]
    return calls, [block.tool_use_id for block in blocks if isinstance(block, ToolResultBlock)]


F, G = (unnamed("function_call", name) for name in "fg")
OF_F, OF_G = (unnamed("function_response", name) for name in "fg")


@pytest.mark.parametrize(
    ("data", "ids"),
    [
        pytest.param(
            [
                *({"role": "model", "parts": [F]}, {"role": "model", "parts": [G]}),
                {"role": "user", "parts": [OF_F, OF_G]},
            ],
            (["call_0", "call_1"], ["call_0", "call_1"]),
            id="calls in two contents",
        ),
        pytest.param(
            [{"role": "model", "parts": [F]}, {"role": "user", "parts": [{"text": "x"}, OF_F]}],
            (["call_0"], ["call_0"]),
            id="a result behind a text",
        ),
        pytest.param(
            [
                {"role": "model", "parts": [F, use("call_0", "g")]},
                {"role": "user", "parts": [OF_F, result("call_0", "y", "g")]},
            ],
            (["call_1", "call_0"], ["call_1", "call_0"]),
            id="an id that is taken",
        ),
    ],
)
def test_ids_that_are_given(data: list[Any], ids: Any) -> None:
    """Calls of one turn have different ids, and each result that of its call, wherever it is."""
    messages = read([{"parts": [{"text": "x"}]}, *data]).messages
    assert ids == ids_of(messages)


def test_calls_in_two_contents_are_one_turn() -> None:
    """Calls that follow one another are of one turn, so that their results answer all."""
    data = [{"role": "model", "parts": [F]}, {"role": "model", "parts": [{"text": "x"}, G]}]
    assert ["assistant"] == [message.role for message in read(data).messages]


@pytest.mark.parametrize(
    "config",
    [
        {"tools": [{"google_search": {}}, {"function_declarations": [DECLARED]}]},
        {
            "tools": [
                {
                    "function_declarations": [
                        {"name": "f", "parameters": {"type": "OBJECT"}, "behavior": "BLOCKING"}
                    ]
                }
            ]
        },
        {
            "tools": [{"function_declarations": [DECLARED]}],
            "tool_config": {
                "function_calling_config": {"mode": "ANY", "allowed_function_names": ["look_up"]}
            },
        },
        {"response_mime_type": "application/json", "response_json_schema": {"type": "object"}},
    ],
)
def test_settings_come_back(config: Any) -> None:
    """What a payload says beside its contents is read and written as it was."""
    payload = {"contents": [{"role": "user", "parts": [{"text": "x"}]}], "config": config}
    assert payload == write(read(payload), SIGNING)[0]


REST = {
    "contents": [],
    "tools": [
        {"googleSearch": {}},
        {
            "functionDeclarations": [
                {
                    "name": "f",
                    "description": "d",
                    "parameters": {
                        "type": "OBJECT",
                        "properties": {"type": {"type": "ARRAY", "items": {"type": "STRING"}}},
                        "anyOf": [{"type": "NULL"}],
                    },
                }
            ]
        },
    ],
    "toolConfig": {"functionCallingConfig": {"mode": "auto"}},
    "generationConfig": {"responseSchema": {"type": "INTEGER"}, "temperature": 1},
}


def test_read_body() -> None:
    """A body that was sent is read too; the schemas of Gemini's own dialect become JSON schemas."""
    prompt = read(REST)
    schema = {
        "type": "object",
        "properties": {"type": {"type": "array", "items": {"type": "string"}}},
        "anyOf": [{"type": "null"}],
    }
    (search, function) = prompt.tools
    expected: Any = ({"google_search": {}}, "f", "d", schema, "auto", {"type": "integer"})
    tool_fields = (search.raw, function.name, function.description, function.input_schema)
    assert expected == (*tool_fields, prompt.tool_choice, prompt.output and prompt.output.schema)


@pytest.mark.parametrize(
    ("calling", "choice"),
    [
        ({}, None),
        ({"mode": "MODE_UNSPECIFIED"}, None),
        ({"mode": "AUTO"}, "auto"),
        ({"mode": "NONE"}, "none"),
        ({"mode": "ANY"}, "required"),
        ({"mode": "ANY", "allowedFunctionNames": ["f"]}, "f"),
    ],
)
def test_read_choice(calling: object, choice: str | None) -> None:
    """A mode is a choice; one allowed name is that tool."""
    data = {"contents": [], "config": {"tool_config": {"function_calling_config": calling}}}
    assert choice == read(data).tool_choice


@typed
def test_read_choice_of_the_sdk(types: Any) -> None:
    """The SDK's own mode is a choice, too."""
    calling = {"mode": types.FunctionCallingConfigMode.NONE}
    data = {"contents": [], "config": {"tool_config": {"function_calling_config": calling}}}
    assert "none" == read(data).tool_choice


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (7, "'contents' must be a list, not int"),
        ({}, "'contents' is needed"),
        ({"contents": {"content": "x"}}, "contents[0]: 'parts' is needed"),
        ({"contents": [], "config": [7]}, "a dictionary is needed, not list"),
        (
            {"contents": [], "system_instruction": 7},
            "system_instruction: a dictionary is needed, not int",
        ),
        ([7], "contents[0]: a dictionary is needed, not int"),
        (["x", {"role": "tool"}], "contents[1]: unknown 'role' 'tool'"),
        ([{"role": 7}], "contents[0]: unknown 'role' 7"),
        ([{"parts": 7}], "contents[0]: 'parts' must be a list, not int"),
        (
            [{"parts": [{"text": "x"}, {"text": 7}]}],
            "contents[0]: parts[1]: 'text' must be a string, not int",
        ),
        ([{"parts": [{"functionCall": {}}]}], "contents[0]: parts[0]: 'name' is needed"),
        (
            [{"parts": [{"functionCall": {"name": "f", "args": [1]}}]}],
            "contents[0]: parts[0]: a dictionary is needed, not list",
        ),
        (responded([1]), "contents[0]: parts[0]: a dictionary is needed, not list"),
        (
            responded({}, parts=[7]),
            "contents[0]: parts[0]: parts[0]: a dictionary is needed, not int",
        ),
        ({"contents": [], "tools": [7]}, "tools[0]: a dictionary is needed, not int"),
        (
            {"contents": [], "tools": [{"functionDeclarations": [{}]}]},
            "tools[0]: function_declarations[0]: 'name' is needed",
        ),
    ],
)
def test_read_error(data: object, what: str) -> None:
    """What cannot be read is an error that names the index and the key."""
    assert what == raised(DataError, lambda: read(data)).what


OTHERS = (
    "it looks like a message of another provider: History.from_openai, from_anthropic, from_bedrock"
)


@pytest.mark.parametrize(
    ("item", "fix"),
    [
        ({"role": "user", "content": "hi"}, OTHERS),
        ({"role": "assistant", "tool_calls": []}, OTHERS),
        (
            {"type": "text", "text": "hi"},
            "it looks like a block or an item of another provider: History.from_openai_responses",
        ),
        ({"candidates": []}, "it looks like a response: read_response(it)"),
        ({"contents": []}, "it looks like a payload: give it without the list"),
        ({"words": "hi"}, "give {'role': 'user', 'parts': [...]}"),
    ],
)
def test_no_content(item: object, fix: str) -> None:
    """What is no content is an error that says what it looks like, and is never an empty turn."""
    with pytest.raises(DataError) as caught:
        read([item])
    assert ("contents[0]: 'parts' is needed", fix) == (caught.value.what, caught.value.fix)


ONE = (heard("user", "One."),)
PICTURED = (heard("user", "One.", PICTURE),)
FILM = MediaSource("url", "https://www.youtube.com/watch?v=x")
FILES = (heard("user", *[ImageBlock(MediaSource("file_id", UPLOADED, "image/png"))] * 2),)


FILE = {"file_uri": UPLOADED, "mime_type": "image/png"}
BYTES = {"inline_data": {"data": base64.b64decode(PNG), "mime_type": "image/png"}}


@pytest.mark.parametrize(
    ("contents", "messages"),
    [
        pytest.param("One.", ONE, id="a text"),
        pytest.param({"parts": [{"text": "One."}]}, ONE, id="a content"),
        pytest.param({"text": "One."}, ONE, id="a part"),
        pytest.param([{"text": "One."}], ONE, id="a part in a list"),
        pytest.param([{"parts": {"text": "One."}}], ONE, id="a content of one part"),
        pytest.param([{"parts": ["One."]}], ONE, id="a text for a part"),
        pytest.param(["One.", BYTES], PICTURED, id="a text and a picture"),
        pytest.param([["One.", BYTES]], PICTURED, id="a list in the list"),
        pytest.param([FILE, FILE], FILES, id="files"),
        pytest.param(
            ["One.", F, OF_F, "Two."],
            (
                *ONE,
                heard("assistant", call("call_0", "f", "{}")),
                heard("tool", ToolResultBlock("call_0", name="f")),
                heard("user", "Two."),
            ),
            id="a call and its result",
        ),
        pytest.param(
            ["One.", {"parts": [{"text": "One."}]}, "One."], ONE * 3, id="a content between"
        ),
    ],
)
def test_read_contents(contents: object, messages: tuple[Message, ...]) -> None:
    """All that the SDK takes for contents is read; parts on their own are one content."""
    assert messages == read({"contents": contents}).messages


def picture(types: Any) -> Any:
    """Return a picture as the SDK's part."""
    return types.Part.from_bytes(data=base64.b64decode(PNG), mime_type="image/png")


@typed
@pytest.mark.parametrize(
    ("contents", "messages"),
    [
        pytest.param(lambda types: types.UserContent("One."), ONE, id="a content"),
        pytest.param(lambda types: [types.Part.from_text(text="One.")], ONE, id="a part"),
        pytest.param(lambda types: ["One.", picture(types)], PICTURED, id="a picture"),
        pytest.param(lambda types: [["One.", picture(types)]], PICTURED, id="a list in the list"),
        pytest.param(
            lambda types: [types.File(uri=UPLOADED, mime_type="image/png"), FILE], FILES, id="files"
        ),
    ],
)
def test_read_contents_of_the_sdk(contents: Any, messages: tuple[Message, ...], types: Any) -> None:
    """The SDK's own contents, parts and files are read, alone and among others."""
    assert messages == read({"contents": contents(types)}).messages


@pytest.mark.parametrize(
    ("instruction", "texts"),
    [
        ("One.", ["One."]),
        (["One.", "Two."], ["One.", "Two."]),
        ({"text": "One."}, ["One."]),
        ({"parts": {"text": "One."}}, ["One."]),
    ],
)
def test_read_system(instruction: object, texts: list[str]) -> None:
    """A system instruction is a content, its parts, or one of them."""
    (message,) = read({"contents": [], "system_instruction": instruction}).messages
    assert heard("system", *texts) == message


@typed
def test_read_system_of_the_sdk(types: Any) -> None:
    """A system instruction may be the SDK's own content."""
    data = {"contents": [], "system_instruction": types.UserContent("One.")}
    assert (heard("system", "One."),) == read(data).messages


@pytest.mark.parametrize(
    ("data", "block"),
    [
        ({"file_uri": FILM.value}, VideoBlock(FILM)),
        ({"file_uri": FILM.value, "mime_type": "video/*"}, VideoBlock(FILM)),
        (
            {"file_uri": "https://e.org/a.png?x"},
            ImageBlock(MediaSource("url", "https://e.org/a.png?x")),
        ),
        (
            {"file_uri": "http://e.org/a", "mime_type": "image/png"},
            ImageBlock(MediaSource("url", "http://e.org/a", "image/png")),
        ),
    ],
)
def test_read_address(data: object, block: Block) -> None:
    """Where no type tells what an address leads to, the address does."""
    assert (block,) == read([{"file_data": data}]).messages[0].content


def test_films_come_back() -> None:
    """A film at YouTube, which need not tell its type, is sent."""
    data = [{"parts": [{"file_data": {"file_uri": FILM.value}}]}]
    payload, losses = write(read(data), OLDER)
    contents: Any = payload["contents"]
    assert ([file(FILM.value, "video/mp4")], ()) == (contents[0]["parts"], losses)


def test_a_part_of_nobody() -> None:
    """A recorded part that the service does not have is a loss of content."""
    messages = (HELLO, say("assistant", UnknownBlock({"x": 1}, "gemini"), "y"), HELLO)
    (loss,) = write(whole(messages), OLDER)[1]
    assert ("content", "x block", (1, 0)) == (loss.kind, loss.what, loss.at)


def test_streamed_call() -> None:
    """A call whose arguments are not whole yet is a loss of content."""
    data = {"name": "f", "willContinue": True, "partialArgs": [{"jsonPath": "$.a"}]}
    losses = write(read(["x", {"function_call": data}, "x"]), OLDER)[1]
    assert [("content", "function_call block")] == kinds_and_names(losses)


PIECES: dict[str, tuple[list[Any], object]] = {
    "a text in pieces": ([("$.a", "x"), ("$.a", "y")], {"a": "xy"}),
    "two texts": ([("$.a", "x"), ("$.b", "y"), ("$.a", "z")], {"a": "xz", "b": "y"}),
    "in an object": ([("$.a.b", "x"), ("$['a']['c d']", "y")], {"a": {"b": "x", "c d": "y"}}),
    "in lists": ([("$.a[0].b", "x"), ("$.a[1].b", "y")], {"a": [{"b": "x"}, {"b": "y"}]}),
    "a number, a bool and a null": ([("$.a", 1.5), ("$.b", True), ("$.c", None)], ...),
}


@pytest.mark.parametrize("what", PIECES)
def test_arguments_in_pieces(what: str) -> None:
    """The pieces of a call's arguments are put together by their paths."""
    pieces, expected = PIECES[what]
    keys = {str: "stringValue", float: "numberValue", bool: "boolValue", type(None): "nullValue"}
    partial = [
        {"jsonPath": path, keys[type(value)]: "NULL_VALUE" if value is None else value}
        for path, value in pieces
    ]
    data = ["x", {"function_call": {"name": "f", "partialArgs": partial}}, "x"]
    if expected is ...:
        expected = {"a": 1.5, "b": True, "c": None}
    assert expected == read(data).messages[1].calls[0].input


def test_broken_arguments() -> None:
    """Arguments that are no object but text are kept as they came."""
    data = [{"role": "model", "parts": [{"function_call": {"name": "f", "args": "{bad"}}]}]
    assert (call("call_0", "f", "{bad"),) == read(data).messages[0].content


def test_both_configurations() -> None:
    """A body's own settings are read beside a ``config``."""
    data = {
        "contents": [],
        "config": {"system_instruction": "One."},
        "generation_config": {"response_json_schema": {"type": "object"}},
    }
    assert OutputSchema({"type": "object"}) == read(data).output


def test_all_functions_are_allowed() -> None:
    """Where one of all functions has to be called, any may be."""
    choice = {"mode": "ANY", "allowed_function_names": ["g", "f"]}
    declared = [{"function_declarations": [{"name": "f"}, {"name": "g"}]}]
    tool_config = {"function_calling_config": choice}
    data = {"contents": [], "tools": declared, "tool_config": tool_config}
    assert "required" == read(data).tool_choice


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "STRING", "nullable": False}, {"type": "string"}),
        (
            {"type": "STRING", "format": "enum", "enum": ["A"], "nullable": True},
            {"type": ["string", "null"], "enum": ["A", None]},
        ),
        (
            {"any_of": [{"type": "STRING"}], "nullable": True},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
        ),
        (
            {"type": "ARRAY", "minItems": "1", "max_items": 3, "items": {"maxLength": "9"}},
            {"type": "array", "minItems": 1, "maxItems": 3, "items": {"maxLength": 9}},
        ),
        (
            {"properties": {"any_of": {}, "b": {"type": "STRING"}}, "propertyOrdering": ["b"]},
            {"properties": {"b": {"type": "string"}, "any_of": {}}},
        ),
        (
            {"enum": [{"type": "A"}], "default": {"type": "A"}, "example": {"type": "A"}},
            {"enum": [{"type": "A"}], "default": {"type": "A"}, "examples": [{"type": "A"}]},
        ),
        (
            {"defs": {"a": {"type": "STRING"}}, "ref": "#/$defs/a"},
            {"$defs": {"a": {"type": "string"}}, "$ref": "#/$defs/a"},
        ),
        (
            {"type": "TYPE_UNSPECIFIED", "additional_properties": {"type": "STRING"}},
            {"additionalProperties": {"type": "string"}},
        ),
        (
            {"type": ["STRING", "NULL"], "format": "date-time"},
            {"type": ["string", "null"], "format": "date-time"},
        ),
    ],
)
def test_read_schema(schema: Any, expected: Any) -> None:
    """A schema of Gemini's own dialect is read as a JSON schema, the same for every provider."""
    tools = [{"function_declarations": [{"name": "f", "parameters": schema}]}]
    (tool,) = read({"contents": [], "tools": tools}).tools
    assert json.dumps(expected) == json.dumps(tool.input_schema)


def test_deep_arguments() -> None:
    """Arguments of 200 levels are read and written; deeper ones are refused by name."""
    args: dict[str, Any] = {}
    for _ in range(199):
        args = {"a": args}
    data = [{"role": "model", "parts": [{"function_call": {"name": "f", "args": args}}]}]
    assert ("hint", "arguments of a call") not in kinds_and_names(write(read(data), OLDER)[1])
    data[0]["parts"][0]["function_call"]["args"] = {"a": args}  # type: ignore[index]
    assert "nested deeper than 200 levels" in raised(DataError, lambda: read(data)).what


# Responses.

USAGE = {
    "promptTokenCount": 10,
    "cachedContentTokenCount": 4,
    "toolUsePromptTokenCount": 1,
    "candidatesTokenCount": 5,
    "thoughtsTokenCount": 3,
    "totalTokenCount": 19,
}
COUNTED = {"input": 11, "output": 8, "cache_read": 4, "reasoning": 3, "total": 19}
REPLY = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "Hm.", "thought": True},
                    {
                        "functionCall": {"id": "a", "name": "f", "args": {"a_b": 1}},
                        "thoughtSignature": "c2n_",
                    },
                ],
            },
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": USAGE,
}
SAID = (["reasoning", "tool_use"], "tool_use", COUNTED, [b"si\xff"])


def read_from(data: object) -> tuple[Any, ...]:
    """Return what is read from a response: kinds of blocks, end, counts, decoded signatures."""
    message = read_response(data)
    signatures = [
        block.extra["thought_signature"] for block in message.content if type(block) is ToolUseBlock
    ]
    decoded = [base64.urlsafe_b64decode(signature) for signature in signatures]
    kinds = [block.type for block in message.content]
    return (kinds, message.finish_reason, message.token_usage, decoded)


def test_response() -> None:
    """A response is what the model said, why it stopped and what was counted."""
    assert SAID == read_from(REPLY)


@typed
@pytest.mark.parametrize(
    "dumped",
    [
        pytest.param(lambda typed: typed, id="the SDK's object"),
        pytest.param(
            lambda typed: typed.model_dump(mode="json", exclude_none=True), id="dumped for JSON"
        ),
        pytest.param(lambda typed: typed.model_dump(), id="dumped"),
        pytest.param(lambda typed: typed.to_json_dict(), id="dumped by the SDK"),
    ],
)
def test_response_of_the_sdk(dumped: Any, types: Any) -> None:
    """The SDK's response says the same as its body."""
    assert SAID == read_from(dumped(types.GenerateContentResponse.model_validate(REPLY)))


def test_response_comes_back() -> None:
    """What a model said is sent back as it was."""
    wire = payload_contents(HELLO, read_response(REPLY), answer("a", "x"), facts=SIGNING)[1]
    call = {"function_call": {"id": "a", "name": "f", "args": {"a_b": 1}}}
    parts = [{"text": "Hm.", "thought": True}, {**call, "thought_signature": "c2n_"}]
    assert ("model", parts) == wire


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "filtered"),
        ("RECITATION", "filtered"),
        ("CONTINUATION", "length"),
        ("MALFORMED_FUNCTION_CALL", "error"),
        ("FINISH_REASON_UNSPECIFIED", None),
        ("BORED", "BORED"),
        (None, None),
    ],
)
def test_finish_reason(reason: object, word: str | None) -> None:
    """Why a model stopped is told in the library's words, where it has one."""
    assert word == read_response({"candidates": [{"finish_reason": reason}]}).finish_reason


@typed
def test_reasons_of_the_sdk(types: Any) -> None:
    """The SDK's own reasons are told in the same words."""
    ended = {"candidates": [{"finish_reason": types.FinishReason.RECITATION}]}
    blocked = {"promptFeedback": {"blockReason": types.BlockedReason.JAILBREAK}}
    assert ("filtered", ((), "filtered", None)) == (
        read_response(ended).finish_reason,
        nothing_said(blocked),
    )


def nothing_said(data: object) -> tuple[Any, ...]:
    """Return what a response without an answer says, and why."""
    message = read_response(data)
    return (message.content, message.finish_reason, message.token_usage)


@pytest.mark.parametrize("candidates", [{}, {"candidates": None}, {"candidates": []}])
def test_response_without_candidates(candidates: dict[str, Any]) -> None:
    """A response that only counts is an empty message with what was counted."""
    message = read_response({**candidates, "usageMetadata": USAGE, "modelVersion": "x"})
    assert ((), None, COUNTED) == (message.content, message.finish_reason, message.token_usage)


def test_calls_of_a_response_have_ids() -> None:
    """Calls without ids get some where they are read."""
    data = {"candidates": [{"content": {"role": "model", "parts": [F, G]}}]}
    assert (["call_0", "call_1"], []) == ids_of((read_response(data),))


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (7, "a dictionary is needed, not int"),
        ({}, "'candidates' is needed"),
        ({"choices": []}, "'candidates' is needed"),
        ({"candidates": 7}, "'candidates' must be a list, not int"),
        (
            {"candidates": [{"content": {"parts": [{"text": 7}]}}]},
            "parts[0]: 'text' must be a string, not int",
        ),
    ],
)
def test_response_error(data: object, what: str) -> None:
    """What is no response is an error."""
    assert what == raised(DataError, lambda: read_response(data)).what


@pytest.mark.parametrize(
    ("schema", "read"),
    [
        (
            {"properties": {"a": {"ref": "#/defs/X"}}, "defs": {"X": {"type": "STRING"}}},
            {"properties": {"a": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"type": "string"}}},
        ),
        (
            {"$ref": "#/$defs/X", "nullable": True},
            {"anyOf": [{"$ref": "#/$defs/X"}, {"type": "null"}]},
        ),
        (
            {"anyOf": [{"type": "NULL"}, {"type": "STRING"}], "nullable": True},
            {"anyOf": [{"type": "null"}, {"type": "string"}]},
        ),
    ],
)
def test_references_and_null(schema: Any, read: Any) -> None:
    """A reference follows its definitions, and what may be null says so wherever it can."""
    assert read == json_schema(schema)


def test_a_result_that_names_its_call() -> None:
    """A result without an id does not take the call another result names."""
    calls = [{"function_call": {"id": "x", "name": "f"}}, {"function_call": {"name": "f"}}]
    results = [
        {"function_response": {"name": "f", "response": {"output": "second"}}},
        {"function_response": {"id": "x", "name": "f", "response": {"output": "first"}}},
    ]
    contents = [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": calls},
        {"role": "user", "parts": results},
    ]
    prompt = read(contents)
    ids = [block.tool_use_id for m in prompt.messages if m.role == "tool" for block in m.content]  # type: ignore[union-attr]
    assert ["call_0", "x"] == ids
