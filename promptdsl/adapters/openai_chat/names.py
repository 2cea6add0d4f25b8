"""Ids and speakers' names, as the service takes them."""

import re
from hashlib import sha256

from promptdsl.encoding import whole

LONGEST_ID = 40
_SPEAKER = re.compile(r"[^\s<|\\/>\ud800-\udfff]{1,64}")


def fitting_id(id: str) -> str:
    """Return an id of at most 40 characters; a longer one ends in a digest, so it stays unique."""
    clean, replaced = whole(id)
    if not replaced and len(id) <= LONGEST_ID:
        return id
    return f"{clean[:7]}_{sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def is_speaker(name: str) -> bool:
    """Return whether a message may carry this speaker's name."""
    return _SPEAKER.fullmatch(name) is not None
