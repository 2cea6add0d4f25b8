"""Render a chat template, and break the control tokens that texts of a prompt could forge.

First comes the rendering, then the search for the control tokens: read ``control_tokens``.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial

from promptdsl.config.chat_template import ChatTemplate
from promptdsl.foundation.errors import TemplateError
from promptdsl.foundation.frozen import thawed
from promptdsl.providers.shared.blocks import utf8
from promptdsl.providers.shared.request import Param

# Render a chat template, with a fixed time if it needs one. Errors name the template's line.

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_LOCAL_DIRECTIVE = re.compile("%[EO]?([%aAbBhpPcxXrs])")
"""A directive of ``strftime`` whose text depends on the locale or the time zone."""


def formatted_time(now: datetime, format: str) -> str:
    """Return the text of ``strftime`` in the locale ``C``. A time without a zone counts as UTC."""
    day, month = _DAYS[now.weekday()], _MONTHS[now.month - 1]
    half = "PM" if now.hour >= 12 else "AM"
    zoned = now if now.tzinfo else now.replace(tzinfo=UTC)
    directives = {
        "%": "%%",
        "a": day[:3],
        "A": day,
        "b": month[:3],
        "h": month[:3],
        "B": month,
        "p": half,
        "P": half.lower(),
        "c": f"{day[:3]} {month[:3]} %e %H:%M:%S %Y",
        "x": "%m/%d/%y",
        "X": "%H:%M:%S",
        "r": f"%I:%M:%S {half}",
        "s": str(int(zoned.timestamp())),
    }
    return now.strftime(_LOCAL_DIRECTIVE.sub(lambda match: directives[match[1]], format))


def call_param(id: str, name: str, arguments: Param | str) -> Param:
    """Return a call as templates take it in a message."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool_param(name: str, description: str, parameters: Param) -> Param:
    """Return the definition of a tool as templates take it."""
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


def render(
    template: ChatTemplate,
    messages: Sequence[Param],
    tools: Sequence[Param] | None = None,
    *,
    add_generation_prompt: bool = True,
) -> str:
    """Return the text of a conversation, by default up to the beginning of the next answer.

    Raises :class:`TemplateError` with the template's own message if the template refuses the
    conversation.
    """
    from promptdsl.providers.chat_template.jinja import compiled

    variables: dict[str, object] = {
        # The template of gpt-oss reads reasoning under the key "thinking".
        "messages": [
            {"thinking": message["reasoning_content"], **message}
            if message.get("reasoning_content") is not None
            else message
            for message in messages
        ],
        "tools": tools,
        "documents": None,
        "add_generation_prompt": add_generation_prompt,
        "bos_token": template.bos_token,
        "eos_token": template.eos_token,
        **thawed(template.variables),
    }
    if template.now is not None:
        variables.setdefault("strftime_now", partial(formatted_time, template.now))
    try:
        text = compiled(template.source)(variables)
    except Exception as error:
        raise _fault(template, error) from None
    return utf8(text)


_END = "END_OF_CONTINUED_TEXT "
"""A word and a space, to be put at the end of a text. Templates that trim remove the space."""


def render_open(
    template: ChatTemplate, messages: Sequence[Param], tools: Sequence[Param] | None = None
) -> str | None:
    """Return the text of a conversation up to the end of its last message, which is continued.

    ``continue_final_message`` of ``transformers`` does the same. Returns ``None`` if the template
    does not print this message. Raises :class:`TemplateError` if it refuses the conversation.
    """
    *before, last = messages
    content: str | list[Param] = last["content"]
    if isinstance(content, str):
        content += _END
    elif content[-1]["type"] == "text":
        *parts, part = content
        content = [*parts, {**part, "text": part["text"] + _END}]
    else:
        content = [*content, {"type": "text", "text": _END}]
    with_end = {**last, "content": content}
    text = render(template, [*before, with_end], tools, add_generation_prompt=False)
    end = text.rfind(_END.strip())
    if end < 0:
        return None
    return text[:end] if text.startswith(_END, end) else text[:end].rstrip()


def _fault(template: ChatTemplate, error: Exception) -> TemplateError:
    """Return the error for an exception in a template, with the template's line and advice."""
    from jinja2 import TemplateSyntaxError

    from promptdsl.providers.chat_template.jinja import Refusal, TooMuch

    message = str(error)[:300] or type(error).__name__
    if "strftime_now" in message and template.now is None:
        return TemplateError(
            "the chat template asks for the time",
            fix="give it: ChatTemplate(source, now=datetime(2026, 11, 21))",
        )
    fix = "give it more with variables="
    if template.variables:
        fix = f"it has the variables {', '.join(template.variables)}"
    if isinstance(error, TemplateSyntaxError):
        fix = "correct its Jinja, which transformers would refuse too"
    elif isinstance(error, RecursionError):
        message, fix = "it goes too deep", "give it data that is nested less deeply"
    elif isinstance(error, TooMuch):
        fix = "make it print less"
    elif isinstance(error, Refusal):
        fix = "write it in a way that the template takes, or use another template"
    line = getattr(error, "lineno", None)
    where = "the chat template" if line is None else f"the chat template, line {line}"
    return TemplateError(f"{where}: {message}", fix=fix)


