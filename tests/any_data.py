"""Any data: JSON values, values of any shape, blocks, and strings that lie about themselves."""

import json
from typing import Any

from hypothesis import strategies as st

from promptdsl import *
from tests.internals import CACHES, CLASSES, ERROR_TYPES, SOURCE_KEYS


class Liar(str):
    """A string that is every other string, and formats as one."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1

    def __str__(self) -> str:
        return "FORGED"


def deep_list(depth: int) -> Any:
    """Return a list in a list in a list."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


texts = st.text(st.characters(), max_size=5)
ids = st.text(st.characters(), min_size=1, max_size=5)
some = st.none() | texts
caches = st.sampled_from([None, *CACHES])

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda below: st.lists(below) | st.dictionaries(st.text(st.characters()), below),
    max_leaves=20,
)
"""What JSON can say."""

mappings = st.dictionaries(texts, json_values, max_size=2)
extras = st.dictionaries(texts.map("x-".__add__), json_values, max_size=2)
"""Keys that are none of ours, and their values."""

BLOCK_TYPES = (*CLASSES, "new")
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda below: (
        st.lists(below)
        | st.tuples(below, below)
        | st.dictionaries(st.text() | st.integers() | st.none(), below)
        | st.fixed_dictionaries({"type": st.sampled_from(BLOCK_TYPES)})
    ),
    max_leaves=20,
)
"""Values of any shape, and some that start like a block in dictionary form."""


# Any block.

words = texts | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
sources = st.builds(MediaSource, st.sampled_from([*SOURCE_KEYS]), texts, some)
media = st.one_of(
    st.builds(kind, sources, some, some, caches, extras)
    for kind in (ImageBlock, AudioBlock, DocumentBlock, VideoBlock)
)
calls = st.builds(
    ToolUseBlock, ids, texts, texts | mappings.map(json.dumps) | json_values.map(json.dumps),
    caches, extras,
)  # fmt: skip
spoken = st.one_of(
    st.builds(TextBlock, texts, caches, extras),
    media,
    calls,
    st.builds(ReasoningBlock, texts, some, some, some, extras),
)
"""Blocks that a turn of a conversation is sent with as they are."""
flat = st.one_of(
    spoken,
    st.builds(UserActionBlock, words, json_values, json_values, mappings, extras),
    st.builds(StateChangeBlock, words, trigger=json_values, details=mappings, extra=extras),
    st.builds(StateChangeBlock, words, json_values, json_values, json_values, mappings, extras),
    st.builds(SystemEventBlock, words, json_values, mappings, extras),
    st.builds(JsonBlock, json_values, extras),
    st.builds(CodeBlock, texts, some, extras),
    st.builds(UnknownBlock, mappings, some),
    st.builds(
        lambda kind, data, origin: UnknownBlock({**data, "type": kind}, origin),
        st.sampled_from(["new", "text", "image", "unknown", ""]) | texts,
        mappings,
        some,
    ),
)
results = st.builds(
    ToolResultBlock,
    ids,
    st.lists(flat, max_size=2).map(tuple),
    some,
    st.booleans(),
    st.sampled_from([None, *ERROR_TYPES]),
    caches,
    extras,
)
blocks = flat | results
