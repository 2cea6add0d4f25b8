"""Facts about models that users register."""

from contextlib import ExitStack
from typing import Unpack

from promptdsl.config.model_facts import Facts, checked_facts
from promptdsl.config.models import ModelEntry, change_entries, check_provider
from promptdsl.foundation.errors import OptionError, PromptError
from promptdsl.foundation.source import author


def register_model(pattern: str, /, *, provider: str, **facts: Unpack[Facts]) -> ExitStack:
    """Register facts about the models of a name, for the whole process.

    ``facts`` are fields of :class:`ModelFacts`. They are used for names that are ``pattern``, or
    ``pattern`` and a date or version; the longest pattern counts. ``provider`` is the target of
    such a name alone. Facts that are left out keep the values that come with promptdsl for the same
    pattern; registering a pattern again replaces the earlier registration. ``window``, ``output``
    and ``cache_minimum`` are tokens, ``template`` is a chat template's text or a Hugging Face
    tokenizer. The result is a context manager, which takes the registration back at its end.

    >>> from promptdsl import Timeline, User, register_model, render
    >>> with register_model("my-model", provider="anthropic", window=32_000):
    ...     render(Timeline(User("Hi.")), model="my-model-2026-01-01").facts.window
    32000

    Raises :class:`TargetError` for an unknown provider, :class:`OptionError` for a fact that is
    unknown or has a wrong value, :class:`ContentError` for a wrong template.
    """
    try:
        if not isinstance(pattern, str) or not pattern:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise OptionError(
                f"a pattern is the name of a model, not {pattern!r}",
                fix="write it as it begins: register_model('my-model', ...)",
            )
        check_provider(provider)
        entry = ModelEntry(pattern, provider, checked_facts(facts))
    except PromptError as error:
        raise error.located(author()) from None
    change_entries(pattern, add=entry)
    registration = ExitStack()
    registration.callback(change_entries, pattern, remove=entry)
    return registration
