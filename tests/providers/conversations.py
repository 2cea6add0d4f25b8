"""One table of conversations that every adapter is tested on.

``CONVERSATIONS`` is hand-made: each entry is one shape a target may choke on. All calls are
answered, no source is a path, roles are already mapped. Real ones, which do not come with the
project, are the fixture ``recorded``.
"""

from collections.abc import Iterable
from typing import Any

import attrs

from promptdsl import *
from tests.internals import Cache, Kind, Role

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg=="
PDF = "JVBERi0xLjQKJSVFT0YK"
WAV = "UklGRiQAAABXQVZFZm10IA=="


def unopened(turns: Iterable[Any], opening: object) -> list[Any]:
    """Return turns without the first that is ``opening``."""
    unopened_turns = [*turns]
    first = unopened_turns.index(opening) if opening in unopened_turns else len(unopened_turns)
    return unopened_turns[:first] + unopened_turns[first + 1 :]


def say(
    role: Role, *content: Block | str, kind: Kind = "written", name: str | None = None
) -> Message:
    """Return a message; a string is a text block.

    One without a name has no details at all: of those a plain text is written on a shorter way.
    """
    blocks = tuple(TextBlock(c) if isinstance(c, str) else c for c in content)
    details = {} if name is None else {"name": name}
    return Message(role, blocks, kind=kind, **details)


def heard(role: Role, *content: Block | str, name: str | None = None) -> Message:
    """Return a message that was recorded."""
    return say(role, *content, kind="recorded", name=name)


def call(id: str, name: str = "look_up", arguments: str = '{"q": "x"}') -> ToolUseBlock:
    """Return a call the model made."""
    return ToolUseBlock(id, name, arguments)


def answer(id: str, *content: Block | str, is_error: bool = False) -> Message:
    """Return a tool message that answers one call."""
    blocks = tuple(TextBlock(c) if isinstance(c, str) else c for c in content)
    return say("tool", ToolResultBlock(id, blocks, is_error=is_error))


def whole(messages: Iterable[Message]) -> Prompt:
    """Return the prompt of messages and nothing else."""
    return Prompt(tuple(messages))


def media(kind: str, value: str, media_type: str | None = None) -> MediaSource:
    """Return a source of ``base64``, ``url``, ``file_id``, ``s3`` or ``gcs``."""
    return MediaSource(kind, value, media_type)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def marked(text: str, cache: Cache = "default") -> TextBlock:
    """Return a text with a cache mark behind it."""
    return TextBlock(text, cache)


ASK = say("user", "What is the weather in Paris?")
LONG_ID = "call_" + "0123456789" * 6

