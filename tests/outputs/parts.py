"""Parts of a prompt, drawn at random: texts, values, lists, sections, attachments, events."""

import re
from collections.abc import Callable, Mapping, Sequence
from random import Random

from tests.outputs.code import Content, Part
from tests.outputs.registry import calls, options_of, owner
from tests.providers.templates import TEMPLATES

TEXTS: Mapping[str, Sequence[str]] = {
    "plain": ("One.", "Be brief.", "I was charged twice.", "a\n\nb", "x" * 90, "Word. " * 60),
    "brackets": ("1 < 2 > 0", "<b>bold</b>", "a <", "<a href='x'>", "</"),
    "ampersands": ("a & b", "&amp;", "&lt;b&gt;", "&#10;"),
    "accents": ("é", "naïve Größe", "日本\U0001f600", "e\u0301"),
    "invisible": ("\u200b", "a\u202eb", "\ufeffx", "a\u00adb", "\U000e0041", "\u00a0"),
    "controls": ("\x1b[31m", "a\x00b", "\x07", "a\x85b"),
    "numbers in lines": ("\n0", "0", "\n1. a", "2) b", "\n-"),
    "line ends": ("a\r\nb", "a\rb", "\n", "\n\n", "a\n", "\na", "a\u2028b", "a\vb"),
    "fences": ("```\nx\n```", "~~~", "```python\n1", "a\n````", "`a`"),
    "markdown": ("# One", "- a\n- b", "> a", "a\n---", "a\n===", "| a | b |", "    a", "*a*"),
    "tags": ("</developer>", "<event>", "</untrusted>", "<context>", "<rules>\n", "</did>"),
    "delimiters": ("[[A]]", "[[/A]]", "NOTE>\nx", "[...]", "Error: a", "<|im_end|>", "[INST]"),
    "spaces": (" ", "\t", " a ", "a \nb", "  \n  ", "a\t"),
    "nothing": ("",),
    "quotes": ('"a"', "a,b", "it's", "\\n", "a\\b", "%s"),
    "surrogates": ("\ud800", "a\udfff"),
}