# Find the control tokens of a chat template, and break them in the texts of a prompt.
#
# A backslash after its first character breaks a token: ``<|im_end|>`` becomes ``<\|im_end|>``. The
# backslash is visible, and no tokenizer removes it, as some remove invisible characters.

_WORD = re.compile("promptdsl[a-z]", re.IGNORECASE)
"""The words of the short conversations with which a template is rendered."""


def _turn(role: str, word: str, **keys: object) -> Param:
    return {"role": role, "content": word, **keys}


_QUESTION, _REPLY = _turn("user", "promptdsla"), _turn("assistant", "promptdslb")
_REASONING = {"reasoning_content": "promptdslt"}
_SHAPES: list[list[Param]] = [
    [_QUESTION],
    [_QUESTION, _REPLY, _turn("user", "promptdslc")],
    [_QUESTION, {**_REPLY, **_REASONING}],
    [_turn("system", "promptdsla"), _turn("user", "promptdslb")],
    [_QUESTION, _turn("system", "promptdslb")],
    [_QUESTION, _turn("developer", "promptdslb")],
    [_QUESTION, _turn("tool", "promptdslb", tool_call_id="promptdsl")],
]
_RESULT = _turn("tool", "promptdslr", tool_call_id="promptdsl", name="promptdslf")
_CALLS: list[list[Param]] = [
    [_QUESTION, _turn("assistant", "", tool_calls=[call], **_REASONING), _RESULT, *later]
    for call in (
        call_param("promptdsl", "promptdslf", {"promptdslk": "promptdslv"}),
        call_param("promptdsl", "promptdslf", '{"promptdslk": "promptdslv"}'),
    )
    for later in ([], [_REPLY, _turn("user", "promptdslc")])
]
_PROPERTIES = {"promptdslk": {"type": "string", "description": "promptdsle"}}
_PARAMETERS = {"type": "object", "properties": _PROPERTIES, "required": ["promptdslk"]}
_TOOLS: list[Param] = [tool_param("promptdslf", "promptdsld", _PARAMETERS)]

# The tokens of families of models. The second bar is the wide one of DeepSeek.
_BAR, _NAME = r"[|\uff5c]", r"[^\s<>|\uff5c\\]{1,64}"
# DeepSeek's tags of calls have their name after the second bar.
_AFTER_ANGLE = f"/?{_BAR}{_NAME}{_BAR}(?:>|(?=[A-Za-z_]))"
_AFTER_ANGLE_HALF = f"{_BAR}{_NAME}>|{_NAME}{_BAR}>"
# A template may complete a token at the end of a text: some print a ">" there.
_UNFINISHED = rf"/?{_BAR}(?:{_NAME})?{_BAR}?\Z"
_BARRED = re.compile(f"<(?:{_AFTER_ANGLE})")
_HALF = re.compile(f"<(?:{_AFTER_ANGLE_HALF})")
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

_BRACKETED_WORD = re.compile(
    r"([<\[\]{}|~\u3008](?=\S*[A-Za-z])[^\s'\",]{1,40}[<>\[\]{}|~\u3009])\w{0,20}"
)
_TAG = re.compile(r"</?[A-Za-z_][\w.:-]{0,60}(?:[=>]| [A-Za-z]+=)")
_BRACKET = re.compile(r"\[/?[a-z]?[A-Z][A-Z_]+\]")
_TOKEN = re.compile(f"{_BARRED.pattern}|{_HALF.pattern}|{_TAG.pattern}|{_BRACKET.pattern}")
_LINE = re.compile(r"\\n|\n")
_HEADER = re.compile(r"(?=.*[^\W\d_])(?=.*[^\w\s]).{2,64}")
_SURE = re.compile("#.*|.*[:>\\]]")
_VALUE = re.compile(r"[\"{].*")


