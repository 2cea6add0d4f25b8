"""A request of Chat while it is being written."""

import attrs

from promptdsl.wire.request import Param, Request, new_list


@attrs.define(eq=False)
class Chat(Request):
    """What has been written so far: ``sent`` are the messages.

    ``spoken`` is the index of the last message that has its recording.
    """

    sent: list[Param] = attrs.field(factory=new_list)
    spoken: int = -1
