"""How many tokens something is that only its provider knows."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from promptdsl.models import ModelFacts
from promptdsl.tokens.attachments import Attachment, attachment, attachment_tokens
from promptdsl.tokens.frames import TextTokens
from promptdsl.tokens.values import compact, pruned


class Unknown(NamedTuple):
    """The tokens of what nobody here knows: those of its text, and of the bytes in it."""

    text: int
    pictures: int


def unknown_tokens(data: Mapping[str, Any], tokens: TextTokens, facts: ModelFacts) -> Unknown:
    """Return the tokens of the JSON of what nobody here knows, without its ids and marks.

    Bytes in it are taken for pictures, so that base64 text is never counted letter by letter.
    """
    said, held = pruned(data)
    pictures = sum(attachment_tokens(_picture(one), tokens, facts) for one in held)
    return Unknown(tokens.of(compact(said)) if said else 0, pictures)


def _picture(data: str | bytes) -> Attachment:
    if isinstance(data, str) and data[:5] == "data:":
        return attachment("image", data)
    return Attachment("image", data)
