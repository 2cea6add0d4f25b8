"""Values that several integrations read and write in the same way.

The modules of the other library, its lists and mappings, the addresses and media types of
attachments, and the summaries of reasoning, which others split into several parts.
"""

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, Literal, TypeAlias, cast

import attrs

from promptdsl import Block, DataError, PromptError, ReasoningBlock

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]
Kind: TypeAlias = Literal["recorded", "recorded_system"]

SIGNATURE = "thought_signature"
"""The further key of a block that has a signature of Gemini's."""

RESPONSES = "openai_responses"
"""Whose reasoning has an id and summaries."""


def foreign(module: str, extra: str) -> Any:
    """Return a module of another library; :class:`PromptError` names the extra it comes with."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise PromptError(
            f"{error.name} is not installed", fix=f"pip install 'promptdsl[{extra}]'"
        ) from None


def listed(given: Any, what: str) -> list[Any]:
    """Return the messages that were given; :class:`DataError` says ``what`` is needed instead."""
    plain: object = given
    if isinstance(plain, Iterable) and not isinstance(plain, str | bytes | Mapping):
        return list(given)
    name = type(plain).__name__  # pyright: ignore[reportUnknownArgumentType]
    raise DataError(f"{what} are needed, not {name}", fix="give a list of them")


def entries_of(value: object) -> Mapping[str, Any]:
    """Return a mapping, an empty one for what is none."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def items_of(value: object) -> list[Any]:
    """Return the items of a list, none of what is none."""
    return [*cast("list[Any]", value)] if isinstance(value, list | tuple) else []


def address(url: object) -> dict[str, Any]:
    """Return the source an address is, in dictionary form: buckets have kinds of their own."""
    head = url[:5].lower() if isinstance(url, str) else ""
    kind = {"s3://": "s3", "gs://": "gcs"}.get(head, "url")
    return {"type": kind, "url" if kind == "url" else "uri": url}


def kind_of_media(media_type: object) -> str:
    """Return the type of block that a media type is of; what it does not tell is a document."""
    head = media_type.partition("/")[0] if isinstance(media_type, str) else ""
    return head if head in ("image", "audio", "video") else "document"


# Reasoning, which others hold a summary at a time.


def summaries(block: ReasoningBlock) -> list[str]:
    """Return the texts of the summaries that a thought came in, its one text where none are."""
    return _summaries(block) or [block.text]


def further(block: ReasoningBlock, *known: str) -> set[str]:
    """Return the further keys of a thought that neither its summaries say nor are ``known``."""
    told = () if _summaries(block) is None else ("summary",)
    return set(block.extra) - {*known, *told}


def _summaries(block: ReasoningBlock) -> list[str] | None:
    """Return the texts that the text of a thought was made of, ``None`` where it was not."""
    given = block.extra.get("summary")
    texts = [_text(part) for part in items_of(given)]
    if not isinstance(given, list | tuple):
        return None
    whole = [text for text in texts if isinstance(text, str)]
    return whole if len(whole) == len(texts) and "\n\n".join(whole) == block.text else None


def _text(part: Any) -> object:
    entries = entries_of(part)
    return entries["text"] if set(entries) == {"type", "text"} else None


def joined(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Return blocks, with thoughts that follow each other under one id as one."""
    runs: list[list[Any]] = []
    for block in blocks:
        if runs and _continues(runs[-1][0], block):
            runs[-1].append(block)
        else:
            runs.append([block])
    return tuple(run[0] if len(run) == 1 else _one(run) for run in runs)


def _continues(first: Any, block: Any) -> bool:
    if type(first) is not ReasoningBlock or type(block) is not ReasoningBlock:
        return False
    bare = block.signature is None and block.encrypted is None and set(block.extra) == {"id"}
    same = block.origin == first.origin and block.extra.get("id") == first.extra.get("id")
    return bare and same


def _one(run: list[ReasoningBlock]) -> ReasoningBlock:
    texts = [text for block in run for text in summaries(block)]
    summary = [{"type": "summary_text", "text": text} for text in texts]
    extra = {**run[0].extra, "summary": summary}
    return attrs.evolve(run[0], text="\n\n".join(texts), extra=extra)