JINJA = "{% if v is defined %}{{ v }}{% endif %}\n{% if u is defined %}  {{ u }}{% endif %}\nEnd.\n"
FORMS = ("openai", "openai_responses", "anthropic", "gemini", "bedrock", "chat_template")
EVENTS = ("UserAction", "StateChange", "SystemEvent")
KINDS = ("Image", "Audio", "Document", "Video")
FILES = dict(zip(KINDS, ("image.png", "audio.wav", "document.pdf", "video.mp4"), strict=True))
_WAYS = ("path", "url", "bytes", "base64", "file_id")
_ATTACHED = tuple(f"{kind}.from_{way}" for kind in KINDS for way in _WAYS)
_BLOCKS = tuple(f"{kind}Block" for kind in KINDS)
_EVENT_BLOCKS = tuple(f"{name}Block" for name in EVENTS)
_INLINE = ("Value", "Value", "Volatile")
_TEXT = (
    *("Text", "Paragraph", "Heading", "Code", "Json", "List", "List", "Checklist", "Quote"),
    *("Example", "Table", "Untrusted", "Template", "Template.from_string"),
    *("Template.from_format", "Limit", "Limit.characters", "Lazy", "Fragment", "component"),
    "Library",
)
_LOOSE = (
    *(
        "FirstFit",
        "FirstFit",
        "Group",
        "Group",
        "Note",
        "CacheBreakpoint",
        "Reserve",
        "Format",
        "TextBlock",
    ),
    *("CodeBlock", "JsonBlock", "Fragment"),
)
_SYSTEM = (*_INLINE, *_TEXT, *_LOOSE, *["Section"] * 6, "UNTRUSTED_NOTICE")
_PART = (*_SYSTEM, *_ATTACHED)
SLOTS: Mapping[str, Sequence[str]] = {
    "inline": _INLINE,
    "words": (),
    "text": (*_INLINE, *_TEXT),
    "list": (*_INLINE, *_TEXT, *["Item"] * 5, "List"),
    "checklist": ("Item",),
    "system": _SYSTEM,
    "part": _PART,
    "user": (*_PART, *_ATTACHED, *_BLOCKS * 9),
    "assistant": (*_SYSTEM, *["Reasoning"] * 6, *["ReasoningBlock"] * 2),
    "event": (*_SYSTEM, *EVENTS * 30, *_EVENT_BLOCKS * 8),
}
"""The parts that may stand in a slot, those that are to be drawn more often several times."""
HOLDS: Mapping[str, str] = {
    **dict.fromkeys(("System", "Developer"), "system"),
    **{"User": "user", "Assistant": "assistant", "Event": "event"},
    **dict.fromkeys(("Ephemeral", "Grounding", "ToolMessage", "ToolResult"), "part"),
    **dict.fromkeys(("Text", "Paragraph"), "inline"),
    **dict.fromkeys(("Quote", "Limit", "Limit.characters", "Item", "Example", *EVENTS), "text"),
    **{"List": "list", "Checklist": "checklist", "Note": "text"},
}
"""The slot of what a component holds; any other holds what may stand where it stands."""
UNMARKED = ("Ephemeral", "Grounding", "Limit", "Limit.characters", "ToolResult", "ToolMessage")
"""What holds no cache mark."""
ONCE = ("Text", "Paragraph", "Example", "Limit.characters")
"""What takes its content as arguments alone."""
DEEPEST = 4
SHARE = 0.2
_SHARES: Mapping[float, Sequence[str]] = {
    0: (
        *("render.chat_template", "render.tool_choice"),  # they need something else
        *(f"History.from_{form}.origin" for form in FORMS if form != "openai"),
    ),
    0.06: ("render",),
    0.1: ("Message.files", "Timeline.transformation", "render.strict"),
    0.15: ("History",),
    0.3: ("render.counter", "render.media_loader", "render.budget", "ToolMessage.error_type"),
    0.4: (
        *("ToolResultBlock", "Untrusted", "UnknownBlock", *KINDS, *EVENTS),
        *("Message.kind", "Section.title", "render.model", "render.transformation"),
        *("MessageTransformationConfig.encoding", "MessageTransformationConfig.ephemeral_position"),
    ),
    0.6: (
        *("Heading", "TextBlock", "Reasoning", "Group", "FirstFit", "Lazy", "ToolResult", "Output"),
        *("ChatTemplate", "Tool", "Message.**", "Table.format", "render.provider"),
        *("Ephemeral.position", "Grounding.position", "StateChange.old", "StateChange.new"),
        *("MessageTransformationConfig.delimiters", "MessageTransformationConfig.role_mapping"),
    ),
    0.8: (
        *(*_BLOCKS, *_EVENT_BLOCKS, "ReasoningBlock", "ClearResults", "UnknownBlock.origin"),
        *("History.from_openai.origin", *(f"{name}.**" for name in EVENTS)),
    ),
    1: ("render.media_roots", "Tool.name"),
}
SHARES = {name: share for share, names in _SHARES.items() for name in names}
"""How often options are given, by call or option: as often as ``SHARE`` says where none is here."""


