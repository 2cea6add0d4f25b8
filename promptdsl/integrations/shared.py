"""What integrations share: values that they read and write, and the losses of a conversion.

In this order: values; OpenAI's reasoning; and losses. Read :class:`Conversion` first.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Final, Literal, Self, TypeAlias, cast

import attrs

from promptdsl import (
    AudioBlock,
    Block,
    DataError,
    DocumentBlock,
    ImageBlock,
    Loss,
    Message,
    ReasoningBlock,
    Rendered,
    TextBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    VideoBlock,
    block_from_dict,
)
from promptdsl.foundation.json import JsonObject, JsonValue
from promptdsl.foundation.unicode import is_valid_unicode, valid_unicode
from promptdsl.integrations import LazyLosses

# Values that several integrations read and write in the same way: keys in ``extra``, lists and
# mappings of other libraries, and the sources and media types of attachments.

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]
MessageKind: TypeAlias = Literal["recorded", "recorded_system"]
"""How a message was recorded: ``recorded_system`` is a developer message that was a system message
in the other library."""
MediaBlock: TypeAlias = ImageBlock | AudioBlock | DocumentBlock | VideoBlock
"""The types of the blocks that are attachments."""
CacheableBlock: TypeAlias = TextBlock | MediaBlock | ToolUseBlock | ToolResultBlock
"""The types of the blocks that may have a cache mark."""

SIGNATURE = "thought_signature"
"""The key in a block's ``extra`` for a signature of Gemini."""

JSON = "json"
"""The key in a text's ``extra`` that is true if the text is the JSON of a value."""

ITEM = "item"
"""The key in a block's ``extra`` for data that was recorded with the block.

No provider gets this data as content.
"""

ORIGIN_KEY = "origin_of_keys"
"""The key in a block's ``extra`` for the provider that understands the other keys there."""

MESSAGE_CACHE_MARK: JsonObject = {"mark": "message"}
"""The ``ITEM`` of a text whose cache mark was on its message, not on the text."""

RESPONSES: Final = "openai_responses"
"""The provider whose reasoning has an id and summaries."""


def message_list(messages: object, name: str) -> list[object]:
    """Return an iterable of messages as a list.

    Raises :class:`DataError` for anything else; the error has the ``name`` of the messages.
    """
    type_name = type(messages).__name__
    if isinstance(messages, Iterable) and not isinstance(messages, str | bytes | Mapping):
        return list(cast("Iterable[object]", messages))
    raise DataError(f"{name} are needed, not {type_name}", fix="give a list of them")


def mapping_of(value: object) -> JsonObject:
    """Return a mapping unchanged, and an empty mapping for any other value."""
    return cast("JsonObject", value) if isinstance(value, Mapping) else {}


def list_of(value: object) -> Sequence[JsonValue]:
    """Return a list unchanged, and an empty sequence for any other value."""
    return cast("Sequence[JsonValue]", value) if isinstance(value, list | tuple) else ()


def instruction_role(before: Sequence[Message], *, is_developer: bool) -> tuple[Role, MessageKind]:
    """Return the role and the kind of an instruction that follows the messages ``before``.

    A system message that follows a message of another role becomes a developer message of the kind
    ``recorded_system``.
    """
    if is_developer:
        return "developer", "recorded"
    is_leading = not before or before[-1].role == "system"
    return ("system", "recorded") if is_leading else ("developer", "recorded_system")


def is_developer(message: Message) -> bool:
    """Return whether a message is a developer message that was not read as a system message."""
    return message.role == "developer" and message.kind != "recorded_system"


def signature_of(block: Block) -> str | None:
    """Return Gemini's signature of a text or a call; ``None`` without a signature."""
    if not isinstance(block, TextBlock | ToolUseBlock):
        return None
    signature = block.extra.get(SIGNATURE)
    return signature if isinstance(signature, str) else None


def address_source(url: JsonValue) -> dict[str, JsonValue]:
    """Return the source of an address as a dictionary: ``uri`` for a bucket, else ``url``."""
    is_bucket = isinstance(url, str) and url[:5].lower() in ("s3://", "gs://")
    return {"uri" if is_bucket else "url": url}


