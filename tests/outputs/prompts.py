"""Whole prompts, drawn at random and written as code: turns, calls, histories, and the render."""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import promptdsl
from promptdsl import *
from tests.outputs.code import Part
from tests.outputs.parts import FORMS, PartWriter
from tests.outputs.registry import WORDS, options_of, rows
from tests.providers.conversations import CONVERSATIONS
from tests.providers.templates import TEMPLATES
from tests.template_strings import tstring

TURNS = (
    *("User", "User", "User", "Assistant", "Assistant", "Developer", *["Event"] * 4),
    *("Ephemeral", "Ephemeral", "Grounding", "Grounding", "Developer"),
)
_MARKS = {"component": "card(", "Library": "STARTER["}
"""What a word of the package is written as, where it is not written as itself."""
_SAID = ("User", "Event", "Developer")
"""The turns that follow an answer in the block of a history."""
_RECORDED = {
    "system": ("TextBlock",),
    "developer": ("TextBlock",),
    "user": ("TextBlock", "TextBlock", "ImageBlock", "DocumentBlock", "UnknownBlock"),
    "assistant": ("TextBlock", "TextBlock", "ReasoningBlock", "UnknownBlock"),
    "event": ("TextBlock", "UserActionBlock", "StateChangeBlock", "SystemEventBlock", "JsonBlock"),
    "ephemeral": ("TextBlock", "JsonBlock", "CodeBlock"),
}
"""The blocks of a recorded message of each role."""


class PromptWriter(PartWriter):
    """Draws a prompt."""

    def code(self) -> str:
        """Return the code of a prompt and its render."""
        turns = [it for _ in range(self.random.randint(2, 7)) for it in self.turns()]
        timeline = self.part("Timeline", content=[*self.head(), *turns])
        if self.chance(0.5) or any(part.name.startswith("History") for part in turns):
            lines = [f"with {Part('Timeline', options=timeline.options).line()} as tree:"]
            for part in timeline.content:
                assert isinstance(part, Part)
                lines += part.statements(self.random, "    ")
        else:
            lines = [f"tree = {timeline.call()}"]
        if self.chance(0.15):
            lines = [f"    {line}" for text in lines for line in text.split("\n")]
            lines = ["with override({card: plain_card, 'framed': plain_frame}):", *lines]
        code = "\n".join([*lines, f"rendered = {self.render(timeline, lines).line()}", ""])
        self.rows |= {word for word in WORDS if _MARKS.get(word, word) in code}
        return code

    def render(self, timeline: Part, lines: list[str]) -> Part:
        """Return the render of a prompt, with what its parts ask for."""
        render = self.part("render", "tree")
        options = dict(option.split("=", 1) for option in render.options)
        if self.chance(0.06):
            options["provider"] = "'chat_template'"
        if options.get("provider") == "'chat_template'":
            options |= {"chat_template": self.chat_template()}
        if any(isinstance(it, Part) and it.name == "Tool" for it in timeline.content):
            options |= {"tool_choice": self.random.choice(options_of("render")["tool_choice"])}
        if any("clear_results" in line for line in lines):
            options |= {"budget": "2000"}
        if options.get("budget") == "'window'":
            options |= {"model": "'gpt-5'", "provider": "'openai'"}
        if "o3-pro" in options.get("model", ""):
            options.pop("provider", None)
        if "chat_template" in options:
            self.rows.add("render.chat_template: TEMPLATE")
        given = {f"render.{name}: {value}" for name, value in options.items()}
        heads = ("render.model", "render.provider", "render.budget")  # some were changed above
        self.rows = {row for row in self.rows if not row.startswith(heads)} | given & rows()
        render.options = [f"{name}={value}" for name, value in options.items()]
        return render

    def head(self) -> Iterator[Part]:
        """Yield what stands before the conversation: tools, the answer's form, instructions."""
        if self.chance(0.25):
            yield self.tool()
        if self.chance(0.2):
            yield self.part("Output", "SCHEMA")
        for _ in range(self.random.choice((0, 1, 1, 1, 2))):
            yield self.turn("System")

    def tool(self) -> Part:
        """Return a tool: a function, or described by hand."""
        return Part("Tool", ["look_up"]) if self.chance(0.4) else self.part("Tool")

    def turns(self) -> list[Part]:
        """Return a turn, a call with its results, a history, or what stands between turns."""
        way = self.random.random()
        if way < 0.15:
            return self.round()
        if way < 0.35:
            return [self.history()]
        if way < 0.4 and self.with_marks:
            return [self.part("CacheBreakpoint")]
        if way < 0.48:
            name = self.random.choice(("Group", "Fragment", "FirstFit", "Lazy", "framed"))
            return [self.around(name)]
        return [self.turn(self.random.choice(TURNS))]

    def around(self, name: str) -> Part:
        """Return turns in something around them."""
        if name == "Lazy":
            turn = self.turn(self.random.choice(TURNS))
            return self.part(name, f"lambda context: {turn.line()}")
        turns = [self.turn(self.random.choice(TURNS)) for _ in range(self.random.randint(1, 2))]
        if name == "framed":
            return Part("Fragment", [], turns, is_block=True)
        return self.part(name, content=turns)

    def turn(self, name: str) -> Part:
        """Return a turn, which may be written by its role."""
        turn = self.drawn(name, "part", 0)
        assert isinstance(turn, Part)
        self.rows.add(f"role {name.lower()}")
        if name != "Grounding" and self.chance(0.12):
            self.rows |= {"Turn", f"Turn of role {name.lower()}"}
            turn.name, turn.args = "Turn", [repr(name.lower())]
        return turn

    def round(self) -> list[Part]:
        """Return an answer with calls, what stands between, and their results."""
        self.rows.add("role tool")
        ids = [self.new_id("call") for _ in range(self.random.randint(1, 2))]
        answer = self.turn("Assistant")
        answer.content = [*answer.content, *map(self.call, ids)]
        turns = [answer]
        if self.chance(0.2):
            turns.append(self.turn(self.random.choice(("Event", "Ephemeral"))))
        way = self.random.choice(("ToolMessage", "ToolMessage", "User", "Turn"))
        results = [
            self.result("ToolMessage" if way == "ToolMessage" else "ToolResult", id) for id in ids
        ]
        if way == "ToolMessage":
            return [*turns, *results]
        if way == "User":
            return [*turns, Part("User", [], [*results, self.text()], is_block=True)]
        self.rows |= {"Turn", "Turn of role tool"}
        return [*turns, Part("Turn", ["'tool'"], results)]

    def result(self, name: str, id: str) -> Part:
        """Return the result of a call, which holds no cache mark."""
        marks, self.with_marks = self.with_marks, False
        content = self.pieces("part", 1, 2)
        self.with_marks = marks and name == "ToolMessage"
        part = self.part(name, id, content=content)
        self.with_marks = marks
        self.note_way(part)
        return part

    def call(self, id: str) -> Part:
        """Return a call of a tool."""
        if self.chance(0.3):
            return self.part("ToolUseBlock", id, "'look_up'", "'{\"q\": 1}'")
        return self.part("ToolUse", "'look_up'", f"{{'q': {self.text()}}}", f"id={id}")

    # Recorded conversations.

    def history(self) -> Part:
        """Return a recorded conversation: messages, a provider's form, or turns in a block."""
        way = self.random.random()
        if way < 0.3:
            turns = [self.turn(name) for name in ("User", "Assistant", self.random.choice(_SAID))]
            return self.part("History", content=turns)
        if way < 0.6:
            form = self.random.choice(FORMS)
            name = self.random.choice(sorted(CONVERSATIONS))
            return self.part(f"History.from_{form}", f"recorded({name!r}, {form!r})")
        messages = [it for _ in range(self.random.randint(2, 5)) for it in self.messages()]
        lines = [f"{it.line()}{self.random.choice(('', '', '.to_dict()'))}" for it in messages]
        return self.part("History", f"[{', '.join(lines)}]")

    def messages(self) -> list[Part]:
        """Return a recorded message, or a call and its result."""
        if self.chance(0.35):
            id = self.new_id("call")
            call = self.part("ToolUseBlock", id, "'look_up'", "'{\"q\": 1}'")
            text = self.part("TextBlock", self.text()).line()
            result = self.part("ToolResultBlock", id, f"[{text}]").line()
            return [
                Part("Message", ["'assistant'", f"[{call.line()}]"]),
                self.part("Message", "'tool'", f"[{result}]"),
            ]
        role = self.random.choice([*_RECORDED])
        self.rows.add(f"role {role}")
        blocks = [self.drawn(self.random.choice(_RECORDED[role]), "user", 3) for _ in range(2)]
        lines = [block.line() for block in blocks if isinstance(block, Part)]
        return [self.part("Message", repr(role), f"[{', '.join(lines)}]")]


