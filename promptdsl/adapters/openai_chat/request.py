"""A request of Chat while it is being written."""

import attrs

from promptdsl.wire.request import Request


@attrs.define(eq=False)
class Chat(Request):
    """What has been written so far: ``spoken`` is the last message that has its recording."""

    spoken: int = -1
