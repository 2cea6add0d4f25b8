"""A server's name is taken wherever a provider is named: each parameter is found by its type."""

import ast
import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import promptdsl
from promptdsl import *
from promptdsl.batch import RowRenderer
from promptdsl.comparing import payload_file
from promptdsl.integrations.litellm import from_litellm
from tests.errors import raised

Json = Any  # Any: the JSON of a server
CHAT: Json = {"adapter": "openai_compatible"}
FORMS = ("openai_responses", "anthropic", "gemini", "bedrock")
THOUGHT = {"role": "assistant", "content": "a", "reasoning_content": "hm"}
REPLY = {"choices": [{"finish_reason": "stop", "message": THOUGHT}]}
ASKED = {"role": "user", "content": "q"}
CHUNKS = [{"choices": [{"delta": THOUGHT, "finish_reason": "stop"}]}]


def origins(messages: Any) -> set[str | None]:
    """Return the origins of the reasoning in messages."""
    blocks = [block for message in messages for block in message.content]
    return {block.origin for block in blocks if isinstance(block, ReasoningBlock)}


def read(name: str) -> Any:
    """Return the message of a stream."""
    reading = read_stream(CHUNKS, provider=name)
    assert CHUNKS == [*reading]
    return reading.message


def ask(question: str) -> Timeline:
    """Return the prompt of a row."""
    return Timeline(User(question))


USES: Mapping[str, Callable[[str], object]] = {
    "AnyRenderOptions.provider": lambda name: render(User("q"), provider=name).payload(),
    "Rendered.for_target(provider)": lambda name: render(User("q")).for_target(name).payload(),
    "read_payload(provider)": lambda name: origins(read_payload([THOUGHT], name).messages),
    "read_response(provider)": lambda name: origins([read_response(REPLY, provider=name)]),
    "read_stream(provider)": lambda name: origins([read(name)]),
    "register_model(provider)": lambda name: register_model("m", provider=name).close(),
    "Transcript.append(provider)": lambda name: origins([appended(name)]),
    "Transcript.from_openai(origin)": lambda name: origins(
        Transcript.from_openai([ASKED, THOUGHT], origin=name)
    ),
    "RecordedOptions.origin": lambda name: origins(
        render(Timeline(History.from_openai([ASKED, THOUGHT], origin=name))).messages
    ),
    "RowRenderer.__init__(format)": lambda name: RowRenderer(ask, format=name, model="m")(
        [{"question": "q"}]
    ),
    "payload_file(provider)": lambda name: payload_file({"messages": [ASKED]}, name),
    "from_litellm(origin)": lambda name: origins(from_litellm([THOUGHT], origin=name).messages),
}
"""What is done with the name of a server; what reads returns the origins."""
ELSEWHERE = {
    "aread_stream(provider)",
    "payload_rendered(provider)",
    "ComparedPrompt.payload(provider)",
    "from_pydantic_ai(provider)",
    "Transcript.replace(provider)",
    "HarmlessPrompt.__init__(target)",
    "_is_harmless(target)",
    "_read_message(provider_name)",
    "_rendered(target)",
    "new_message(provider)",
    "read(provider)",
    *(f"Transcript.from_{form}(origin)" for form in FORMS),
}
"""The same of the asynchronous or an inner function, and of other forms."""
RETURNED = {"LazyContext.provider", "ModelFacts.provider"}
"""The fields with the name of the target."""


def appended(name: str) -> Any:
    """Return the message of a reply that a transcript recorded."""
    transcript = Transcript([ASKED])
    return transcript.append(REPLY, provider=name).message


@pytest.mark.parametrize("use", USES)
def test_a_registered_server(use: str) -> None:
    """A server that a user registered is taken, and is the origin of what is read."""
    with register_provider("house", adapter="openai_compatible"):
        result = USES[use]("house")
    if isinstance(result, set):
        assert {"house"} == result


@pytest.mark.parametrize("use", [use for use in USES if use != "from_litellm(origin)"])
def test_an_unknown_server(use: str) -> None:
    """An unknown name is the project's error, and names a near one."""
    error = raised(PromptError, lambda: USES[use]("deepsek"))
    assert isinstance(error, TargetError | OptionError)
    assert "did you mean 'deepseek'?" in str(error)