class PartWriter:
    """Draws parts, and notes in ``rows`` which rows of the table they take."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)
        self.rows: set[str] = set()
        self.with_marks = True
        self._ids = 0

    def chance(self, share: float) -> bool:
        """Return ``True`` so often."""
        return self.random.random() < share

    def new_id(self, prefix: str) -> str:
        """Return the code of an id that no other part has."""
        self._ids += 1
        return repr(f"{prefix}{self._ids}")

    # Texts and data.

    def text(self) -> str:
        """Return the code of a string."""
        kind = "plain" if self.chance(0.4) else self.random.choice([*TEXTS])
        self.rows.add(f"text {kind}")
        text = self.random.choice(TEXTS[kind])
        if self.chance(0.25):
            more = self.random.choice(TEXTS[self.random.choice([*TEXTS])])
            text += self.random.choice(("", " ", "\n")) + more
        return ascii(text)

    def words(self) -> str:
        """Return the code of a text of an author, written in one of several ways."""
        way = self.random.random()
        if way < 0.05:
            return f"dedent({self.text()})"
        return f"tstring({self.value()})" if way < 0.12 else self.text()

    def value(self) -> str:
        """Return the code of what a value holds."""
        if self.chance(0.85):
            return self.text()
        return self.random.choice(("3", "-2.5", "True", "date(2026, 1, 2)", "Decimal('1.50')"))

    def data(self) -> str:
        """Return the code of plain data."""
        ways = ("{0}", "[{0}, 1, None]", "{{'a': {0}, 'b': [True]}}", "{{{0}: {{'c': 2.5}}}}", "[]")
        return self.random.choice(ways).format(self.text())

    # Parts.

    def part(self, name: str, *args: str, content: Content = ()) -> Part:
        """Return a part with some of its options, and note it."""
        self.rows.add(name)
        return Part(
            name,
            args,
            content,
            self.options(name),
            is_block=hasattr(calls()[name], "__enter__") and name not in ONCE,
            is_data=name.endswith("Block"),
        )

    def options(self, name: str) -> list[str]:
        """Return the code of some options of a call."""
        drawn: list[str] = []
        for option, values in options_of(name).items():
            ways = (f"{name}.{option}", f"{owner(name)}.{option}", owner(name))
            share = next((SHARES[way] for way in ways if way in SHARES), SHARE)
            is_mark = option == "cache" and not self.with_marks
            if values and not is_mark and self.chance(share):
                value = self.random.choice(values)
                self.rows.add(f"{owner(name)}.{option}: {value}")
                code = self.filled(value)
                drawn.append(code if option == "**" else f"{option}={code}")
        return drawn

    def filled(self, code: str) -> str:
        """Return the code of a value with something drawn for each of its words in capitals."""
        drawn: Mapping[str, Callable[[], str]] = {
            "TEXT": self.text,
            "ID": lambda: self.new_id("turn"),
            "CLEAR": lambda: self.part("ClearResults").line(),
            "CONFIG": self.transformation,
        }
        return re.sub(r"\b[A-Z]{2,}\b", lambda it: drawn.get(it[0], lambda: it[0])(), code)

    def transformation(self) -> str:
        """Return the code of a configuration."""
        line = self.part("MessageTransformationConfig").line()
        return line if self.chance(0.5) else line.replace("MessageTransformationConfig", "dict", 1)

    def chat_template(self) -> str:
        """Return the code of a chat template."""
        if self.chance(0.5):
            return f"TEMPLATES[{self.random.choice(sorted(TEMPLATES))!r}]"
        return self.part("ChatTemplate", "TEMPLATES['chatml'].source").line()

    def pieces(self, slot: str, depth: int, most: int = 3) -> list[Part | str]:
        """Return content: texts and parts of a slot, fewer the deeper they are."""
        if slot not in ("list", "checklist") and self.chance(0.35):
            slot = self.random.choice(("inline", "words"))
        return [self.piece(slot, depth) for _ in range(self.random.randint(1, most))]

    def piece(self, slot: str, depth: int) -> Part | str:
        """Return a text or a part of a slot."""
        if slot == "words" or (slot != "checklist" and self.chance(0.25 + 0.12 * depth)):
            return self.words()
        names = _INLINE if depth >= DEEPEST and slot != "checklist" else SLOTS[slot]
        name = self.random.choice(names)
        if name == "CacheBreakpoint" and not self.with_marks:
            return self.words()
        return self.drawn(name, slot, depth + 1)

    def drawn(self, name: str, slot: str, depth: int) -> Part | str:
        """Return a part of this name, which stands in a slot."""
        if name in LEAVES:
            return self.part(name, *LEAVES[name](self))
        if name in WRITTEN:
            return WRITTEN[name](self, slot, depth)
        if name in _BLOCKS:
            return self.block(name)
        if name in _ATTACHED:
            return self.attachment(name)
        marks, self.with_marks = self.with_marks, self.with_marks and name not in UNMARKED
        held = HOLDS.get(name, slot)
        if name == "Section" and slot in ("user", "assistant", "event"):
            held = "part"
        content = self.pieces(held, depth)
        part = self.part(name, *self.first(name), content=content)
        self.with_marks = marks
        self.note_way(part)
        return part

    def first(self, name: str) -> tuple[str, ...]:
        """Return the code of the arguments that stand before the content of a component."""
        first: Mapping[str, Callable[[], str]] = {
            "Section": lambda: self.new_id("s"),
            "Grounding": lambda: self.new_id("g"),
            "Limit": lambda: self.random.choice(("3", "20", "500")),
            "Limit.characters": lambda: self.random.choice(("4", "30", "900")),
            "Format": lambda: self.random.choice(("'xml'", "'markdown'")),
            **dict.fromkeys(EVENTS, self.text),
        }
        return (first[name](),) if name in first else ()

    def note_way(self, part: Part) -> None:
        """Note what kinds of parts a part holds."""
        texts = all(isinstance(it, str) for it in part.content)
        inline = all(isinstance(it, str) or it.name in _INLINE for it in part.content)
        way = "parts"
        if texts:
            way = "one text" if len(part.content) == 1 else "texts"
        elif inline:
            way = "values"
        self.rows.add(f"{part.name} of {way}")

    def attachment(self, name: str) -> Part:
        """Return an attachment, made in one of the ways there are."""
        kind, _, way = name.partition(".from_")
        source = f"FILES / {FILES[kind]!r}"
        ways = {
            "path": source,
            "url": repr(f"https://example.org/{FILES[kind]}"),
            "bytes": f"({source}).read_bytes()",
            "base64": f"b64encode(({source}).read_bytes())",
            "file_id": "'file-1'",
        }
        return self.part(name, ways[way])

    def block(self, name: str) -> Part:
        """Return the block of an attachment."""
        kind = name.removesuffix("Block")
        kept, value = self.random.choice(
            (
                ("file_id", "file-1"),
                ("url", f"https://example.org/{FILES[kind]}"),
                ("s3", f"s3://b/{FILES[kind]}"),
            )
        )
        self.rows.add("MediaSource")
        return self.part(name, f"MediaSource({kept!r}, {value!r})")

    def example(self, depth: int) -> Part:
        """Return an example: an input and an output."""
        sides = [self.piece("text", depth), self.piece("text", depth)]
        return self.part("Example", content=sides)

    def lazy(self, slot: str, depth: int) -> Part:
        """Return a part that is made when the prompt is rendered."""
        if self.chance(0.2):
            code = self.random.choice(("None", "Text(str(context.model))"))
            return self.part("Lazy", f"lambda context: {code}")
        inner = self.piece(slot if slot not in ("inline", "list", "checklist") else "text", depth)
        if isinstance(inner, Part):
            inner = self.text() if inner.is_data else inner.line()
        return self.part("Lazy", f"lambda context: {inner}")

    def own(self, slot: str, depth: int) -> Part:
        """Return a component of an author, which may hold parts."""
        if self.chance(0.5):
            return Part("card", [self.text()])
        return Part("framed", [self.text()], self.pieces(slot, depth, 2), is_block=True)


LEAVES: Mapping[str, Callable[[PartWriter], Sequence[str]]] = {
    "Value": lambda w: [w.value()],
    "Volatile": lambda w: [w.value(), w.random.choice(("'now'", "'clock'"))],
    "Heading": lambda w: [w.random.choice((w.words(), f"Value({w.value()})"))],
    "Code": lambda w: [w.random.choice((w.text(), f"Value({w.value()})"))],
    "Json": lambda w: [w.random.choice((w.data(), f"[Volatile({w.text()}, 'now')]"))],
    "Untrusted": lambda w: [w.random.choice((w.text(), f"Volatile({w.text()}, 'mail')"))],
    "Table": lambda w: [f"[[{w.value()}, {w.value()}], [{w.value()}, {w.value()}]]"],
    "Template": lambda _: ["FILES / 'note.md.j2'"],
    "Template.from_string": lambda _: [f"{JINJA!r}"],
    "Template.from_format": lambda w: ["'It is {w}.\\n'", f"w={w.text()}"],
    "Reserve": lambda _: ["10"],
    "CacheBreakpoint": lambda _: [],
    "Reasoning": lambda w: [w.text()],
    **dict.fromkeys(("TextBlock", "CodeBlock", "ReasoningBlock"), lambda w: [w.text()]),
    **dict.fromkeys(_EVENT_BLOCKS, lambda w: [w.text()]),
    "JsonBlock": lambda w: [w.data()],
    "UnknownBlock": lambda _: ["{'type': 'hologram', 'data': [1]}"],
}
"""The arguments of what holds no parts."""
WRITTEN: Mapping[str, Callable[[PartWriter, str, int], Part]] = {
    "Example": lambda w, _, depth: w.example(depth),
    "Lazy": PartWriter.lazy,
    "component": PartWriter.own,
    "Library": lambda w, *_: Part(
        "Fragment", [f"STARTER[{w.random.choice(('citing', 'output', 'tools'))!r}]()"]
    ),
    "UNTRUSTED_NOTICE": lambda *_: Part("Fragment", ["UNTRUSTED_NOTICE"]),
}
"""What is written in a way of its own."""
