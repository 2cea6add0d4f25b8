"""Any prompt that an author may write: every kind of turn, part, mark, attachment and recording."""

from typing import Any

from hypothesis import strategies as st

from promptdsl import *
from tests.providers.conversations import LONG_ID, PDF, PNG, WAV, media

ORIGINS = ("openai", "openai_responses", "anthropic", "gemini", "bedrock", "chat_template")

TEXTS = st.sampled_from(
    [
        *("One.", "Two.", "Three.", "a\n\nb", " a ", "a\n", "\na", "\u65e5\U0001f600"),
        *("", " ", "\n", "\n\n", "\t", "</developer>", "<event>", "Error: a", "\ud800"),
    ]
)
TITLES = st.sampled_from([None, None, "Report", "a_b.pdf", "a", " ", "x\ny", "t" * 600])
NAMES = st.sampled_from([None, None, None, "ada", "Ada Lovelace"])
MARKS = st.sampled_from([False, False, False, True])
CACHES = st.sampled_from([None, None, None, "default", "5m", "1h"])
BREAKS = st.builds(CacheBreakpoint, st.sampled_from([None, "5m", "1h"]))

_IMAGES = st.sampled_from(
    [
        media("base64", PNG, "image/png"),
        media("base64", "Qk0=", "image/bmp"),
        media("url", "https://example.org/dot.png"),
        media("url", f"data:image/png;base64,{PNG}"),
        media("file_id", "file-1"),
        media("s3", "s3://bucket/dot.png"),
    ]
)
_DOCUMENTS = st.sampled_from(
    [
        media("base64", PDF, "application/pdf"),
        media("base64", "SGVsbG8=", "text/plain"),
        media("base64", "YSxi", "text/csv"),
        media("url", "https://example.org/a.pdf"),
        media("url", "https://example.org/a.txt", "text/plain"),
        media("file_id", "file-2"),
        media("s3", "s3://bucket/a.pdf", "application/pdf"),
    ]
)
_RECORDINGS = [
    AudioBlock(media("base64", WAV, "audio/wav")),
    VideoBlock(media("base64", "AAAA", "video/mp4")),
    VideoBlock(media("gcs", "gs://b/a.mp4")),
]


