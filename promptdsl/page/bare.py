"""Removes the content from a request of a page.

Only known keys and words, numbers and the ids of sections stay. Read :func:`without_content` first.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from promptdsl import Prompt, PromptRecord, TargetError, provider_names, render
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.foundation.json import JsonDict

_PREFIX = ("shared", "read_from_cache", "before", "after", "minimum", "dropped", "extends")
"""The keys of a prefix report that have no content."""
_KEYS_TEXT = """
assumed at block budget cache content depth digest dropped end error_type form format free inner
inputs is_error kind known label layer libraries limit losses message messages method model
outline output parts priority provider range reserve role savings sent settings spans start strict
tokens tool_choice tools total type typical used value what
"""
_KEYS = frozenset(_KEYS_TEXT.split())
"""The keys of a record that stay; ``_setting_names`` has the names of settings that stay."""
_WORDS_TEXT = """
a adds after_system also and answer any append assistant assumed attachments audio author auto
base before before_user but by cache call called chat checklist clear cleared code content
conversation count counts cut default developer document dropped end ephemeral error estimate
event exact example exchange exchanges execution execution_error few fill first fit flow for form
format formulas fragment frame full general grounding group h has heading hint history image in
instructions interrupted is item its json k keep kept kinds last library limit line lines list
loss lost m markdown media merged message messages minimal minutes mixed model more much native
never no none note o of old oldest on one only other others out output own paragraph part parts
provider prune published quote readable reasoning recorded recorded_system request required
reserve result results role rounds s saves scripts section size some start state_change statement
summary system system_event table target template text texts the timeout timeout_error tokens too
tool tool_result tool_use tools trailed turn turns typical unknown unknown_tool untrusted up use
user user_action usually validation validation_error value video volatile whole with without
written x xml
"""
_WORDS = frozenset(_WORDS_TEXT.split())
"""The words that promptdsl itself writes into a record."""
_WORD_PATTERN = re.compile(r"[^\W\d]+")
_LONG_NUMBER = re.compile(r"\d{7}")
"""A number that may be data, such as the number of a customer."""
_SECTION = re.compile(r"section ('?)[A-Za-z_][A-Za-z0-9_.-]*\1\Z")
_TIME = re.compile(r"[0-9]{4}-[0-9T:.+Z-]{1,40}\Z")
_LAYER = re.compile(r"library|provider|model|server|render|config|transformation")
"""The first word in the name of a layer of settings; the words after it are names."""
_ENCODING = re.compile(r"\b[a-z]?[0-9a-z]{1,4}k_base\b")
"""The name of an encoding: ``o200k_base``."""


def without_content(row: JsonDict) -> JsonDict:
    """Return a request without texts, names, ids and files; an error has no text."""
    record, prefix, error = row["record"], row["prefix"], row["error"]
    return {
        **row,
        "id": None,
        "at": row["at"] if _TIME.match(row["at"] or "") else None,
        "record": None if record is None else _bare_record(record),
        "prefix": None if prefix is None else {name: prefix[name] for name in _PREFIX},
        "changes": None,
        "targets": {},
        "fits": [{**fit, "dropped": len(fit["dropped"])} for fit in row["fits"]],
        "error": None if error is None else {"what": "", "fix": "", "at": [], "code": []},
    }


def _bare_record(record: JsonDict) -> JsonDict:
    """Return a record without content."""
    record_data: JsonDict = PromptRecord.from_dict(record).without_content().to_dict()
    settings: Mapping[str, Any] = record_data.get("settings") or {}
    names = _setting_names()
    return {
        **_known_only({**record_data, "settings": {}, "model": {}}),
        "format": "1.1",
        "digest": None,
        "libraries": [],
        "model": _model(record_data.get("model") or {}),
        "settings": {key: _setting(settings[key]) for key in settings if key in names},
    }


def _known_only(json_value: Any) -> Any:  # Any: JSON data
    """Return JSON data with only its known keys; a text with other words becomes empty."""
    if is_mapping(json_value):
        row: Mapping[str, Any] = json_value
        return {key: _known_only(child) for key, child in row.items() if key in _KEYS}
    if is_list(json_value):
        return [_known_only(child) for child in json_value]
    return _word(json_value) if isinstance(json_value, str) else json_value


def _word(text: str) -> str:
    """Return a text if promptdsl itself writes it or it names a section; else ``""``."""
    if _SECTION.match(text):
        return text
    words = _WORD_PATTERN.findall(_ENCODING.sub("", text).lower())
    is_known = all(word in _WORDS for word in words) and not _LONG_NUMBER.search(text)
    return text if is_known and (words or not text.strip()) else ""


def _setting(row: JsonDict) -> JsonDict:
    """Return the value of a setting and its layer, without names that a user chose."""
    layer = _LAYER.match(str(row.get("layer", "")))
    return {"value": _known_only(row.get("value")), "layer": layer[0] if layer else ""}


def _model(facts: Mapping[str, Any]) -> JsonDict:
    """Return the target; provider and model only if promptdsl has facts about them."""
    provider, model = facts.get("provider"), facts.get("model")
    if not isinstance(provider, str) or provider not in provider_names():
        return {"provider": None, "model": None, "known": False}
    is_known = isinstance(model, str) and _is_known(provider, model)
    return {"provider": provider, "model": model if is_known else None, "known": is_known}


def _is_known(provider: str, model: str) -> bool:
    """Return whether promptdsl has facts about a model at a provider."""
    name: Any = provider
    try:
        return render(Prompt(), provider=name, model=model).facts.known
    except TargetError:
        return False


@cache
def _setting_names() -> frozenset[str]:
    """Return the names of all settings of promptdsl."""
    return frozenset(render(Prompt()).record().to_dict()["settings"])
