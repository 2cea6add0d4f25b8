"""The words of marks: what a snapshot says of a block other than text, on one line."""

import base64
import hashlib

from promptdsl import AudioBlock, DocumentBlock, ImageBlock, ReasoningBlock, VideoBlock
from promptdsl.comparing.schemas import json_text
from promptdsl.comparing.shown_texts import ShownTexts


def word(text: str) -> str:
    """Return a text as one word: a JSON string if it has blanks or could be read otherwise."""
    plain = text and not text.startswith('"') and not any(map(str.isspace, text))
    return text if plain and not text.endswith((",", ":")) else json_text(text)


def cache_mark(cache: str) -> str:
    """Return the mark of a place up to which a provider caches."""
    return "─⚑ cache" if cache == "default" else f"─⚑ cache {cache}"


def attachment(
    block: ImageBlock | AudioBlock | DocumentBlock | VideoBlock, texts: ShownTexts
) -> str:
    """Return an attachment in words: its type, size and digest, or its address; then its title."""
    source = block.source
    words: list[str] = [block.type, *filter(None, [block.media_type])]
    data: bytes | None = None
    if source.kind == "base64" or source.value[:5].lower() == "data:":
        try:
            data = base64.b64decode(source.value, validate=True)
        except ValueError:
            data = source.value.encode(errors="surrogatepass")
    if data is None:
        words.append(source.kind)
        address = [texts.name(word(source.value))]
    else:
        size = block.pixels
        words += [f"{size[0]}x{size[1]}"] if size else []
        words += [f"{len(data):,} B", f"sha256:{_digest(data)}"]
        address = []
    title = [] if block.title is None else ["titled", texts.name(word(block.title))]
    detail = [] if block.detail is None else ["detail", texts.line(word(block.detail))]
    return " ".join([texts.line(" ".join(words)), *address, *title, *detail])


def reasoning(block: ReasoningBlock, texts: ShownTexts) -> str:
    """Return reasoning in words: its origin, and the digests of what only its provider reads."""
    secrets = (("signature", block.signature), ("encrypted", block.encrypted))
    words = ["reasoning", *([] if block.origin is None else ["of", word(block.origin)])]
    for name, value in secrets:
        if value is not None:
            words += [name, f"sha256:{_digest(value.encode(errors='surrogatepass'))}"]
    return texts.line(" ".join(words))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]