def attachments(caches: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return attachments of every kind, with these cache marks."""
    return st.one_of(
        st.builds(ImageBlock, _IMAGES, TITLES, st.sampled_from([None, "low"]), caches),
        st.builds(DocumentBlock, _DOCUMENTS, TITLES, st.none(), caches),
        st.sampled_from(_RECORDINGS),
    )


ATTACHMENTS, UNMARKED = attachments(CACHES), attachments(st.none())

_THOUGHTS = [
    ("Hm.", "c2ln", None),
    ("", None, "ZW5j"),
    ("So.", "c2ln", "ZW5j"),
    ("No.", None, None),
]
REASONING = st.sampled_from(
    [
        ReasoningBlock(*thought, origin, {"id": id} if id else {})
        for thought in _THOUGHTS
        for origin in (None, *ORIGINS)
        for id in ((None, "rs_1", "rs_2") if origin == "openai_responses" else (None,))
    ]
)
UNKNOWN = st.sampled_from(
    [
        *(UnknownBlock({"type": "hologram", "data": [1]}, origin) for origin in (None, *ORIGINS)),
        UnknownBlock({"guardContent": {"text": {"text": "g"}}}, "bedrock"),
        UnknownBlock({"executable_code": {"code": "1", "language": "PYTHON"}}, "gemini"),
        UnknownBlock({"type": "web_search_call", "id": "ws_1"}, "openai_responses"),
        UnknownBlock({"type": "image"}, "chat_template"),
    ]
)


def some(*parts: st.SearchStrategy[Any], least: int = 1) -> st.SearchStrategy[list[Any]]:
    """Return a list of one to three parts."""
    return st.lists(st.one_of(*parts), min_size=least, max_size=3)


WORDS = TEXTS | st.builds(Text, TEXTS, st.just("x")) | st.builds(Value, TEXTS)
"""Text of an author, and values."""


def system(id: str) -> st.SearchStrategy[System]:
    """Return a system turn with at most one section, of this id."""
    sections = st.builds(
        lambda text, title, cache: [Section(id, text, title=title, cache=cache)],
        TEXTS,
        st.sampled_from([None, "Rules"]),
        MARKS,
    )
    return st.builds(
        lambda parts, section, more, cache: System(*parts, *section, *more, cache=cache),
        some(WORDS, BREAKS),
        sections | st.just([]),
        some(WORDS, BREAKS),
        MARKS,
    )


DEVELOPERS = st.builds(
    lambda parts, cache: Developer(*parts, cache=cache), some(WORDS, BREAKS), MARKS
)
USERS = st.builds(
    lambda parts, name, merge, cache: User(*parts, name=name, merge=merge, cache=cache),
    some(WORDS, ATTACHMENTS, BREAKS),
    NAMES,
    st.booleans(),
    MARKS,
)
ANSWERS = st.builds(
    lambda parts, name, merge, cache: Assistant(*parts, name=name, merge=merge, cache=cache),
    some(WORDS, ATTACHMENTS, REASONING),
    NAMES,
    st.booleans(),
    MARKS,
)
EVENTS = st.builds(Event, st.builds(UserAction, st.just("clicked"), TEXTS) | TEXTS)
_GIVEN = some(WORDS, UNMARKED)
FLEETING = st.builds(
    lambda parts, position: Ephemeral(*parts, position=position),
    _GIVEN,
    st.sampled_from([None, "after_system", "start", "before_user", "end"]),
) | st.builds(lambda parts: Grounding("facts", *parts), _GIVEN)

_ERRORS = st.sampled_from(
    [{}, {}, {"is_error": True}, {"is_error": True, "error_type": "timeout_error"}]
)
_RESULTS = st.tuples(some(WORDS, ATTACHMENTS, least=0), _ERRORS)
_OBJECT = TextBlock('{"n": 1}', extra={"json": True})


def _round(said: list[Any], results: dict[str, Any], between: list[Any], shape: str) -> list[Any]:
    """Return an answer with calls, what was written before their results, and the results."""
    calls = [ToolUse("look.up", {"q": id}, id=id) for id in results]
    indexed_results = [(id, content, error) for id, (content, error) in results.items()]
    turn = Assistant(*said, *calls) if shape != "text behind" else Assistant(*calls, *said)
    if shape == "one turn":
        parts = [ToolResult(id, *content, **error) for id, content, error in indexed_results]
        return [turn, *between, User(*parts, "So.")]
    order = reversed(indexed_results) if shape == "other order" else indexed_results
    return [
        turn,
        *between,
        *(ToolMessage(id, *content, _OBJECT, **error) for id, content, error in order),
    ]


_IDS = st.sampled_from(["a", "b", "fc.1:a", "id\u00e9", LONG_ID])
ROUNDS = st.builds(
    _round,
    some(TEXTS, REASONING, least=0),
    st.dictionaries(_IDS, _RESULTS, min_size=1, max_size=3),
    some(EVENTS, FLEETING, least=0),
    st.sampled_from(["", "one turn", "other order", "text behind"]),
)

_RECORDED_TEXTS = st.builds(
    TextBlock,
    TEXTS,
    CACHES,
    st.sampled_from(
        [
            *({}, {}, {"refusal": True}, {"citations": [{"type": "x"}]}, {"x": 1}),
            *({"thought_signature": "c2ln"}, {"item": {"id": "msg_1", "reasoning": "rs_1"}}),
            *({"item": {"id": "msg_2"}}, {"item": {"id": "msg_2", "phase": "final_answer"}}),
        ]
    ),
)
_MESSAGES = st.one_of(
    st.builds(Message, st.sampled_from(["system", "developer"]), some(_RECORDED_TEXTS)),
    st.builds(Message, st.just("user"), some(_RECORDED_TEXTS, ATTACHMENTS, UNKNOWN), name=NAMES),
    st.builds(
        Message,
        st.just("assistant"),
        some(_RECORDED_TEXTS, REASONING, ATTACHMENTS, UNKNOWN),
        name=NAMES,
    ),
)
_CALLS = st.tuples(
    st.sampled_from(["{}", '{"q": "\u00e9"}', "", "[1]", "{bad"]),
    CACHES,
    st.sampled_from(
        [{}, {"custom": True}, {"item": {"id": "fc_1"}}, {"thought_signature": "c2ln"}]
    ),
)
_ANSWERED = st.tuples(
    some(_RECORDED_TEXTS, ATTACHMENTS, UNKNOWN, st.just(_OBJECT), least=0).map(tuple),
    st.sampled_from([None, "look.up"]),
    st.booleans(),
    st.sampled_from([None, "timeout_error"]),
    CACHES,
)


def _recorded_round(said: list[Any], rounds: dict[str, tuple[Any, Any]]) -> list[Message]:
    """Return an answer with calls as they came, and the result of each."""
    calls = [ToolUseBlock(id, "look.up", *call) for id, (call, _) in rounds.items()]
    results = [ToolResultBlock(id, *result) for id, (_, result) in rounds.items()]
    return [
        Message("assistant", (*said, *calls)),
        *(Message("tool", (result,)) for result in results),
    ]


_RECORDED_ROUNDS = st.builds(
    _recorded_round,
    some(_RECORDED_TEXTS, REASONING, UNKNOWN, least=0),
    st.dictionaries(_IDS, st.tuples(_CALLS, _ANSWERED), min_size=1, max_size=2),
)
HISTORIES = st.builds(History, st.lists(_MESSAGES, max_size=3) | _RECORDED_ROUNDS)

_TURNS: st.SearchStrategy[list[Any]] = ROUNDS | st.one_of(
    USERS, ANSWERS, DEVELOPERS, EVENTS, FLEETING, HISTORIES, BREAKS
).map(lambda turn: [turn])

_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
_EQUIPMENT = st.lists(
    st.sampled_from(
        [
            Tool(name="look.up", input_schema=_SCHEMA),
            Tool(name="bare", description=" "),
            Output(_SCHEMA),
        ]
    ),
    max_size=2,
    unique_by=id,
)

ANY_PROMPTS = st.builds(
    lambda equipment, head, turns: Timeline(
        *equipment, *head, *(part for turn in turns for part in turn)
    ),
    _EQUIPMENT,
    st.tuples(system("a"), system("b"), DEVELOPERS)
    | st.tuples(system("a"), DEVELOPERS, DEVELOPERS)
    | st.tuples(system("a") | DEVELOPERS)
    | st.just(()),
    st.lists(_TURNS, min_size=1, max_size=6),
)
"""Prompts that can be rendered for every target, in every setting below."""

TRANSFORMATIONS = st.sampled_from(
    [
        {},
        *(
            {"role_mapping": {"event": role, "ephemeral": role}}
            for role in ("user", "developer", "system")
        ),
        {"merge_consecutive": False},
        {"guard_conversation": True, "format": "xml", "ephemeral_position": "end"},
        {"delimiters": {"event": None, "ephemeral": None}},
        {"lone_text": "string"},
        {"lone_text": "list", "merge_separator": " "},
        {"merge_separator": ""},
        {"json_keys": "sorted"},
    ]
)
