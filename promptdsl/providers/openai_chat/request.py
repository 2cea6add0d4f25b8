"""A request of Chat while it is being written, in the dialect of its provider."""

import attrs

from promptdsl.config.wire import Wire
from promptdsl.config.wires import wire_of
from promptdsl.providers.shared.request import Request

ORIGIN = "openai"
"""The provider whose dialect is the usual one."""


@attrs.define(eq=False)
class ChatRequest(Request):
    """A request of Chat; ``spoken`` is the index of the last message sent as its recording."""

    takes_lists = True
    spoken: int = -1

    @property
    def dialect(self) -> Wire:
        """The record of the provider: its words for choices, its ids, its own parts."""
        return wire_of(self.facts.provider or ORIGIN)
