"""Recognise and refuse keys and parts that only other providers have."""

from collections.abc import Mapping, Sequence
from functools import cache

from promptdsl.config.wires import provider_formats, wire_of
from promptdsl.foundation.errors import DataError, nearest
from promptdsl.messages import UnknownBlock
from promptdsl.messages.blocks import CLASSES


@cache
def _owners(origin: str) -> Mapping[object, Sequence[tuple[str, str]]]:
    """Return the parts that other providers have and ``origin`` does not have, by type.

    For each type there are pairs of a key of the part and the provider that has it.
    """
    known = wire_of(origin).parts
    owners: dict[object, list[tuple[str, str]]] = {}
    for wire in provider_formats():
        for kind, part in wire.parts.items():
            if part.recognised_by and kind not in known:
                owners.setdefault(kind, []).append((part.recognised_by, wire.name))
    return owners


def refuse_part(part: Mapping[str, object], origin: str) -> None:
    """Raise :class:`DataError` for a part that another provider has and ``origin`` has not."""
    if owner := owner_of(part, origin):
        raise DataError(f"there is no part of type {part['type']!r} here", fix=looks_like(owner))


def owner_of(part: Mapping[str, object], origin: str = "") -> str | None:
    """Return the other provider that has such a part, ``None`` if there is none."""
    kind = part.get("type")
    owners = _owners(origin).get(kind, ()) if isinstance(kind, str) else ()
    return next((owner for key, owner in owners if key in part), None)


def owner_of_message(fields: Mapping[str, object]) -> tuple[str, str] | None:
    """Return the key of a message that only one provider has, with that provider."""
    return next((owned for owned in _keys_of_one_provider() if fields.get(owned[0])), None)


@cache
def _keys_of_one_provider() -> Sequence[tuple[str, str]]:
    return [(key, wire.name) for wire in provider_formats() for key in wire.own_keys]


def why_unknown(block: UnknownBlock, *origins: str) -> str:
    """Return why an unknown block is not sent, empty if it comes from one of the origins."""
    if block.origin is not None:
        return "" if block.origin in origins else f"only {block.origin} knows it"
    if owner := owner_of(block.data):
        return looks_like(owner)
    close = nearest(str(block.data.get("type"))[:60], CLASSES)
    if close.startswith("did"):
        return f"no block has this type: {close}"
    return "no block has this type; read the data of a provider with History.from_openai, and so on"


def looks_like(owner: str) -> str:
    """Return the advice for data that another provider has."""
    return f"this looks like {owner}: History.from_{owner}"
