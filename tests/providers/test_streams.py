"""Streams: each event passes unchanged, and they make the message of the reply."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import DataError, History, Message, Timeline, aread_stream, read_response, read_stream, render
from tests.any_data import any_json
from tests.errors import raised
from tests.folding import failures
from tests.internals import TARGETS
from tests.providers.every_target import check_rules
from tests.providers.recorder import CHAT_REPLY, STREAMS, recording
from tests.searching import examples, outcomes

every_stream = pytest.mark.parametrize("provider", STREAMS)


def told(events: Any) -> Message:
    """Return the message that events make."""
    reading = read_stream(events)
    for _ in reading:
        pass
    return reading.message


def summary(message: Message) -> Any:
    """Return the types of a message's blocks, its text, its calls, its end and its counts."""
    types = [block.type for block in message.content]
    calls = [(call.name, call.input) for call in message.calls]
    return types, message.text, calls, message.finish_reason, dict(message.token_usage or {})