def named_parameters() -> Iterator[str]:
    """Yield the parameters, options and fields whose type has the names of providers."""
    for path in Path(str(promptdsl.__file__)).parent.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        for holder in ast.walk(tree):
            if not isinstance(holder, ast.Module | ast.ClassDef):
                continue
            prefix = f"{holder.name}." if isinstance(holder, ast.ClassDef) else ""
            for node in holder.body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    arguments = [*node.args.args, *node.args.kwonlyargs]
                    names = [
                        argument.arg for argument in arguments if is_provider(argument.annotation)
                    ]
                    yield from (f"{prefix}{node.name}({name})" for name in names)
                elif isinstance(node, ast.AnnAssign) and is_provider(node.annotation):
                    yield f"{prefix}{ast.unparse(node.target)}"


def is_provider(annotation: ast.expr | None) -> bool:
    """Return whether a type has the names of providers, those of servers too."""
    return annotation is not None and "ProviderName" in ast.unparse(annotation).split(" | ")


@pytest.mark.slow
def test_every_parameter_is_tried() -> None:
    """No function has a parameter for a provider that is not among those that are tried."""
    assert {*named_parameters()} == {*USES, *ELSEWHERE, *RETURNED}


TEXT = {"type": "output_text", "text": "a", "annotations": []}
ITEMS = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2Vj"},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [TEXT],
    },
]
THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
SIGNED = {"reasoningText": {"text": "hm", "signature": "c2ln"}}
RECORDED: Mapping[str, list[Json]] = {
    "openai_responses": [ASKED, *ITEMS],
    "anthropic": [
        ASKED,
        {"role": "assistant", "content": [THINKING, {"type": "text", "text": "a"}]},
    ],
    "gemini": [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "a"}]},
    ],
    "bedrock": [
        {"role": "user", "content": [{"text": "q"}]},
        {"role": "assistant", "content": [{"reasoningContent": SIGNED}, {"text": "a"}]},
    ],
}
"""A conversation with reasoning, in each form."""


@pytest.mark.parametrize("interface", FORMS)
def test_a_server_of_each_interface(interface: str) -> None:
    """A server with the interface of any provider gets its own reasoning again, others do not."""
    recorded = RECORDED[interface]
    with register_provider("house", adapter=interface):  # type: ignore[arg-type]
        prompt = Timeline(
            getattr(History, f"from_{interface}")(recorded, origin="house"), User("And?")
        )
        transcript = getattr(Transcript, f"from_{interface}")(recorded, origin="house")
        assert {"house"} == origins(transcript) == origins(render(prompt).messages)
        rendered = render(prompt, provider="house")
        assert [] == [hint for hint in rendered.hints if hint.name == "unsent_reasoning"]
        plain = Timeline(getattr(History, f"from_{interface}")(recorded), User("And?"))
        assert rendered.payload() == render(plain, provider=interface).payload()
        hints = render(prompt, provider=interface).hints
    assert ["unsent_reasoning"] == [loss.name for loss in hints if "reasoning" in loss.name]
    assert rendered.payload() == getattr(rendered, f"to_{interface}")()


def test_an_asynchronous_stream() -> None:
    """An asynchronous stream of a server has its name as the origin."""

    async def chunks() -> AsyncIterator[Json]:
        for chunk in CHUNKS:
            yield chunk

    async def message() -> Any:
        reading = aread_stream(chunks(), provider="deepseek")
        _ = [event async for event in reading]
        return reading.message

    assert {"deepseek"} == origins([asyncio.run(message())])


TURN = {"reasoning_key": "a", "reasoning_back": "turn"}


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("openai", {"adapter": "openai"}, "the provider 'openai' exists already"),
        ("deepseek", {}, "the provider 'deepseek' exists already"),
        ("house", {"adapter": "deepseek"}, "unknown adapter 'deepseek'"),
        ("a.b", {}, "'a.b' cannot be the name of a server"),
        (5, {}, "5 cannot be the name of a server"),
        ("house", {"kept_key": ["a"]}, "unknown fact 'kept_key'"),
        ("house", {"kept_keys": ["role"]}, "kept_keys=['role']"),
        ("house", {"reasoning_back": "yes"}, "reasoning_back='yes'"),
        ("house", {"thinking_tags": ["<a>"]}, "thinking_tags=['<a>']"),
        ("house", {"exact_id": 65}, "exact_id=65"),
        ("house", {"kept_keys": ["custom"]}, "kept_keys=['custom']"),
        ("house", {"reasoning_key": "role"}, "reasoning_key='role'"),
        ("house", {"reasoning_key": "a\ud800"}, "reasoning_key="),
        ("house", {"reasoning_key": "a"}, "reasoning_key needs reasoning_back"),
        ("house", {"missing_reasoning": ""}, "missing_reasoning needs a reasoning_key"),
        ("house", {"reasoning_key": "content", "reasoning_back": "always"}, "needs the tags"),
        (
            "house",
            {"adapter": "anthropic", "kept_keys": ["a"]},
            "only a server with OpenAI's Chat can have",
        ),
        ("house", {"adapter": ["a"]}, "unknown adapter ['a']"),
        ("house", {**TURN, "kept_keys": ["a"]}, "kept_keys contains the reasoning_key"),
        ("text", {}, "'text' cannot be the name of a server"),
    ],
)
def test_a_wrong_server(name: Any, options: Any, message: str) -> None:
    """A wrong name, adapter or fact is an error at the author's line, and registers nothing."""
    before = provider_names()
    error = raised(PromptError, lambda: register_provider(name, **{**CHAT, **options}))
    assert message in str(error)
    assert str(error).startswith(__file__)
    assert before == provider_names()