CONVERSATIONS: dict[str, tuple[Message, ...]] = {
    "nothing": (),
    "one question": (ASK,),
    "question and answer": (say("system", "Be brief."), ASK, say("assistant", "Rain.")),
    "only system": (say("system", "Be brief."),),
    "two leading systems": (say("system", "Be brief."), say("system", "Be kind."), ASK),
    "system of several texts": (say("system", "One.", "", "Two."), ASK),
    "leading developer": (say("system", "Be brief."), say("developer", "Use metres."), ASK),
    "assistant first": (say("assistant", "Hello!"), ASK),
    "assistant last": (ASK, say("assistant", "It is ")),
    "only assistant": (say("assistant", "Hello!"),),
    "users in a row": (ASK, say("user", "And in Rome?"), say("assistant", "Rain, sun.")),
    "assistants in a row": (ASK, say("assistant", "Rain."), say("assistant", "Sorry: sun.")),
    "several texts": (say("user", "One.", "Two."), say("assistant", "Three.", "Four.")),
    "empty parts": (
        say("system", ""),
        say("user", "", "Hello.", ""),
        say("assistant", ""),
        say("user"),
        say("assistant", "", call("a")),
        answer("a", ""),
        say("developer", ""),
        say("user", "Go on."),
    ),
    "white space": (
        say("user", " \n"),
        say("user", "  Hello.\r\n"),
        say("assistant", "\t", "Yes."),
    ),
    "one call": (ASK, say("assistant", call("a")), answer("a", "rain"), say("assistant", "Rain.")),
    "text beside a call": (ASK, say("assistant", "Let me see.", call("a")), answer("a", "rain")),
    "call before text": (ASK, say("assistant", call("a"), "Let me see."), answer("a", "rain")),
    "parallel calls": (
        ASK,
        say("assistant", "Both.", call("a"), call("b", "look_down")),
        answer("a", "rain"),
        answer("b", "mud"),
        say("assistant", "Rain and mud."),
    ),
    "results in another order": (
        ASK,
        say("assistant", call("a"), call("b")),
        answer("b", "mud"),
        answer("a", "rain"),
        say("user", "And?"),
    ),
    "two results in one message": (
        ASK,
        say("assistant", call("a"), call("b")),
        say(
            "tool",
            ToolResultBlock("a", (TextBlock("rain"),), name="look_up"),
            ToolResultBlock("b", (TextBlock("mud"),)),
        ),
    ),
    "result of several texts": (ASK, say("assistant", call("a")), answer("a", "rain", "", "mud")),
    "result without content": (ASK, say("assistant", call("a")), answer("a")),
    "errors": (
        ASK,
        say("assistant", call("a"), call("b"), call("c")),
        answer("a", "no such city", is_error=True),
        answer("b", "ERROR: no such city", is_error=True),
        answer("c", is_error=True),
        say("assistant", "Hm."),
    ),
    "error with a picture": (
        ASK,
        say("assistant", call("a")),
        answer("a", "broken", ImageBlock(media("base64", PNG, "image/png")), is_error=True),
    ),
    "arguments that are no object": (
        ASK,
        say("assistant", call("a", arguments="[1]"), call("b", arguments='{"q": ')),
        answer("a", "rain"),
        answer("b", "mud"),
    ),
    "arguments with odd spacing": (
        ASK,
        say("assistant", call("a", arguments='{ "b":1,"a" : "\\u00e9" }')),
        answer("a", "rain"),
    ),
    "repeated ids": (
        ASK,
        say("assistant", call("a")),
        answer("a", "rain"),
        say("assistant", call("a")),
        answer("a", "mud"),
        say("assistant", call("a_2")),
        answer("a_2", "sun"),
        say("assistant", "All."),
    ),
    "foreign ids": (
        ASK,
        say("assistant", call("fc.1:a"), call("fc_1_a"), call("idé"), call(" ")),
        answer("fc.1:a", "rain"),
        answer("fc_1_a", "mud"),
        answer("idé", "sun"),
        answer(" ", "snow"),
        say("assistant", call(LONG_ID), call(LONG_ID + "1"), call("\ud800"), call("\ud801")),
        answer(LONG_ID, "rain"),
        answer(LONG_ID + "1", "mud"),
        answer("\ud800", "sun"),
        answer("\ud801", "snow"),
    ),
    "foreign tool names": (
        ASK,
        say("assistant", call("a", "weather.look up"), call("b", "x" * 200), call("c", "")),
        answer("a", "rain"),
        answer("b", "mud"),
        answer("c", "sun"),
    ),
    "lone surrogates": (
        ASK,
        say("assistant", call("a", arguments='{"q": "\ud83d"}')),
        answer("a", "rain"),
        say("user", "See", ImageBlock(media("url", "https://example.org/\udcff.png"))),
    ),
    "developer in the middle": (
        ASK,
        say("developer", "Use metres."),
        say("assistant", "Rain."),
        say("user", "And in Rome?"),
        say("assistant", "Sun."),
        say("developer", "Use feet."),
        say("user", "And in Oslo?"),
    ),
    "developer behind results": (
        ASK,
        say("assistant", call("a")),
        answer("a", "rain"),
        say("developer", "Say it in French."),
        say("assistant", "Pluie."),
    ),
    "developer that closes its own fence": (
        ASK,
        say("assistant", "Rain."),
        say("developer", "Never write </developer> again."),
    ),
    "run of instructions": (
        say("system", "Be brief."),
        ASK,
        say("developer", "One."),
        say("developer", '<event type="user_action">\nUser left\n</event>', kind="event"),
        say("developer", "Two.", kind="recorded_system"),
        say("assistant", "Rain."),
    ),
    "recorded system in the middle": (
        say("system", "Be brief.", kind="recorded"),
        say("user", "Hello.", kind="recorded"),
        say("assistant", "Hello!", kind="recorded"),
        say("developer", "Be long.", kind="recorded_system"),
        say("user", "And now?", kind="recorded"),
    ),
    "system in the middle": (
        ASK,
        say("system", "An event.", kind="event"),
        say("assistant", "Rain."),
    ),
    "event first": (
        say("system", "Be brief."),
        say("developer", '<event type="user_action">\nUser came\n</event>', kind="event"),
        ASK,
    ),
    "event as user": (
        ASK,
        say("assistant", "Rain."),
        say("user", '<event type="user_action">\nUser left\n</event>', kind="event"),
    ),
    "grounding before the user": (
        say("system", "Be brief."),
        say("developer", "<context>\nPlan: pro\n</context>", kind="request"),
        ASK,
    ),
    "request-only last": (
        ASK,
        say("assistant", "Rain."),
        say("user", "And now?"),
        say("developer", "<context>\nNoon.\n</context>", kind="request"),
    ),
    "names": (
        say("system", "Be brief.", name="boss"),
        say("user", "Hello.", name="ada"),
        say("user", "Hello.", name="Ada Lovelace"),
        say("user", "Hello.", name="a" * 65),
        say("assistant", "Hello!", name="robot"),
        say("developer", "Be long.", name="boss"),
    ),
    "media": (
        say(
            "user",
            "Look:",
            ImageBlock(media("base64", PNG, "image/png"), title="A dot", detail="low"),
            ImageBlock(media("url", "https://example.org/dot.png"), detail="closely"),
            ImageBlock(media("file_id", "file-1")),
            ImageBlock(media("base64", "Qk0=", "image/bmp")),
            ImageBlock(media("url", "data:image/bmp;base64,Qk0=")),
            DocumentBlock(media("base64", PDF, "application/pdf"), title="Report"),
            DocumentBlock(media("base64", PDF, "application/pdf")),
            DocumentBlock(media("base64", "SGVsbG8=", "text/plain")),
            DocumentBlock(media("url", "https://example.org/a.pdf")),
            DocumentBlock(media("file_id", "file-2"), title="Kept"),
            DocumentBlock(media("s3", "s3://bucket/a.pdf")),
        ),
    ),
    "audio and video": (
        say(
            "user",
            AudioBlock(media("base64", WAV, "audio/wav")),
            AudioBlock(media("base64", WAV, "audio/mpeg")),
            AudioBlock(media("base64", WAV, "audio/ogg")),
            AudioBlock(media("url", "https://example.org/a.wav")),
            VideoBlock(media("base64", "AAAA", "video/mp4")),
            "Listen.",
        ),
    ),
    "only media that cannot be said": (ASK, say("user", VideoBlock(media("gcs", "gs://b/a.mp4")))),
    "media in other roles": (
        say("system", "Be brief.", ImageBlock(media("base64", PNG, "image/png"))),
        ASK,
        say("assistant", ImageBlock(media("base64", PNG, "image/png")), call("a")),
        answer("a", ImageBlock(media("base64", PNG, "image/png"))),
        say("developer", DocumentBlock(media("file_id", "file-1"))),
    ),
    "reasoning": (
        ASK,
        say(
            "assistant",
            ReasoningBlock("Hm.", signature="c2ln", origin="anthropic"),
            ReasoningBlock("", encrypted="ZW5j", origin="anthropic"),
            ReasoningBlock("Elsewhere.", signature="c2ln", origin="gemini"),
            ReasoningBlock("Unsigned.", origin="anthropic"),
            call("a"),
        ),
        answer("a", "rain"),
        say("assistant", ReasoningBlock("Only thought.")),
        say("user", "And?"),
        say("assistant", ReasoningBlock("So.", signature="c2ln", origin="anthropic"), "Rain."),
    ),
    "unknown blocks": (
        say("user", "Hello.", UnknownBlock({"type": "hologram", "data": [1]})),
        say("assistant", "Hello!"),
        say("user", UnknownBlock({"type": "hologram", "data": [1]}, "openai")),
        say("assistant", "Hello?"),
        say("user", "Yes.", UnknownBlock({"type": "hologram", "data": [1]}, "anthropic")),
        say("assistant", "Hello!"),
        say("user", "So.", UnknownBlock({"type": "hologram", "data": [1]}, "openai_responses")),
    ),
    "cache marks": (
        say("system", marked("One.", "1h"), marked("Two.")),
        say("user", marked("Three."), marked("", "5m"), "Four."),
        say("assistant", marked("Five.", "5m")),
        say("user", marked("Six.", "1h")),
        say("assistant", ToolUseBlock("a", "look_up", "{}", "default")),
        say("tool", ToolResultBlock("a", (TextBlock("rain"), marked("mud")), cache="5m")),
        say("developer", marked("Seven.")),
    ),
    "cache marks behind request-only content": (
        say("user", marked("One.")),
        say("user", "<context>\nPlan: pro\n</context>", kind="request"),
        say("user", marked("Two."), "Three."),
        say("assistant", "Four."),
        say("developer", "<context>\nNoon.\n</context>", kind="request"),
        say("user", marked("Five."), "Six."),
    ),
}


