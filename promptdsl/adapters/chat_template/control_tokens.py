r"""Control tokens: found in a template, and broken in all text that it prints.

A backslash behind its first character breaks a token: ``<|im_end|>`` becomes ``<\|im_end|>``. It is
seen, it deletes nothing, and no tokenizer takes it away, as some do with invisible characters.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from promptdsl.adapters.chat_template.engine import render
from promptdsl.chat_templates import ChatTemplate
from promptdsl.errors import TemplateError
from promptdsl.wire.request import Param

# What families of models call their tokens. The second bar is the wide one of DeepSeek.
_BAR, _NAME = r"[|\uff5c]", r"[^\s<>|\uff5c\\]{1,64}"
_BEHIND_ANGLE = f"{_BAR}{_NAME}{_BAR}>"
_BEHIND_HALF = f"{_BAR}{_NAME}>|{_NAME}{_BAR}>"
# At the end of a text stands what a template may complete: some print a ">" there.
_UNFINISHED = rf"{_BAR}(?:{_NAME})?{_BAR}?\Z"
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

_LITERAL = re.compile(r"'((?:[^'\\]|\\.)*+)'|\"((?:[^\"\\]|\\.)*+)\"", re.DOTALL)
_ODD = re.compile(r"[<\[\]{}|~](?=[^\s]*[A-Za-z])[^\s'\",]{1,40}[<>\[\]{}|~]")
_TAG = re.compile(r"</?[A-Za-z_][\w.:-]{0,60}[=>]")
_BRACKET = re.compile(r"\[/?[A-Z][A-Z_]+\]")
_PUNCTUATED = re.compile(r"[^\w\s]")
_KNOWN = re.compile(f"{_BARRED.pattern}|{_HALF.pattern}|{_TAG.pattern}|{_BRACKET.pattern}")


class ControlTokens(NamedTuple):
    """What matches control tokens: each ``whole`` one at its first character, ``broken`` ones."""

    whole: re.Pattern[str]
    broken: re.Pattern[str]


@lru_cache(maxsize=256)
def control_tokens(template: ChatTemplate | None) -> ControlTokens:
    """Return the control tokens of a template.

    They are what its text holds, what it prints around what is said, and what its family of models
    has beside them. Without a template they are those of all families.
    """
    if template is None:
        return _matching(_BRACKETED | _TAGS, half=True)
    found = {template.bos_token, template.eos_token}
    found |= {*_written(template.source), *_printed(template)}
    if found & _BRACKETED:
        found |= _BRACKETED
    if found & _TAGS or not any(map(_BARRED.match, found)):
        found |= _TAGS
    half = any(map(_HALF.fullmatch, found))
    return _matching(filter(_can_be_broken, found), half=half)


def neutralised(text: str, tokens: ControlTokens) -> str:
    r"""Return a text without control tokens: each has a backslash behind its first character.

    Returns the same object when it holds none. :func:`restored` takes the backslashes out.
    """
    return tokens.whole.sub(r"\g<0>\\", text)


def restored(text: str, tokens: ControlTokens) -> str:
    """Return the text that was neutralised.

    A broken token that stood in it before cannot be told from one that was broken.
    """
    whole = tokens.broken.sub(lambda match: match[0][0], text)
    # A token in which another one begins is seen once that one is whole.
    while whole != text:
        text, whole = whole, tokens.broken.sub(lambda match: match[0][0], whole)
    return text


_LONGEST = 128
"""How long a token may be, in characters; a longer one is not looked for."""


def _matching(tokens: Iterable[str], *, half: bool) -> ControlTokens:
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
    whole = "|".join(f"{first}(?={rest})" for first, rest in rests)
    broken = "|".join(rf"{first}\\(?={rest})" for first, rest in rests)
    return ControlTokens(re.compile(whole), re.compile(broken))


def _can_be_broken(token: str) -> bool:
    return 1 < len(token) <= _LONGEST and "\n" not in token and "\\" not in token


def _written(source: str) -> Iterator[str]:
    """Yield what looks like a token in the text of a template."""
    yield from (match[0] for match in _KNOWN.finditer(source))
    for match in _LITERAL.finditer(source):
        literal = match[1] or match[2] or ""
        if _ODD.fullmatch(literal):
            yield literal


def _printed(template: ChatTemplate) -> Iterator[str]:
    """Yield what stands between two turns: its tokens, or its lines where it has none."""
    for messages in _SHAPES:
        for frame in _frames(template, messages):
            known = [match[0] for match in _KNOWN.finditer(frame)]
            yield from known or filter(_PUNCTUATED.search, map(str.strip, frame.splitlines()))


def _frames(template: ChatTemplate, messages: list[Param]) -> list[str]:
    try:
        text = render(template, messages)
    except TemplateError:
        return []
    return re.split("|".join(entry["content"] for entry in messages), text)[1:]


_SHAPES: list[list[Param]] = [
    [{"role": "user", "content": "promptdsl_a"}],
    [
        {"role": "user", "content": "promptdsl_a"},
        {"role": "assistant", "content": "promptdsl_b"},
        {"role": "user", "content": "promptdsl_c"},
    ],
    [
        {"role": "system", "content": "promptdsl_a"},
        {"role": "user", "content": "promptdsl_b"},
    ],
]
