r"""Control tokens: found in a template, and broken in all text that it prints.

A backslash behind its first character breaks a token: ``<|im_end|>`` becomes ``<\|im_end|>``. It is
seen, it deletes nothing, and no tokenizer takes it away, as some do with invisible characters.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from promptdsl.config.chat_template import ChatTemplate
from promptdsl.foundation.errors import TemplateError
from promptdsl.providers.chat_template.run import render
from promptdsl.providers.shared.request import Param


class Frame(NamedTuple):
    """A text before, ``between`` or behind words; what is between holds no words of tools."""

    text: str
    between: bool


def frames(template: ChatTemplate) -> Iterator[Frame]:
    """Yield what a template prints around the words of short conversations."""
    for shape in _SHAPES:
        yield from _split(template, shape, tools=None)
    with_tools = template.with_tools()
    for shape in (*_SHAPES[:1], *_CALLS):
        yield from _split(with_tools, shape, tools=_TOOLS)


def _split(
    template: ChatTemplate, shape: list[Param], *, tools: list[Param] | None
) -> Iterator[Frame]:
    # Some take nothing but lists of parts, and some walk through tools that are none.
    for messages in (shape, [_listed(entry) for entry in shape]):
        for given in (tools, tools or []):
            try:
                text = render(template, messages, given)
            except TemplateError:
                continue
            found = _WORD.split(text)
            if len(found) > 1:
                yield from (Frame(one, bool(n) and not tools) for n, one in enumerate(found))
                return


def _listed(entry: Param) -> Param:
    return {**entry, "content": [{"type": "text", "text": entry["content"]}]}


_WORD = re.compile("promptdsl[a-z]", re.IGNORECASE)


def _turn(role: str, word: str, **more: Any) -> Param:
    return {"role": role, "content": word, **more}


def _called(arguments: Any) -> list[Param]:
    function = {"name": "promptdslf", "arguments": arguments}
    call = {"id": "promptdsl", "type": "function", "function": function}
    result = {"tool_call_id": "promptdsl", "name": "promptdslf"}
    return [
        _turn("user", "promptdsla"),
        _turn("assistant", "", tool_calls=[call], reasoning_content="promptdslt"),
        _turn("tool", "promptdslr", **result),
    ]


_SHAPES: list[list[Param]] = [
    [_turn("user", "promptdsla")],
    [
        _turn("user", "promptdsla"),
        _turn("assistant", "promptdslb"),
        _turn("user", "promptdslc"),
    ],
    [
        _turn("user", "promptdsla"),
        _turn("assistant", "promptdslb", reasoning_content="promptdslt"),
    ],
    [_turn("system", "promptdsla"), _turn("user", "promptdslb")],
    [_turn("user", "promptdsla"), _turn("system", "promptdslb")],
    [_turn("user", "promptdsla"), _turn("developer", "promptdslb")],
    [_turn("user", "promptdsla"), _turn("tool", "promptdslb", tool_call_id="promptdsl")],
]
_CALLS = [
    [*_called(arguments), *more]
    for arguments in ({"promptdslk": "promptdslv"}, '{"promptdslk": "promptdslv"}')
    for more in ([], [_turn("assistant", "promptdslb"), _turn("user", "promptdslc")])
]
_TOOLS: list[Param] = [
    {
        "type": "function",
        "function": {
            "name": "promptdslf",
            "description": "promptdsld",
            "parameters": {
                "type": "object",
                "properties": {"promptdslk": {"type": "string", "description": "promptdsle"}},
                "required": ["promptdslk"],
            },
        },
    }
]

# What families of models call their tokens. The second bar is the wide one of DeepSeek.
_BAR, _NAME = r"[|\uff5c]", r"[^\s<>|\uff5c\\]{1,64}"
# DeepSeek's tags of calls have their name behind the second bar.
_BEHIND_ANGLE = f"/?{_BAR}{_NAME}{_BAR}(?:>|(?=[A-Za-z_]))"
_BEHIND_HALF = f"{_BAR}{_NAME}>|{_NAME}{_BAR}>"
# At the end of a text stands what a template may complete: some print a ">" there.
_UNFINISHED = rf"/?{_BAR}(?:{_NAME})?{_BAR}?\Z"
_BARRED = re.compile(f"<(?:{_BEHIND_ANGLE})")
_HALF = re.compile(f"<(?:{_BEHIND_HALF})")
_BRACKETED = frozenset(
    f"[{slash}{name}]"
    for slash in ("", "/")
    for name in (
        *("INST", "SYSTEM_PROMPT", "AVAILABLE_TOOLS", "TOOL_CALLS", "TOOL_RESULTS", "TOOL_CONTENT"),
        *("CALL_ID", "ARGS", "IMG", "IMG_BREAK", "IMG_END", "AUDIO", "BEGIN_AUDIO", "TRANSCRIBE"),
        *("PREFIX", "MIDDLE", "SUFFIX", "THINK", "MODEL_SETTINGS"),
    )
)
_TAGS = frozenset(
    (
        *("<s>", "</s>", "<bos>", "<eos>", "<pad>", "<unk>", "<mask>"),
        *("<start_of_turn>", "<end_of_turn>", "<<SYS>>", "<</SYS>>"),
    )
)

_ODD = re.compile(r"([<\[\]{}|~\u3008](?=\S*[A-Za-z])[^\s'\",]{1,40}[<>\[\]{}|~\u3009])\w{0,20}")
_TAG = re.compile(r"</?[A-Za-z_][\w.:-]{0,60}(?:[=>]| [A-Za-z]+=)")
_BRACKET = re.compile(r"\[/?[a-z]?[A-Z][A-Z_]+\]")
_KNOWN = re.compile(f"{_BARRED.pattern}|{_HALF.pattern}|{_TAG.pattern}|{_BRACKET.pattern}")
_LINE = re.compile(r"\\n|\n")


@lru_cache(maxsize=256)
def control_tokens(template: ChatTemplate | None) -> re.Pattern[str]:
    """Return what matches the control tokens of a template, each at its first character.

    They are what its text holds, what it prints around what is said, what its tokenizer calls
    special, and what its family of models has beside them. Without a template they are those of
    all families.
    """
    if template is None:
        return _matching(_BRACKETED | _TAGS, half=True)
    found = {template.bos_token, template.eos_token, *template.special_tokens}
    found |= {*_written(template.source), *printed_tokens(template)}
    if found & _BRACKETED:
        found |= _BRACKETED
    if found & _TAGS or not any(map(_BARRED.match, found)):
        found |= _TAGS
    half = any(map(_HALF.fullmatch, found))
    return _matching(filter(_can_be_broken, found), half=half)


def neutralised(text: str, tokens: re.Pattern[str]) -> str:
    r"""Return a text without control tokens: each has a backslash behind its first character.

    Returns the same object when it holds none.
    """
    return tokens.sub(r"\g<0>\\", text)


_LONGEST = 128
"""How long a token may be, in characters; a longer one is not looked for."""


def _matching(tokens: Iterable[str], *, half: bool) -> re.Pattern[str]:
    """Return what matches tokens, ``half`` those with one bar too.

    They may overlap, so only the first character is consumed.
    """
    angled = [_BEHIND_ANGLE, _UNFINISHED]
    by_first = {"<": [*angled, _BEHIND_HALF] if half else angled}
    for token in sorted(tokens, key=lambda token: (-len(token), token)):
        rest = re.escape(token[1:])
        rest = rf"{rest[:-1]}(?:>|\Z)" if len(token) > 2 and rest[-1] == ">" else rest
        by_first.setdefault(token[0], []).append(rest)
    rests = [(re.escape(first), "|".join(by_first[first])) for first in sorted(by_first)]
    return re.compile("|".join(f"{first}(?={rest})" for first, rest in rests))


def _can_be_broken(token: str) -> bool:
    return 1 < len(token) <= _LONGEST and "\n" not in token and "\\" not in token


def _written(source: str) -> Iterator[str]:
    """Yield what looks like a token in the text of a template, comments aside."""
    from promptdsl.providers.chat_template.jinja import texts

    for text in texts(source):
        yield from (match[0] for match in _KNOWN.finditer(text))
        odd = (_ODD.fullmatch(line.strip()) for line in _LINE.split(text))
        yield from (match[1] for match in odd if match)


_HEADER = re.compile(r"(?=.*[^\W\d_])(?=.*[^\w\s]).{2,64}")
_SURE = re.compile("#.*|.*[:>\\]]")
_VALUE = re.compile(r"[\"{].*")


def printed_tokens(template: ChatTemplate) -> Iterator[str]:
    """Yield what a template prints around what is said: its tokens, and the heads of its turns."""
    for frame in frames(template):
        yield from (match[0] for match in _KNOWN.finditer(frame.text))
        lines = [line for line in frame.text.splitlines() if line.strip()]
        for line in lines if frame.between else lines[-1:]:
            odd = _ODD.fullmatch(line.strip())
            yield from (odd[1],) if odd else _headers(line, sure=not frame.between)


def _headers(line: str, *, sure: bool) -> Iterator[str]:
    """Yield what a line says beside tokens, if ``sure`` only what looks like the head of a turn.

    Beside tokens, which are broken anyway, words have to end in a colon.
    """
    pieces = _KNOWN.split(_VALUE.sub("", line))
    for piece in filter(_HEADER.fullmatch, map(str.strip, pieces)):
        if piece.endswith(":") or (len(pieces) == 1 and (not sure or _SURE.fullmatch(piece))):
            yield piece
