"""What belongs to another provider: told from what is a target's own, and refused or lost."""

from collections.abc import Iterable, Mapping
from typing import Any

from promptdsl.wire.request import Request

Owners = Mapping[object, tuple[str, str]]
"""By type of a part that a provider does not have, a key it has and whose it is."""

ANTHROPIC: Owners = {
    "tool_use": ("input", "anthropic"),
    "tool_result": ("tool_use_id", "anthropic"),
    "thinking": ("signature", "anthropic"),
    "image": ("source", "anthropic"),
    "document": ("source", "anthropic"),
}


def owner_of(part: Mapping[str, Any], owners: Owners) -> str | None:
    """Return the provider a part looks like, ``None`` when it looks like none of them."""
    kind = part.get("type")
    key, owner = owners.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
    return owner if owner and key in part else None


def looks_like(owner: str) -> str:
    """Return what to do with what another provider has."""
    return f"this looks like {owner}: History.from_{owner}"


def lose_keys(request: Request, block: Any, service: str, known: Iterable[str] = ()) -> None:
    """Record the further keys of a block that are not sent; ids are none of them."""
    for key, value in block.extra.items():
        if value and key != "item" and key not in known:
            request.lose("hint", f"key {key!r}", f"{service} has none on a {block.type} block")
