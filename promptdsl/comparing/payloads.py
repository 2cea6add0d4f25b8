"""The payload of any provider as a snapshot would keep its prompt."""

from typing import Any

from promptdsl.comparing.snapshot_file import PromptFile


def payload_file(payload: Any, provider: str | None = None) -> PromptFile:  # Any: JSON data
    """Return what a snapshot keeps of the prompt of a payload.

    Without a ``provider`` it is told from the keys of the payload. Raises :class:`DataError` for a
    payload that cannot be read, and for one of which the provider cannot be told.
    """
    raise NotImplementedError
