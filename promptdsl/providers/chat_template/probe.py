"""Probing a template: each shape is rendered, to see whether what was said comes out, in order."""

import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any

import attrs

from promptdsl.config.chat_template import ChatTemplate
from promptdsl.foundation.errors import TemplateError
from promptdsl.providers.chat_template.abilities import Abilities
from promptdsl.providers.chat_template.run import render
from promptdsl.providers.shared.request import Param

# Words that no template prints, that trimming leaves alone, and that hold no other of them.
SYSTEM, ASKED, SAID, THOUGHT, LAST = ("Qzsystem", "Qzasked", "Qzsaid", "Qzthought", "Qzlast")
_TOOL, _MORE, _KEY, _VALUE, _RESULT = ("qztool", "qzmore", "qzkey", "qzvalue", "Qzresult")
_OTHER_RESULT = "Qzother"

_TOOLS: list[Param] = [
    {
        "type": "function",
        "function": {
            "name": _TOOL,
            "description": SAID,
            "parameters": {
                "type": "object",
                "properties": {_KEY: {"type": "string"}},
                "required": [_KEY],
            },
        },
    }
]
_DESCRIBED: list[Param] = deepcopy(_TOOLS)
_DESCRIBED[0]["function"]["parameters"]["properties"][_KEY]["description"] = _VALUE
_MEDIA: dict[str, Param] = {
    "image": {"type": "image", "url": "u"},
    "image_url": {"type": "image_url", "image_url": {"url": "u"}},
    "audio": {"type": "audio", "url": "u"},
    "video": {"type": "video", "url": "u"},
}


@lru_cache(maxsize=64)
def probed(template: ChatTemplate) -> Abilities:
    """Return what a template can say, found by rendering some thirty short conversations.

    Raises :class:`TemplateError`, with what the template said, when it refuses a plain question.
    """
    probe = _basis(template)
    found = probe.abilities
    media = frozenset(kind for kind in _MEDIA if _shows_media(probe, kind))
    found = attrs.evolve(found, media=media, system=_keeps_system(probe))
    first = probe.shows([_said()], SAID) and probe.shows([_said(), _user()], SAID, ASKED)
    found = attrs.evolve(found, assistant_first=first, no_user=_goes_without_user(probe, found))
    tools = probe.shows([_user()], _TOOL, SAID, ordered=False, tools=_TOOLS)
    described = not tools and probe.shows([_user()], _TOOL, SAID, ordered=False, tools=_DESCRIBED)
    found = attrs.evolve(found, tools=tools or described, described=described)
    return _with_calls(attrs.evolve(probe, abilities=found))


@attrs.frozen
class _Probe:
    """A template, and what is known of it so far."""

    template: ChatTemplate
    abilities: Abilities

    def shows(
        self,
        messages: Sequence[Param],
        *words: str,
        ordered: bool = True,
        tools: list[Param] | None = None,
    ) -> bool:
        """Return whether a conversation is rendered, and these words come out in this order."""
        text = self.text(messages, tools)
        if text is None:
            return False
        places = [text.find(word) for word in words]
        return min(places, default=0) >= 0 and (not ordered or places == sorted(places))

    def text(self, messages: Sequence[Param], tools: list[Param] | None = None) -> str | None:
        """Return a conversation as text, ``None`` when the template refuses it."""
        none: list[Param] | None = [] if self.abilities.tools_list else None
        if tools and self.abilities.described:
            tools = _DESCRIBED
        try:
            return render(self.template, list(map(self._formed, messages)), tools or none)
        except TemplateError:
            return None

    def _formed(self, entry: Param) -> Param:
        content = entry["content"]
        if not self.abilities.lists or entry["role"] == "tool" or isinstance(content, list):
            return entry
        return {**entry, "content": [{"type": "text", "text": content}]}


def _basis(template: ChatTemplate) -> _Probe:
    """Return the probe with the forms in which a template takes a plain question."""
    for lists in (False, True):
        for tools_list in (False, True):
            probe = _Probe(template, Abilities(lists=lists, tools_list=tools_list))
            if probe.shows([_user()], ASKED):
                return probe
    render(template, [_user()])
    raise TemplateError(
        "the chat template does not print what a user says",
        fix="look whether it reads other variables: ChatTemplate(source, variables={...})",
    )


def _keeps_system(probe: _Probe) -> bool:
    """Return whether the system text stands first, and does not move as the conversation grows."""
    system = {"role": "system", "content": SYSTEM}
    one = probe.shows([system, _user()], SYSTEM, ASKED)
    return one and probe.shows([system, _user(), _said()], SYSTEM, ASKED, SAID)


