"""litellm: ``trim_messages`` over dictionaries."""

import logging
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

# Else importing it asks a server for its prices.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

from litellm import utils

from benchmarks.conversation import Chat, total
from benchmarks.counting import O200K, Counter
from benchmarks.trimming import Trimmer

MODEL = "gpt-4o"

# It fails on the null content of a call, logs that, and returns what it was given.
logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)


def trim(messages: list[Chat], budget: int, counter: Counter) -> list[Chat]:
    """Return the newest messages that fit; it counts with o200k_base unless told otherwise."""
    if counter is O200K:
        return utils.trim_messages(messages, model=MODEL, max_tokens=budget)
    with counted_by(counter):
        return utils.trim_messages(messages, model=MODEL, max_tokens=budget)


@contextmanager
def counted_by(counter: Counter) -> Generator[None]:
    """Put a counter in the place of its own, in the block: it takes none as an argument."""

    def count(*, messages: Sequence[Chat], **_options: Any) -> int:
        return total(messages, counter.of)

    own = utils.token_counter
    utils.token_counter = count
    try:
        yield
    finally:
        utils.token_counter = own


TRIMMERS = (Trimmer("litellm", list, trim, list, "litellm", "recounts all it kept, each time"),)
