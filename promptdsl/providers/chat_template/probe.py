"""Find the features of a chat template: render short conversations and look for their words.

Read ``probed`` first.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import product

import attrs

from promptdsl.config.chat_template import ChatTemplate
from promptdsl.foundation.errors import TemplateError
from promptdsl.providers.chat_template.parts import Abilities
from promptdsl.providers.chat_template.run import call_param, render, tool_param
from promptdsl.providers.shared.request import Param

# No template prints these words by itself, and trimming does not change them. No word contains
# another.
SYSTEM, QUESTION, ANSWER, REASONING, LAST = ("Qzsystem", "Qzasked", "Qzsaid", "Qzthought", "Qzlast")
_TOOL, _OTHER_TOOL, _KEY, _VALUE, _RESULT = ("qztool", "qzmore", "qzkey", "qzvalue", "Qzresult")
_OTHER_RESULT = "Qzother"
_REPLY: Param = {"role": "assistant", "content": ANSWER}

_TOOLS, _DESCRIBED = (
    [tool_param(_TOOL, ANSWER, {"type": "object", "properties": {_KEY: key}, "required": [_KEY]})]
    for key in ({"type": "string"}, {"type": "string", "description": _VALUE})
)
_MEDIA: dict[str, Param] = {
    "image": {"type": "image", "url": "u"},
    "image_url": {"type": "image_url", "image_url": {"url": "u"}},
    "audio": {"type": "audio", "url": "u"},
    "video": {"type": "video", "url": "u"},
}


@lru_cache(maxsize=64)
def probed(template: ChatTemplate) -> Abilities:
    """Return the features of a template. It renders the template with some 30 conversations."""
    probe = _basis(template)
    # A system text must stay first when the conversation grows.
    system = {"role": "system", "content": SYSTEM}
    has_system = probe.shows([system, _user()], SYSTEM, QUESTION)
    has_system = has_system and probe.shows([system, _user(), _REPLY], SYSTEM, QUESTION, ANSWER)
    media = frozenset(kind for kind in _MEDIA if _shows_part(probe, "user", kind))
    reply_media = frozenset(kind for kind in media if _shows_part(probe, "assistant", kind))
    # Conversations without a user.
    no_user = probe.text([]) is not None
    no_user = no_user and (not has_system or probe.shows([system], SYSTEM))
    # Tool definitions: some templates refuse arguments without a description.
    tools = probe.shows([_user()], _TOOL, ANSWER, ordered=False, tools=_TOOLS)
    described = not tools and probe.shows([_user()], _TOOL, ANSWER, ordered=False, tools=_DESCRIBED)
    abilities = attrs.evolve(
        probe.abilities,
        system=has_system,
        no_user=no_user,
        media=media,
        reply_media=reply_media,
        tools=tools or described,
        described=described,
    )
    return _with_calls(attrs.evolve(probe, abilities=abilities))


@attrs.frozen
class _Probe:
    """A template, and its features that are known so far."""

    template: ChatTemplate
    abilities: Abilities

    def shows(
        self,
        messages: Sequence[Param],
        *words: str,
        ordered: bool = True,
        tools: list[Param] | None = None,
    ) -> bool:
        """Return whether the text of a conversation has these words.

        With ``ordered``, they must come in this order.
        """
        text = self.text(messages, tools)
        if text is None:
            return False
        starts = [text.find(word) for word in words]
        return min(starts) >= 0 and (not ordered or starts == sorted(starts))

    def text(self, messages: Sequence[Param], tools: list[Param] | None = None) -> str | None:
        """Return the text of a conversation, ``None`` if the template refuses it."""
        if tools and self.abilities.described:
            tools = _DESCRIBED
        elif not tools:
            tools = [] if self.abilities.tools_list else None
        adapted: list[Param] = []
        for message in messages:
            content, is_tool = message["content"], message["role"] == "tool"
            if self.abilities.lists and not is_tool and not isinstance(content, list):
                content = [{"type": "text", "text": content}]
            adapted.append({**message, "content": content})
        try:
            return render(self.template, adapted, tools)
        except TemplateError:
            return None


def _shows_part(probe: _Probe, role: str, kind: str) -> bool:
    """Return whether a template prints a media part of this type between two texts of a turn."""
    texts: list[Param] = [{"type": "text", "text": word} for word in (ANSWER, LAST)]
    before, after = ([_user()], [_user(REASONING)]) if role == "assistant" else ([], [])
    contents = (texts, [texts[0], _MEDIA[kind], texts[1]])
    without_part, with_part = (
        probe.text([*before, {"role": role, "content": content}, *after]) for content in contents
    )
    if without_part is None or with_part is None or len(with_part) <= len(without_part):
        return False
    return 0 <= with_part.find(ANSWER) < with_part.find(LAST) and kind in probe.template.source


def _basis(template: ChatTemplate) -> _Probe:
    """Return a probe with two features: the format of contents, and of a request without tools.

    Raises :class:`TemplateError` if the template does not print the words of a user.
    """
    for lists, tools_list in product((False, True), (False, True)):
        probe = _Probe(template, Abilities(lists=lists, tools_list=tools_list))
        if probe.shows([_user()], QUESTION):
            return probe
    render(template, [_user()])
    raise TemplateError(
        "the chat template does not print the words of a user",
        fix="check whether it reads other variables: ChatTemplate(source, variables={...})",
    )


def _with_calls(probe: _Probe) -> Abilities:
    """Return all features of a template: also those of calls, results and reasoning."""
    words = (QUESTION, _TOOL, _KEY, _VALUE, _RESULT)
    for mapping, short_ids in product((True, False), (False, True)):
        abilities = attrs.evolve(probe.abilities, mapping=mapping, short_ids=short_ids)
        messages = [_user(), _calling(abilities, _TOOL), _result(abilities, _TOOL)]
        text = probe.text(messages, _TOOLS) or ""
        # Models do not read a mapping printed by Python, or JSON text that is quoted twice.
        is_json = f"{{'{_KEY}'" not in text and '\\"' not in text[text.find(QUESTION) :]
        is_printed = is_json and probe.shows(messages, QUESTION, _RESULT)
        if is_printed and probe.shows([*messages, _REPLY], *words, ANSWER):
            return _with_rounds(attrs.evolve(probe, abilities=abilities))
    return attrs.evolve(probe.abilities, calls=False, user_after_result=True, reasoning=False)


def _with_rounds(probe: _Probe) -> Abilities:
    """Return all features of a template that prints calls: also text and reasoning with calls."""
    abilities = probe.abilities
    call, result = _calling(abilities, _TOOL), _result(abilities, _TOOL)
    two_calls = [
        _user(),
        _calling(abilities, _TOOL, _OTHER_TOOL),
        result,
        _result(abilities, _OTHER_TOOL),
    ]
    printed = probe.text([_user(), call, result], _TOOLS) or ""
    printed = printed[printed.find(QUESTION) :]
    # Some templates print the text of a turn with calls as reasoning, and drop it after an answer.
    call_with_text = {**call, "content": ANSWER}
    round_with_text = [_user(), call_with_text, result]
    words = (QUESTION, ANSWER, _TOOL, _RESULT)
    answered = [*round_with_text, {**_REPLY, "content": LAST}, _user()]
    reasoning_keys, words_with_reasoning = (
        {"reasoning_content": REASONING},
        (QUESTION, REASONING, _TOOL, _RESULT),
    )
    round_with_reasoning = [_user(), {**call, **reasoning_keys}, result]
    return attrs.evolve(
        abilities,
        parallel=probe.shows(two_calls, _TOOL, _OTHER_TOOL, _RESULT, _OTHER_RESULT),
        text_with_calls=probe.shows(round_with_text, *words)
        and probe.shows(answered, *words, LAST),
        user_after_result=probe.shows(
            [_user(), call, result, _user(LAST), _REPLY], QUESTION, _RESULT, LAST, ANSWER
        ),
        tag_keys=_in_tag(_KEY).search(printed) is not None,
        tag_names=_in_tag(_TOOL).search(printed) is not None,
        reasoning=probe.shows(round_with_reasoning, *words_with_reasoning),
        answers=probe.shows(
            [_user(), {**_REPLY, **reasoning_keys}, _user(LAST)], REASONING, ANSWER, LAST
        ),
        rounds=probe.shows(
            [*round_with_reasoning, _REPLY, _user(LAST)], *words_with_reasoning, LAST
        ),
        reasoning_with_text=probe.shows(
            [_user(), {**call_with_text, **reasoning_keys}, result],
            QUESTION,
            REASONING,
            ANSWER,
            _TOOL,
        ),
    )


def _in_tag(word: str) -> re.Pattern[str]:
    return re.compile(rf"</?[^<>\s{{}}]*(?:\s[^<>{{}}]*)?{word}[^<>{{}}]*>")


def _user(content: str | list[Param] = QUESTION) -> Param:
    return {"role": "user", "content": content}


def _calling(abilities: Abilities, *names: str) -> Param:
    arguments = {_KEY: _VALUE} if abilities.mapping else f'{{"{_KEY}": "{_VALUE}"}}'
    calls = [call_param(_id(abilities, name), name, arguments) for name in names]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def _result(abilities: Abilities, name: str) -> Param:
    text = _RESULT if name == _TOOL else _OTHER_RESULT
    return {"role": "tool", "tool_call_id": _id(abilities, name), "name": name, "content": text}


def _id(abilities: Abilities, name: str) -> str:
    return f"abc{name}" if abilities.short_ids else f"call_0123456789_{name}"