def _goes_without_user(probe: _Probe, found: Abilities) -> bool:
    if probe.text([]) is None:
        return False
    return not found.system or probe.shows([{"role": "system", "content": SYSTEM}], SYSTEM)


def _shows_media(probe: _Probe, kind: str) -> bool:
    texts: list[Param] = [{"type": "text", "text": word} for word in (ASKED, LAST)]
    bare = probe.text([_user(content=texts)])
    shown = probe.text([_user(content=[texts[0], _MEDIA[kind], texts[1]])])
    if bare is None or shown is None or not 0 <= shown.find(ASKED) < shown.find(LAST):
        return False
    return shown.count("") > bare.count("") and kind in probe.template.source


def _with_calls(probe: _Probe) -> Abilities:
    """Return what a template can say, with what it does to calls, results and thoughts."""
    found = probe.abilities
    for mapping in (True, False):
        for short in (False, True):
            made = attrs.evolve(found, mapping=mapping, short_ids=short)
            if _shows_call(probe, made):
                return _refined(attrs.evolve(probe, abilities=made), _caller(made))
    return attrs.evolve(found, calls=False, user_behind_result=True, reasoning=False)


def _shows_call(probe: _Probe, made: Abilities) -> bool:
    caller = _caller(made)
    messages = [_user(), caller(_TOOL), _result(made, _TOOL)]
    words = (ASKED, _TOOL, _KEY, _VALUE, _RESULT)
    # A mapping printed as Python prints it, or a text quoted once more, is not what models read.
    text = probe.text(messages, _TOOLS) or ""
    plain = f"{{'{_KEY}'" not in text and '\\"' not in text[text.find(ASKED) :]
    said = probe.shows(messages, ASKED, _RESULT) and plain
    return said and probe.shows([*messages, _said()], *words, SAID)


def _refined(probe: _Probe, caller: Callable[..., Param]) -> Abilities:
    made = probe.abilities
    call, result = caller(_TOOL), _result(made, _TOOL)
    both = [_user(), caller(_TOOL, _MORE), result, _result(made, _MORE)]
    beside = {**call, "content": SAID}
    thinking, thought = {"reasoning_content": THOUGHT}, (ASKED, THOUGHT, _TOOL, _RESULT)
    printed = probe.text([_user(), call, result], _TOOLS) or ""
    asked = printed[printed.find(ASKED) :]
    thoughtful = {**call, **thinking}
    return attrs.evolve(
        made,
        parallel=probe.shows(both, _TOOL, _MORE, _RESULT, _OTHER_RESULT),
        beside=_shows_beside(probe, [_user(), beside, result]),
        user_behind_result=probe.shows(
            [_user(), call, result, _user(LAST), _said()], ASKED, _RESULT, LAST, SAID
        ),
        tag_keys=_in_tag(_KEY).search(asked) is not None,
        tag_names=_in_tag(_TOOL).search(asked) is not None,
        reasoning=probe.shows([_user(), thoughtful, result], *thought),
        answers=probe.shows([_user(), {**_said(), **thinking}, _user(LAST)], THOUGHT, SAID, LAST),
        rounds=probe.shows([_user(), thoughtful, result, _said(), _user(LAST)], *thought, LAST),
        reasoning_beside=probe.shows(
            [_user(), {**beside, **thinking}, result], ASKED, THOUGHT, SAID, _TOOL
        ),
    )


def _in_tag(word: str) -> re.Pattern[str]:
    return re.compile(rf"</?[^<>\s{{}}]*(?:\s[^<>{{}}]*)?{word}[^<>{{}}]*>")


def _shows_beside(probe: _Probe, messages: list[Param]) -> bool:
    # Some print it as a thought, and drop it once there is an answer.
    words = (ASKED, SAID, _TOOL, _RESULT)
    answered = [*messages, {"role": "assistant", "content": LAST}, _user()]
    return probe.shows(messages, *words) and probe.shows(answered, *words, LAST)


def _user(content: Any = ASKED) -> Param:
    return {"role": "user", "content": content}


def _said() -> Param:
    return {"role": "assistant", "content": SAID}


def _caller(made: Abilities) -> Callable[..., Param]:
    arguments: Any = {_KEY: _VALUE} if made.mapping else f'{{"{_KEY}": "{_VALUE}"}}'

    def caller(*names: str) -> Param:
        calls = [
            {
                "id": _id(made, name),
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for name in names
        ]
        return {"role": "assistant", "content": "", "tool_calls": calls}

    return caller


def _result(made: Abilities, name: str) -> Param:
    text = _RESULT if name == _TOOL else _OTHER_RESULT
    return {"role": "tool", "tool_call_id": _id(made, name), "name": name, "content": text}


def _id(made: Abilities, name: str) -> str:
    return f"abc{name}" if made.short_ids else f"call_0123456789_{name}"
