"""What LiteLLM sends to Anthropic is what is written for Anthropic, cache marks included.

Four things are equal only as ``body`` reads them. LiteLLM writes the text of a result as a string,
and gives each tool a type and ``properties``. For an empty answer it sends a text of its own. It
joins neighbouring turns of one role. An id that comes back in a later turn gets a number at its end
for Anthropic alone.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

import pytest

from promptdsl import *
from promptdsl.integrations import Converted
from promptdsl.integrations.litellm import to_litellm
from tests.folding import failures, unequal
from tests.providers.conversations import PNG

pytestmark = pytest.mark.sdk("litellm")

Body: TypeAlias = dict[str, Any]
Send: TypeAlias = Callable[[Converted[list[Body]], str], Body]

MODEL = "claude-opus-4-5"
EMPTY = "[System: Empty message content sanitised to satisfy protocol]"
"""The text that LiteLLM sends for an empty answer."""


@pytest.fixture(scope="module")
def send() -> Send:
    """Return LiteLLM's own way from its messages and tools to the body of Anthropic's request."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    config = pytest.importorskip("litellm").AnthropicConfig()

    def sent(bridged: Converted[list[Body]], model: str) -> Body:
        messages, tools = deepcopy((bridged.messages, [*bridged.tools]))
        params: Body = {}
        if tools:
            config.map_openai_params({"tools": tools}, params, model, drop_params=False)
        made: Body = config.transform_request(model, messages, params, {}, {})
        return made

    return sent


def sent_blocks(content: Any) -> list[Body]:
    """Return blocks without the text that LiteLLM sends for none, and without numbers in ids."""
    blocks: list[Body] = []
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        copy = dict(block)
        if block["type"] == "tool_result":
            copy["content"] = sent_blocks(block.get("content", ""))
        for key in {"id", "tool_use_id"} & block.keys():
            copy[key] = re.sub(r"_\d\Z", "", block[key])
        blocks.append(copy)
    return [block for block in blocks if block.get("text") not in ("", EMPTY)]


def body(payload: Mapping[str, Any]) -> Body:
    """Return what is compared of a request: its blocks, and its tools without what LiteLLM adds."""
    turns = [
        (role, [block for turn in group for block in sent_blocks(turn["content"])])
        for role, group in groupby(payload["messages"], itemgetter("role"))
    ]
    tools = [
        {**tool, "type": "custom", "input_schema": {"properties": {}, **tool["input_schema"]}}
        for tool in payload.get("tools", ())
    ]
    return {"system": sent_blocks(payload.get("system", ())), "turns": turns, "tools": tools}


def marks(data: object) -> Iterator[object]:
    """Yield all cache marks in a request."""
    if isinstance(data, dict):
        yield from [data["cache_control"]] if "cache_control" in data else []
    if isinstance(data, dict | list | tuple):
        for value in data.values() if isinstance(data, dict) else data:
            yield from marks(value)


def difference(prompt: Node, send: Send, model: str = MODEL, **request: Any) -> str:
    """Return where LiteLLM's request is another one."""
    rendered = render(prompt, model=model, **request)
    our_request, theirs = body(rendered.to_anthropic()), body(send(to_litellm(rendered), model))
    return unequal(our_request, theirs)


FIND = Tool(name="find", description="Find a page.", input_schema={"type": "object"})
KEEP = Tool(name="keep", input_schema={"type": "object", "properties": {"x": {}}})
HOUR, SHORT = CacheBreakpoint("1h"), CacheBreakpoint("5m")
MANY: list[Any] = ["x", SHORT] * 5
IMAGE, PDF = Image.from_base64(PNG, "image/png"), Document.from_bytes(b"%PDF-1.7")
ASK, USE = User("Where?"), ToolUse("find", {"q": "a"}, id="a")
RESULT = ToolMessage("a", "Here.")
CALL, MARKED_CALL = Assistant("I look.", USE), Assistant(USE, cache=True)
PROMPTS: dict[str, Node] = {
    "system text": Timeline(System("Be kind.", cache=True), ASK),
    "sections": Timeline(System(Section("a", "A.", cache=True), Section("b", "B.")), ASK),
    "lifetimes": Timeline(System("A.", SHORT, "B.", HOUR, "C.", SHORT, "D."), ASK),
    "too many": Timeline(System("A.", SHORT, "B.", HOUR, "C."), User(*MANY, "y")),
    "tools": Timeline(FIND, SHORT, KEEP, SHORT, System("Be kind."), ASK),
    "a tool for an hour": Timeline(FIND, HOUR, System("Be kind.", cache=True), ASK),
    "user": Timeline(User("A.", SHORT, "B."), Assistant("C."), User("D.", cache=True)),
    "assistant": Timeline(ASK, Assistant("A.", HOUR, "B.", cache=True), User("C.")),
    "a last answer": Timeline(ASK, Assistant("A. ", cache=True)),
    "call": Timeline(FIND, ASK, MARKED_CALL, ToolMessage("a", "Here."), ASK),
    "result": Timeline(FIND, ASK, CALL, ToolMessage("a", "Here.", cache=True), ASK),
    "inside a result": Timeline(FIND, ASK, CALL, ToolMessage("a", "A.", HOUR, "B.", SHORT), ASK),
    "an empty result": Timeline(FIND, ASK, CALL, ToolMessage("a", "", cache=True), ASK),
    "picture in a result": Timeline(FIND, ASK, CALL, ToolMessage("a", IMAGE, cache=True), ASK),
    "attachments": Timeline(User("A.", IMAGE, SHORT, PDF, HOUR, "B."), Assistant("C."), ASK),
    "request-only": Timeline(ASK, Assistant("A.", cache=True), Grounding("plan", "Pro"), ASK),
}