@lru_cache(maxsize=256)
def control_tokens(template: ChatTemplate | None) -> re.Pattern[str]:
    """Return a pattern that matches the first character of each control token of a template.

    The tokens come from its source, from the text that it prints around the words of short
    conversations, from the special tokens of its tokenizer, and from the family of its model.
    Without a template they are the tokens of all families.
    """
    if template is None:
        return _first_characters(_BRACKETED | _TAGS, half=True)
    from promptdsl.providers.chat_template.jinja import texts

    tokens = {template.bos_token, template.eos_token, *template.special_tokens}
    # From the source without comments: everything like a token, and lines that are a word in
    # brackets.
    for text in texts(template.source):
        tokens.update(match[0] for match in _TOKEN.finditer(text))
        bracketed_lines = (_BRACKETED_WORD.fullmatch(line.strip()) for line in _LINE.split(text))
        tokens.update(match[1] for match in bracketed_lines if match)
    # From the printed text: the same, and the heads of turns.
    for text, is_between in _printed_texts(template):
        tokens.update(match[0] for match in _TOKEN.finditer(text))
        lines = [line for line in text.splitlines() if line.strip()]
        for line in lines if is_between else lines[-1:]:
            bracketed = _BRACKETED_WORD.fullmatch(line.strip())
            tokens.update(
                (bracketed[1],) if bracketed else _turn_heads(line, only_sure=not is_between)
            )
    # The other tokens of the family.
    if tokens & _BRACKETED:
        tokens |= _BRACKETED
    if tokens & _TAGS or not any(map(_BARRED.match, tokens)):
        tokens |= _TAGS
    has_half = any(map(_HALF.fullmatch, tokens))
    breakable = [t for t in tokens if 1 < len(t) <= 128 and "\n" not in t and "\\" not in t]
    return _first_characters(breakable, half=has_half)


def neutralised(text: str, tokens: re.Pattern[str]) -> str:
    r"""Return a text without control tokens: each has a backslash after its first character.

    Returns the same object when there is no token.
    """
    return tokens.sub(r"\g<0>\\", text)


def _first_characters(tokens: Iterable[str], *, half: bool) -> re.Pattern[str]:
    """Return a pattern that matches the first character of each token. Tokens may overlap.

    With ``half``, it also matches the first character of any token with a bar on one side only.
    """
    angled = [_AFTER_ANGLE, _UNFINISHED]
    by_first = {"<": [*angled, _AFTER_ANGLE_HALF] if half else angled}
    for token in sorted(tokens, key=lambda token: (-len(token), token)):
        rest = re.escape(token[1:])
        rest = rf"{rest[:-1]}(?:>|\Z)" if len(token) > 2 and rest[-1] == ">" else rest
        by_first.setdefault(token[0], []).append(rest)
    rests = [(re.escape(first), "|".join(by_first[first])) for first in sorted(by_first)]
    return re.compile("|".join(f"{first}(?={rest})" for first, rest in rests))


def _printed_texts(template: ChatTemplate) -> Iterator[tuple[str, bool]]:
    """Yield the texts that a template prints around the words of short conversations.

    Each text has a flag that says whether it follows a word of a conversation without tools.
    """
    for shape in _SHAPES:
        for index, text in enumerate(_texts_around_words(template, shape, None)):
            yield text, index > 0
    # With tools, the texts between words belong to calls and definitions.
    with_tools = template.with_tools()
    for shape in (_SHAPES[0], *_CALLS):
        for text in _texts_around_words(with_tools, shape, _TOOLS):
            yield text, False


def _texts_around_words(
    template: ChatTemplate, messages: list[Param], tools: list[Param] | None
) -> list[str]:
    """Return the texts around the words of a conversation, no text if the template refuses it."""
    # Some templates take only lists of parts. Some loop over the tools even if they are ``None``.
    listed = [
        {**message, "content": [{"type": "text", "text": message["content"]}]}
        for message in messages
    ]
    for contents in (messages, listed):
        for tool_params in (tools, tools or []):
            try:
                text = render(template, contents, tool_params)
            except TemplateError:
                continue
            pieces = _WORD.split(text)
            if len(pieces) > 1:
                return pieces
    return []


def _turn_heads(line: str, *, only_sure: bool) -> list[str]:
    """Return the pieces of a line that may be the head of a turn, such as ``USER:``.

    In a line with tokens, a piece must end in a colon, because the tokens are broken anyway. With
    ``only_sure``, a piece that is the complete line must begin with ``#``, or end in ``:``, ``>``
    or ``]``.
    """
    pieces = _TOKEN.split(_VALUE.sub("", line))
    heads = list[str]()
    for piece in map(str.strip, pieces):
        if not _HEADER.fullmatch(piece):
            continue
        is_complete_line = len(pieces) == 1 and (not only_sure or _SURE.fullmatch(piece))
        if piece.endswith(":") or is_complete_line:
            heads.append(piece)
    return heads
