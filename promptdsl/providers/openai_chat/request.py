"""A request of Chat while it is being written, and the ids and names that it takes."""

import re

import attrs

from promptdsl.foundation.unicode import is_whole
from promptdsl.providers.shared.ids import digested
from promptdsl.providers.shared.request import Request

LONGEST_ID = 40
_SPEAKER = re.compile(r"[^\s<|\\/>\ud800-\udfff]{1,64}")


@attrs.define(eq=False)
class Chat(Request):
    """What has been written so far: ``spoken`` is the last message that has its recording."""

    spoken: int = -1


def fitting_id(id: str) -> str:
    """Return an id of at most 40 characters; a longer one ends in a digest, so it stays unique."""
    return id if len(id) <= LONGEST_ID and is_whole(id) else digested(id, LONGEST_ID)


def is_speaker(name: str) -> bool:
    """Return whether a message may carry this speaker's name."""
    return _SPEAKER.fullmatch(name) is not None
