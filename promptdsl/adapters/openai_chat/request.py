"""A request of Chat while it is being written."""

import attrs

from promptdsl.wire.request import Param, Request


@attrs.define(eq=False)
class Chat(Request):
    """What has been written so far: ``sent`` are the messages."""

    sent: list[Param] = attrs.field(factory=list[Param])