def test_a_transcript_and_a_wrong_name() -> None:
    """A name that is unknown, or not that of a stream, is an error, and records nothing."""
    transcript = Transcript([ASKED])
    raised(TargetError, lambda: transcript.append("Hi.", provider="nope"))
    reading = read_stream(CHUNKS, provider="deepseek")
    assert CHUNKS == [*reading]
    error = raised(DataError, lambda: transcript.append(reading, provider="openrouter"))
    assert "read_stream(stream, provider='openrouter')" in str(error)
    assert 1 == len(transcript)


def test_a_model_of_a_server_that_is_gone() -> None:
    """A model that was registered for a server has no target when the server is gone."""
    with register_provider("house", adapter="openai_compatible"):
        registration = register_model("house-1", provider="house")
        assert "house" == render(User("q"), model="house-1").facts.provider
    with registration:
        assert render(User("q"), model="house-1").facts.provider is None


def test_a_reply_of_another_form() -> None:
    """A reply that the named server cannot have sent is refused, as is a history."""
    error = raised(DataError, lambda: read_response(REPLY, provider="deepseek_responses"))
    assert "this one looks like openai" in str(error)
    wrong = raised(TargetError, lambda: History.from_anthropic([ASKED], origin="deepseek"))
    assert "from_openai(..., origin='deepseek')" in str(wrong)


def test_what_was_rendered_stays() -> None:
    """A server that is registered no more leaves what was rendered, and its name as an origin."""
    with register_provider("house", adapter="openai_compatible", kept_keys=["state"]):
        message = read_response(
            {"choices": [{"message": {**THOUGHT, "state": {"x": 1}}}]}, provider="house"
        )
        rendered = render(Timeline(User("q"), History([message])), provider="house")
    assert {"x": 1} == rendered.to_openai()["messages"][1]["state"]
    assert "house" == rendered.facts.provider
    assert {"house"} == origins([type(message).from_dict(message.to_dict())])
    prompt = Timeline(User("q"), History([message]), User("And?"))
    hints = render(prompt, provider="deepseek").hints
    assert {"key 'state'", "reasoning block"} == {loss.what for loss in hints}
    assert all("house" in loss.why and "deepseek" in loss.why for loss in hints)


def test_keys_that_only_a_server_has() -> None:
    """A key of reasoning that no other server has is read, counted, placed and sent again."""
    function = {"name": "find", "arguments": "{}"}
    answer = {
        **{"role": "assistant", "content": None, "tool_calls": [{"id": "a", "function": function}]},
        **{"thinking_text": "Look at all the words.", "session_state": {"step": 1}},
    }
    with register_provider(
        "house",
        adapter="openai_compatible",
        reasoning_key="thinking_text",
        reasoning_back="always",
        missing_reasoning="",
        kept_keys=["session_state"],
    ):
        message = read_response({"choices": [{"message": answer}]}, provider="house")
        assert {"house"} == origins([message])
        assert {} == dict(message.extra)
        loop = Timeline(User("q"), History([message]), ToolMessage("a", "x"))
        result = render(loop, provider="house")
        payload_answer = result.to_openai()["messages"][1]
        assert ("Look at all the words.", {"step": 1}) == (
            payload_answer["thinking_text"],
            payload_answer["session_state"],
        )
        assert () == result.losses == result.hints
        assert ("messages", 1, "thinking_text") in [
            location.address for location in result.locations()
        ]
        plain = render(loop, provider="openai_compatible")
        assert result.tokens.total > plain.tokens.total + 5
        authors_prompt = Timeline(
            User("q"), Assistant(ToolUse("find", {}, id="b")), ToolMessage("b", "x")
        )
        assert (
            ""
            == render(authors_prompt, provider="house").to_openai()["messages"][1]["thinking_text"]
        )
