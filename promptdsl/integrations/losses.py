"""Messages on their way to another library, and what is lost on it."""

import re
from hashlib import sha256
from typing import Any, Literal, Self, TypeAlias

from promptdsl import Block, Loss, Message, ReasoningBlock, Rendered, ToolDefinition
from promptdsl.integrations.values import entries_of

LossKind: TypeAlias = Literal["content", "role", "hint"]


class Crossing:
    """Messages on their way to another library, and what could not come along.

    ``index`` and ``message`` are the one at hand, ``None`` where it is none.
    """

    def __init__(self, library: str, losses: tuple[Loss, ...] = ()) -> None:
        self.library = library
        self.losses = list(losses)
        self.index: int | None = None
        self.message: Message | None = None

    @classmethod
    def of(cls, library: str, rendered: Rendered) -> Self:
        """Return a crossing that starts with the losses of a render that had no target."""
        return cls(library, rendered.losses if rendered.facts.provider is None else ())

    def lose(self, kind: LossKind, what: str, why: str | None = None) -> None:
        """Record what the message at hand could not say."""
        why = why or f"{self.library} has no word for it"
        origins = self.message.sources if self.message is not None else ()
        path, source = (origins[0].address, origins[0].source) if origins else ("", None)
        place = path or ("" if self.index is None else f"messages[{self.index}]")
        self.losses.append(Loss(kind, what, why, place, source, self.message))

    def lose_block(self, block: Block) -> None:
        """Record a block that has no form on the other side."""
        kind = str(block.to_dict().get("type", block.type))
        lost: LossKind = "hint" if type(block) is ReasoningBlock else "content"
        self.lose(lost, f"a block of type {kind!r}")

    def lose_hints(self, block: Any, *said: str) -> None:
        """Record what a block says beside its content, apart from the fields that were ``said``."""
        for field, what in _HINTS.items():
            if field not in said and getattr(block, field, None):
                self.lose("hint", what)

    def clean(self, text: str, what: str) -> str:
        """Return a text with U+FFFD for lone surrogates, with a hint when it held any."""
        clean = _SURROGATE.sub("\ufffd", text)
        if clean != text:
            self.lose_surrogate(what)
        return clean

    def lose_surrogate(self, what: str) -> None:
        """Record a lone surrogate in ``what``, for which U+FFFD is sent."""
        self.lose("hint", f"a lone surrogate in {what}", "it has no UTF-8 form: U+FFFD is sent")

    def name(self, text: str | None, what: str = "a name") -> str | None:
        """Return what :meth:`clean` does, and ``None`` for none."""
        return None if text is None else self.clean(text, what)

    def clean_json(self, text: str) -> str:
        """Return a JSON text without lone surrogates, escaped ones included, with a hint."""
        clean = _ESCAPE.sub(_whole_escape, self.clean(text, "arguments"))
        if "\ufffd" in clean and "\ufffd" not in text and not _SURROGATE.search(text):
            self.lose_surrogate("arguments")
        return clean

    def id(self, id: str) -> str:
        """Return an id; one with lone surrogates ends in a digest instead, so it stays unique."""
        if not _SURROGATE.search(id):
            return id
        digest = sha256(id.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{_SURROGATE.sub('_', id)}_{digest[:32]}"

    def lose_settings(self, rendered: Rendered) -> None:
        """Record what a prompt asks of the call it is sent with."""
        self.index = self.message = None
        for what in ("tool_choice", "output"):
            if getattr(rendered, what) is not None:
                self.lose("hint", what, f"{self.library} takes it with the call, not with messages")

    def portable(self, rendered: Rendered) -> list[ToolDefinition]:
        """Return the tools without those that only one provider has, which are lost."""
        self.lose_settings(rendered)
        for tool in rendered.tools:
            if tool.raw is not None:
                self.lose("content", f"the tool {tool.name!r}", f"only {tool.origin} has it")
                continue
            if tool.cache:
                self.lose("hint", f"the cache mark of the tool {tool.name!r}")
            if tool.extra:
                self.lose("hint", f"further keys of the tool {tool.name!r}")
        return [tool for tool in rendered.tools if tool.raw is None]

    def checked(self, *, strict: bool) -> tuple[Loss, ...]:
        """Return the losses; with ``strict``, raise :class:`LossError` for more than hints."""
        if strict:
            fix = "write it another way, or leave out strict=True"
            Loss.refuse(self.losses, f"said to {self.library}", fix=fix)
        return tuple(self.losses)


_HINTS = {
    "cache": "a cache mark",
    "title": "the title of an attachment",
    "detail": "the detail of an attachment",
    "error_type": "the type of an error",
    "extra": "further keys of a block",
}
_SURROGATE = re.compile("[\ud800-\udfff]")
# A pair of escapes is one character, and a backslash that is escaped starts no escape.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def _whole_escape(found: re.Match[str]) -> str:
    return "\ufffd" if found[1] else found[0]


def read_cache(crossing: Crossing, control: Any) -> Any:
    """Return the mark that a ``cache_control`` is; one of another kind is a hint."""
    if control is None:
        return None
    found = entries_of(control)
    ttl = found.get("ttl", "default")
    if found.get("type") == "ephemeral" and ttl in ("default", "5m", "1h"):
        return ttl
    crossing.lose("hint", "a cache mark", "it is of no known kind")
    return None


def media_type_of(block: Any) -> str:
    """Return the media type of an attachment, as much as is known of it."""
    unknown = "application/octet-stream" if block.type == "document" else f"{block.type}/*"
    return block.source.media_type or unknown