def media_block(
    kind: str, media_type: JsonValue, source: Mapping[str, JsonValue], **fields: JsonValue
) -> Block:
    """Return the block of an attachment. A media type such as ``image/*`` counts as unknown."""
    exact_type = None if media_type == f"{kind}/*" else media_type
    return block_from_dict({"type": kind, "source": {**source, "media_type": exact_type}, **fields})


def media_kind(media_type: object) -> str:
    """Return the type of the block for a media type; ``"document"`` for any other type."""
    head = media_type.partition("/")[0] if isinstance(media_type, str) else ""
    return head if head in ("image", "audio", "video") else "document"


def media_type_of(block: MediaBlock) -> str:
    """Return the media type of an attachment; for an unknown type, one such as ``image/*``."""
    default = "application/octet-stream" if block.type == "document" else f"{block.type}/*"
    return block.source.media_type or default


# OpenAI's reasoning: other libraries have a part for each of its summaries.


def summaries(block: ReasoningBlock) -> list[str] | None:
    """Return the summaries of a block if they are together its text, else ``None``."""
    parts = [mapping_of(part) for part in list_of(block.extra.get("summary"))]
    texts = [part["text"] for part in parts if set(part) == {"type", "text"}]
    summary_texts = [text for text in texts if isinstance(text, str)]
    is_complete = len(summary_texts) == len(parts) and "\n\n".join(summary_texts) == block.text
    return summary_texts if is_complete else None


def further_keys(block: ReasoningBlock, *handled_keys: str) -> set[str]:
    """Return the keys in a block's ``extra``, without ``handled_keys`` and its summaries."""
    return set(block.extra) - {*handled_keys, *(() if summaries(block) is None else ("summary",))}