# The names that the code of a prompt uses beside those of the package.


@component
def card(title: str) -> None:
    """Write parts."""
    Text("Card: ", Value(title))
    List("a", Value(title))


@component
def framed(title: str) -> Iterator[None]:
    """Write parts around others."""
    Text("Frame: ", Value(title))
    yield
    Text("End.")


def plain_card(title: str) -> None:
    """Write other parts for a card."""
    Quote("Plain: ", Value(title))


def plain_frame(title: str) -> Iterator[None]:
    """Write others around the same parts."""
    Paragraph("Plain: ", Value(title))
    yield


def look_up(q: str) -> str:
    """Look something up."""
    return q


def words(text: str) -> int:
    """Count words."""
    return len(text.split())


def shortened(block: Any) -> Any:
    """Return a shorter text for a block."""
    return getattr(block, "text", block.type)[:3]


def as_text(block: Any) -> Any:
    """Return the type of a block, and its text or a tag."""
    return f"{block.type}: {getattr(block, 'text', '<x>')}"


def loaded(url: str) -> bytes:
    """Return the bytes at an address."""
    return (HERE / url.rpartition("/")[2]).read_bytes()


def recorded(name: str, form: str) -> Any:
    """Return a conversation in the form of a provider."""
    prompt = Prompt(CONVERSATIONS[name])
    return render(prompt, provider=form).payload()  # type: ignore[arg-type]


HERE = Path(__file__).parent / "files"
NAMES: Mapping[str, Any] = {
    **{name: getattr(promptdsl, name) for name in promptdsl.__all__},
    **{it.__name__: it for it in (card, framed, plain_card, plain_frame, look_up, words)},
    **{it.__name__: it for it in (shortened, as_text, loaded, recorded, tstring, b64encode)},
    **{"date": date, "Decimal": Decimal, "TEMPLATES": TEMPLATES, "FILES": HERE},
    "STARTER": Library.load("starter"),
    "CHATML": TEMPLATES["chatml"].source,
    "NOON": datetime(2026, 1, 2, 12, tzinfo=UTC),
    "SCHEMA": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}


def prompt_code(number: int, seed: int = 0) -> tuple[str, frozenset[str]]:
    """Return the code of a random prompt, and the rows of the table that it takes."""
    writer = PromptWriter(f"{seed} {number}")
    return writer.code(), frozenset(writer.rows)


def rendered_code(code: str, name: str) -> Rendered:
    """Return the render of a prompt in the file ``name``. Raises what the prompt raises."""
    names = dict(NAMES)
    exec(compile(code, name, "exec"), names)
    rendered = names["rendered"]
    assert isinstance(rendered, Rendered)
    return rendered