LOOK_UP = ToolDefinition(
    "look_up",
    "Look something up.",
    {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
)
ANYTHING = ToolDefinition("look.down", input_schema={"type": "object"}, cache="default")
SEARCH = ToolDefinition("web_search", raw={"type": "web_search"}, origin="openai_responses")
FORM = OutputSchema(
    {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "city",
    "Where it is.",
)

PROMPTS: dict[str, Prompt] = {
    **{name: Prompt(messages) for name, messages in CONVERSATIONS.items()},
    "a tool": Prompt((ASK,), (LOOK_UP,)),
    "tools and calls": Prompt(CONVERSATIONS["parallel calls"], (LOOK_UP, ANYTHING)),
    "tools of one name": Prompt((ASK,), (ANYTHING, attrs.evolve(ANYTHING, name="look_down"))),
    "a foreign tool": Prompt((ASK,), (SEARCH, LOOK_UP)),
    "only a foreign tool": Prompt((ASK,), (SEARCH,), "auto"),
    **{f"choice {c}": Prompt((ASK,), (LOOK_UP,), c) for c in ("auto", "none", "required")},
    "choice of a tool": Prompt((ASK,), (LOOK_UP, ANYTHING), "look.down"),
    "an output schema": Prompt((ASK,), output=FORM),
    "tools and an output schema": Prompt((ASK,), (LOOK_UP,), output=FORM),
}
"""All of these, and those with tools, which of them to call, and the form of the answer."""


def answered(prompt: Prompt) -> Prompt:
    """Return a recorded conversation up to its last turn that is not the model's."""
    messages = prompt.messages
    last = max(n for n, message in enumerate(messages) if message.role != "assistant")
    return Prompt(messages[: last + 1])