def joined_reasoning(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Return blocks; consecutive reasoning with the same id becomes one block with summaries."""
    joined: list[Block] = []
    for block in blocks:
        last = joined[-1] if joined else None
        if not isinstance(block, ReasoningBlock) or not isinstance(last, ReasoningBlock):
            joined.append(block)
            continue
        # Only the first part of an item has more than its text and its id.
        is_signed = (block.signature, block.encrypted) != (None, None)
        is_later_part = not is_signed and set(block.extra) == {"id"}
        has_same_id = block.origin == last.origin and block.extra.get("id") == last.extra.get("id")
        if not is_later_part or not has_same_id:
            joined.append(block)
            continue
        texts = [text for part in (last, block) for text in summaries(part) or [part.text]]
        summary = [{"type": "summary_text", "text": text} for text in texts]
        extra = {**last.extra, "summary": summary}
        joined[-1] = attrs.evolve(last, text="\n\n".join(texts), extra=extra)
    return tuple(joined)


# Losses: what a conversion to or from another library leaves out.

LossKind: TypeAlias = Literal["content", "role"]
CacheMark: TypeAlias = Literal["default", "5m", "1h"]
_CACHE_MARKS: Mapping[str, CacheMark] = {"default": "default", "5m": "5m", "1h": "1h"}


class Conversion:
    """Collects the losses of a conversion.

    ``library`` is the library that does not support something: ``"promptdsl"`` when the messages of
    another library are read. ``index`` and ``message`` are those of the current message; ``None``
    between messages. A loop may set them: ``for conversion.index, source in enumerate(sources)``.
    """

    def __init__(self, library: str, losses: tuple[Loss, ...] = ()) -> None:
        self.library = library
        self.losses = list(losses)
        self.rendered: Rendered | None = None
        self._begins_with_render = False
        """Whether the losses of the render come first, before those of the conversion."""
        self._locations: tuple[Message | None, dict[int, tuple[int, ...]]] = (None, {})
        """The last message, and the indexes that lead to each of its blocks, by ``id(block)``."""
        self.index: int | None = None
        self.message: Message | None = None

    @classmethod
    def of(cls, library: str, rendered: Rendered, *, all_losses: bool = False) -> Self:
        """Return a conversion that begins with the losses of a render without a target.

        With ``all_losses``, it also begins with the losses of a render for a target.
        """
        conversion = cls(library)
        conversion.rendered = rendered
        conversion._begins_with_render = all_losses or rendered.facts.provider is None
        return conversion

    def located(self, error: DataError) -> DataError:
        """Return the error with the index of the current message."""
        return DataError(f"messages[{self.index}]: {error.what}", fix=error.fix)

    def hint(self, name: str, what: str, reason: str = "", *, block: Block | None = None) -> None:
        """Record a hint about the current message, or about a ``block`` in it."""
        self._record(Loss("hint", what, reason, name=name), block)

    def lose(self, kind: LossKind, what: str, reason: str = "", block: Block | None = None) -> None:
        """Record a loss of the current message, or of a ``block`` in it."""
        self._record(Loss(kind, what, reason), block)

    def _record(self, loss: Loss, block: Block | None) -> None:
        """Record a loss with its location.

        In messages that are read, the location is a path, such as ``messages[2]``. In a render, it
        is the index of the message and the indexes of the block.
        """
        loss = loss if loss.why else attrs.evolve(loss, why=f"{self.library} does not support it")
        if self.rendered is None or self.message is None or self.index is None:
            path = "" if self.index is None else f"messages[{self.index}]"
            self.losses.append(attrs.evolve(loss, path=path, message=self.message))
        else:
            if self._locations[0] is not self.message:
                locations: dict[int, tuple[int, ...]] = {}
                for index, outer in enumerate(self.message.content):
                    locations.setdefault(id(outer), (index,))
                    for inner_index, inner in enumerate(getattr(outer, "content", ())):
                        locations.setdefault(id(inner), (index, inner_index))
                self._locations = self.message, locations
            at = (self.index, *self._locations[1].get(id(block), ()))
            self.losses.append(attrs.evolve(loss, message=self.message, at=at))

    def lose_block(self, block: Block) -> None:
        """Record a block that the other library does not support."""
        what = f"a block of type {block.to_dict().get('type', block.type)!r}"
        if isinstance(block, ReasoningBlock):
            self.hint("unsent_reasoning", what, block=block)
        else:
            self.lose("content", what, block=block)

    def lose_hints(self, block: Block, *handled_names: str) -> None:
        """Record hints for the fields of a block that are lost, such as its title.

        ``handled_names`` are fields, and keys in ``extra``, that are not lost. ``SIGNATURE`` is
        lost unless it is a signature of Gemini. The content of a block is never a hint.
        """
        for field, (name, what) in _HINTS.items():
            value: object = getattr(block, field, None)
            if field == "extra":
                lost_signature = {SIGNATURE} if signature_of(block) is None else set[str]()
                handled_keys = {JSON, *handled_names} - lost_signature
                value = set(mapping_of(value)) - handled_keys
            if value and field not in handled_names:
                self.hint(name, what, block=block)

    def renamed_counts(
        self, counts: Mapping[str, object], names: Mapping[str, str]
    ) -> dict[str, int]:
        """Return token counts by their names in the other library.

        Counts with the same new name are added. A count without a new name becomes a hint.
        """
        renamed: dict[str, int] = {}
        for name, count in counts.items():
            if name in names and type(count) is int:
                renamed[names[name]] = renamed.get(names[name], 0) + count
            elif count:
                self.hint("unsent_key", f"the token count {name!r}")
        return renamed

    def lose_settings(self, rendered: Rendered) -> None:
        """Record hints for settings of a prompt that the other library takes with its call.

        There is no current message any more: losses after this call belong to the prompt.
        """
        self.index = self.message = None
        for setting in ("tool_choice", "output"):
            # A prompted output schema is in the text of the messages, so it is not lost.
            is_prompted = setting == "output" and rendered.output_mode == "prompted"
            if getattr(rendered, setting) is not None and not is_prompted:
                reason = f"{self.library} takes it with the call, not with messages"
                self.hint("unsent_setting", setting, reason)

    def clean(self, text: str, name: str) -> str:
        """Return a text with U+FFFD instead of lone surrogates; a hint has the text's ``name``."""
        clean, is_changed = valid_unicode(text)
        if is_changed:
            reason = "UTF-8 cannot encode it, so U+FFFD is sent"
            self.hint("lone_surrogate", f"a lone surrogate in {name}", reason)
        return clean

    def clean_optional(self, text: str | None, name: str = "a name") -> str | None:
        """Return what :meth:`clean` returns; ``None`` for ``None``."""
        return None if text is None else self.clean(text, name)

    def clean_json(self, text: str, name: str = "arguments") -> str:
        """Return what :meth:`clean` returns, for a JSON text, which may have escaped surrogates."""
        return self.clean(_ESCAPE.sub(_unescaped, text), name)

    def clean_id(self, id: str) -> str:
        """Return an id without lone surrogates; a digest makes a changed id unique."""
        if is_valid_unicode(id):
            return id
        digest = sha256(id.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{valid_unicode(id)[0]}_{digest[:32]}"

    def portable_tools(self, rendered: Rendered) -> list[ToolDefinition]:
        """Return the tools of a prompt; record a loss for a tool that only one provider has.

        Also records hints for the cache marks and the further keys of tools, and what
        :meth:`lose_settings` records.
        """
        self.lose_settings(rendered)
        for tool in rendered.tools:
            if tool.raw is not None:
                what, why = f"the tool {tool.name!r}", f"only {tool.origin} has it"
                self.losses.append(Loss("content", what, why, f"tools/{tool.name}", tool.source))
                continue
            if tool.cache:
                self.hint("cache_mark", f"the cache mark of the tool {tool.name!r}")
            if tool.extra:
                self.hint("unsent_key", f"further keys of the tool {tool.name!r}")
        return [tool for tool in rendered.tools if tool.raw is None]

    def read_cache(self, control: object) -> CacheMark | None:
        """Return the cache mark of a ``cache_control``; record a hint for an unknown type."""
        if control is None:
            return None
        entries = mapping_of(control)
        cache_mark = _CACHE_MARKS.get(str(entries.get("ttl", "default")))
        if cache_mark is None or entries.get("type") != "ephemeral":
            self.hint("cache_mark", "a cache mark", "its type is unknown")
            return None
        return cache_mark

    def checked(self, *, strict: bool) -> LazyLosses:
        """Return a function that returns the losses with the lines of the author's code.

        With ``strict``, return the losses; :class:`LossError` is raised for a loss that is not a
        hint. Warns with :class:`LostContentWarning` if content of the author is lost.
        """
        find_losses = partial(
            _located, self.rendered, tuple(self.losses), begins_with_render=self._begins_with_render
        )
        losses = strictly(find_losses, self.library) if strict else find_losses
        if self.rendered is not None:
            self.rendered._warn_of(self.losses)
        return losses


def strictly(find_losses: Callable[[], tuple[Loss, ...]], library: str) -> tuple[Loss, ...]:
    """Return the losses. Raises :class:`LossError` for a loss that is not a hint."""
    losses = find_losses()
    fix = "change the prompt, or leave out strict=True"
    Loss.refuse(losses, f"sent to {library}", fix=fix)
    return losses


def _located(
    rendered: Rendered | None, losses: tuple[Loss, ...], *, begins_with_render: bool
) -> tuple[Loss, ...]:
    """Return losses with the author's lines; ``begins_with_render`` adds those of the render."""
    if rendered is None:
        return losses
    losses_of_render = (*rendered.losses, *rendered.hints) if begins_with_render else ()
    return rendered.located((*losses_of_render, *losses))


_HINTS = {
    "cache": ("cache_mark", "a cache mark"),
    "title": ("media_field", "the title of an attachment"),
    "detail": ("media_field", "the detail of an attachment"),
    "error_type": ("error_flag", "the type of an error"),
    "extra": ("unsent_key", "further keys of a block"),
}
"""The name of the hint, and the text for what is lost, by the field of a block."""
# The two escapes of a surrogate pair are one character. An escaped backslash begins no escape.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def _unescaped(escape: re.Match[str]) -> str:
    """Return a lone surrogate for its escape, and any other escape unchanged."""
    return "\ud800" if escape[1] else escape[0]