@pytest.mark.parametrize("cache", [None, "auto"])
def test_written_prompts(send: Send, cache: Any) -> None:
    """Marks of an author and marks that are placed for one are where they are for Anthropic."""

    def wrong(name: str) -> str:
        sent = render(PROMPTS[name], model=MODEL, cache=cache).to_anthropic()
        no_mark = "" if [*marks(sent)] else "no mark is sent"
        return difference(PROMPTS[name], send, cache=cache) or no_mark

    assert [] == failures(PROMPTS, wrong)


SIGNED = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
HIDDEN = {"type": "redacted_thinking", "data": "ZW5j"}
PDF_FAR = Document.from_url("https://example.org/a.pdf")
THOUGHT = History.from_anthropic(
    [
        {"role": "user", "content": [{"type": "text", "text": text} for text in "ab"]},
        {"role": "assistant", "content": [SIGNED, HIDDEN, {"type": "text", "text": "c"}]},
        {"role": "user", "content": "d"},
    ]
)
BLOCKS: dict[str, Node] = {
    "texts": Timeline(User(Text("A."), Text("B."), IMAGE, Text("C."))),
    "merged turns": Timeline(User("A."), User("B."), Assistant("C."), Assistant("D."), ASK),
    "merged events": Timeline(Event("A."), Event("B."), ASK),
    "system texts": Timeline(System("A.", Section("b", "B.")), System("C."), ASK),
    "results of texts": Timeline(FIND, ASK, CALL, ToolMessage("a", Text("A."), Text("B."))),
    "reasoning": Timeline(THOUGHT),
    "reasoning, and a call": Timeline(
        FIND, THOUGHT, Assistant(Reasoning("Hm.", "c2ln", origin="anthropic"), USE), RESULT, ASK
    ),
    "a later instruction": Timeline(ASK, Assistant("A."), ASK, Developer("B.")),
    "one at an answer": Timeline(ASK, Developer("B."), Assistant("A."), ASK),
    "one between questions": Timeline(ASK, Developer("B."), ASK),
    "one behind an answer": Timeline(ASK, Assistant("A."), Developer("B."), ASK),
    "one behind results": Timeline(FIND, ASK, CALL, RESULT, Developer("B."), Assistant("A."), ASK),
    "an event behind results": Timeline(FIND, ASK, CALL, RESULT, Event("B.")),
    "an address": Timeline(User("A.", PDF_FAR, Image.from_url("https://example.org/a.png"))),
}


@pytest.mark.parametrize("model", [MODEL, "claude-opus-5-5"])
@pytest.mark.parametrize("settings", [{}, AS_WRITTEN])
def test_blocks(send: Send, settings: Any, model: str) -> None:
    """The blocks are those of Anthropic, one by one, whatever is joined."""

    def wrong(name: str) -> str:
        return difference(BLOCKS[name], send, model, transformation=settings)

    assert [] == failures(BLOCKS, wrong)


@pytest.fixture(scope="module")
def contents() -> Callable[[Converted[list[Body]]], list[Body]]:
    """Return LiteLLM's own way from its messages to the contents of a request of Gemini."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    pytest.importorskip("litellm")
    gemini = import_module("litellm.llms.vertex_ai.gemini.transformation")

    def made(bridged: Converted[list[Body]]) -> list[Body]:
        _, messages = gemini._transform_system_message(True, deepcopy(bridged.messages))
        written: list[Body] = gemini._gemini_convert_messages_with_history(messages, model=GEMINI)
        return written

    return made


GEMINI = "gemini-3.1-pro"
RENAMED = {"thoughtSignature": "thought_signature", "content": "output"}
"""The keys of a part that LiteLLM writes in another way, or under another name."""


def gemini_parts(contents: list[Body]) -> list[tuple[str, list[Any]]]:
    """Return the parts of the turns of each side, with one name for each key."""

    def usual(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {RENAMED.get(key, key): usual(inner) for key, inner in value.items()}

    turns = groupby(contents, itemgetter("role"))
    parts = [(role, [part for turn in group for part in turn["parts"]]) for role, group in turns]
    return [(role, [usual(part) for part in of_side]) for role, of_side in parts]


@pytest.mark.parametrize("settings", [{}, AS_WRITTEN])
def test_parts_of_gemini(contents: Any, settings: Any) -> None:
    """So are the parts of a request of Gemini: texts, calls, results and signatures."""
    prompts = {**PROMPTS, **BLOCKS}

    def wrong(name: str) -> str:
        rendered = render(prompts[name], model=GEMINI, transformation=settings)
        our_request: Any = rendered.to_gemini()["contents"]
        return unequal(gemini_parts(our_request), gemini_parts(contents(to_litellm(rendered))))

    # Gemini needs the media type of an address.
    assert [] == failures(prompts.keys() - {"an address"}, wrong)


def test_recorded_conversations_sent(recorded: dict[str, list[Body]], send: Send) -> None:
    """So are those that are placed in recorded conversations."""

    def wrong(name: str) -> str:
        messages = recorded[name]
        last = max(n for n, message in enumerate(messages) if message["role"] != "assistant")
        history = History.from_openai(messages[: last + 1])
        return difference(Timeline(FIND, history), send, cache="auto")

    assert [] == failures(recorded, wrong)
