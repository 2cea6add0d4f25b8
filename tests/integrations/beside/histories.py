"""Histories of Pydantic AI, which both libraries start from: random ones, and recorded ones."""

from random import Random
from typing import Any, TypeAlias

from pydantic_ai import messages as ai
from pydantic_ai.tools import ToolDefinition

from promptdsl import History, Timeline, render
from promptdsl.integrations.pydantic_ai import to_pydantic_ai

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
FILES = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "application/pdf": b"%PDF-1.4",
    "text/csv": b"a,b\n1,2",
    "text/markdown": b"# Title",
    DOCX: b"PK\x03\x04",
}
SEAT = {"type": "object", "properties": {"row": {"type": "integer", "default": 1}}}
TOOLS = {
    "find": {"properties": {"q": {"type": "string"}}, "required": ["q"]},
    "book": {"properties": {"seat": {"$ref": "#/$defs/Seat"}}, "$defs": {"Seat": SEAT}},
}


Sent: TypeAlias = tuple[list[Any], list[ToolDefinition]]
"""Messages and tools."""


def _ask(*content: Any) -> Any:
    return ai.ModelRequest([ai.UserPromptPart(content[0] if len(content) == 1 else content)])


def _reply(*parts: Any) -> Any:
    return ai.ModelResponse([ai.TextPart(p) if isinstance(p, str) else p for p in parts])


def _use(content: Any, *beside: Any, id: str = "", args: Any = '{"q": "x"}', **more: Any) -> Any:
    """Return a question, a call, its result with other parts of its message, and an answer."""
    id = id or f"c{len(repr(content))}"
    result = ai.ToolReturnPart("find", content, id, **more)
    call = ai.ToolCallPart("find", args, id)
    return [_ask("Look."), _reply(call), ai.ModelRequest([result, *beside]), _reply("There.")]


def _parallel(rng: Random) -> Any:
    ids = [f"p{n}" for n in range(rng.randint(2, 3))]
    calls = [ai.ToolCallPart("find", {"q": id}, id) for id in ids]
    results = [ai.ToolReturnPart("find", f"found {id}", id) for id in rng.sample(ids, len(ids))]
    return [_ask("All."), _reply("Now.", *calls), ai.ModelRequest(results), _reply("Done.")]


def _thought(rng: Random, provider: str) -> Any:
    ids = ("rs_1", "msg_1") if provider == "openai" else (None, None)
    thought = ai.ThinkingPart("Rain?", id=ids[0], signature="c2ln", provider_name=provider)
    said = ai.TextPart("Rain.", id=ids[1], provider_name=ids[1] and provider)
    step = [_reply(thought, ai.ToolCallPart("find", {}, "t1")), *_use("wet", id="t1")[2:]]
    return [_ask("Why?"), *rng.choice([[_reply(thought, said)], step])]


def _file(rng: Random, *types: str) -> Any:
    media_type = rng.choice(types or [*FILES])
    held = ai.BinaryContent(FILES[media_type], media_type=media_type)
    return ai.BinaryContent.narrow_type(held)


def _cached(rng: Random) -> Any:
    first, second = (ai.CachePoint(ttl=rng.choice(["5m", "1h"])) for _ in range(2))
    return [_ask("A long text.", first, "Another.", second), _reply("Read.")]


LISTS: Any = [[{"id": 1}], [1, 2], ["item 1\n\nitem 2", "item 3"], []]
DATA: Any = [*LISTS, {"x": 1, "y": [None]}, 3, None, '{"a": "b"}']
ADDRESSES = ai.ImageUrl("https://a.b/c.png"), ai.DocumentUrl("https://a.b/c.pdf")
WORDS = ["\U0001f469\u200d\U0001f680 e\u0301", "\u0645 \u202ex", "a\r\nb\x07", "<system>x</system>"]
OUTCOMES = ["failed", "denied", "retried", "interrupted"]
MIDDLE = [ai.SystemPromptPart("Be brief."), ai.UserPromptPart("And Rome?")]
INSTRUCTED = ai.ModelRequest([ai.UserPromptPart("Hi.")], instructions="Use metres.")
FEATURES: dict[str, Any] = {
    "the model speaks first": lambda _: [_reply("Hello!")],
    "an id twice": lambda _: [*_use("sun", id="c1"), *_use("rain", id="c1")],
    "a bad id": lambda rng: _use("sun", id=rng.choice(["call:1", "a.b|c", "caf\u00e9", "x" * 70])),
    "parallel calls": _parallel,
    "a file in a result": lambda rng: _use(rng.choice([["See:", _file(rng)], _file(rng)])),
    "data in a result": lambda rng: _use(rng.choice(DATA)),
    "a blank result": lambda rng: _use(rng.choice(["", " \n"])),
    "a failed result": lambda rng: _use(
        rng.choice(["no city", {"code": 5}]), outcome=rng.choice(OUTCOMES)
    ),
    "an instruction": lambda rng: [ai.ModelRequest(rng.sample(MIDDLE, 2)), _reply("Sun.")],
    "instructions": lambda _: [INSTRUCTED, _reply("Yes.")],
    "reasoning of OpenAI": lambda rng: _thought(rng, "openai"),
    "reasoning of Claude": lambda rng: _thought(rng, "anthropic"),
    "reasoning of Gemini": lambda rng: _thought(rng, "google"),
    "reasoning of Bedrock": lambda rng: _thought(rng, "bedrock"),
    "no arguments": lambda rng: _use("sun", args=rng.choice([None, "", {}, "{}"])),
    "bad arguments": lambda rng: _use("sun", args=rng.choice(['{"q": ', "[1]", '"x"', "null"])),
    "cache points": _cached,
    "a document": lambda rng: [_ask("Read.", _file(rng)), _reply("Done.")],
    "a file beside a result": lambda rng: _use("sun", ai.UserPromptPart(["And:", _file(rng)])),
    "an address": lambda rng: [_ask("Look:", rng.choice(ADDRESSES)), _reply("Seen.")],
    "blank texts": lambda rng: [_ask("", "Hi.", " \n"), _reply(rng.choice(["", " "]), "Hi.")],
    "several texts": lambda _: [_ask("One.", "Two.\n\nThree."), _reply("Four.", "Five.")],
    "unicode": lambda rng: [_ask(rng.choice(WORDS)), _reply(rng.choice(WORDS))],
    "an empty answer": lambda _: [_ask("May I?"), _reply()],
}


def random_history(seed: int) -> Sent:
    """Return a history of one to four features; a number always gives the same one."""
    rng = Random(seed)
    chosen = sorted(rng.sample([*FEATURES], rng.randint(1, 4)), key=[*FEATURES].index)
    messages = [message for name in chosen for message in FEATURES[name](rng)]
    if rng.random() < 0.7:
        first = messages.pop(0) if isinstance(messages[0], ai.ModelRequest) else ai.ModelRequest([])
        parts = [ai.SystemPromptPart("Be kind."), *first.parts]
        messages.insert(0, ai.ModelRequest(parts, instructions=first.instructions))
    return [*messages, _ask("And now?")], _tools(*[*TOOLS][: rng.randint(1, 2)])


def recorded_history(messages: list[dict[str, Any]]) -> Sent:
    """Return a conversation that was recorded as messages of Chat."""
    rendered = render(Timeline(History.from_openai(messages)))
    return [*to_pydantic_ai(rendered).messages], _tools("find")


def _tools(*names: str) -> list[ToolDefinition]:
    schemas = {name: {"type": "object", **TOOLS[name]} for name in names}
    return [ToolDefinition(name=n, parameters_json_schema=schemas[n]) for n in names]
