"""The pytest mark ``prompt_models``: the models and budgets for the prompts of a test."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Literal, NamedTuple

import pytest

from promptdsl import PromptError, Rendered, Source, arender, render
from promptdsl.foundation.errors import OptionError

__tracebackhide__ = True  # of the lines of a failure, pytest shows those of the author

MARK = "prompt_models"
EXAMPLE = '@pytest.mark.prompt_models("gpt-5", "claude-opus-5-5", budget=8_000)'


class PromptModel(NamedTuple):
    """A model of a mark, its budget, and the line of the test."""

    name: str
    budget: int | Literal["window"] | None
    at: Source

    def rendered(self, prompt: Any) -> Rendered:  # Any: whatever render() takes
        """Return a prompt for this model; raise :class:`OptionError` if the model is unknown."""
        rendered = rendered_here(prompt, model=self.name, budget=self.budget)
        if rendered.facts.known:
            return rendered
        hints = [hint.why for hint in rendered.hints if hint.what == f"model {self.name!r}"]
        advice = hints[0].rpartition(": ")[2] if hints else "register it: register_model(...)"
        problem = f"{MARK} names the unknown model {self.name!r}"
        raise OptionError(problem, fix=advice, at=(self.at,))


def rendered_here(prompt: Any, **options: Any) -> Rendered:  # Any: whatever render() takes
    """Return a rendered prompt, with its asynchronous parts awaited.

    They run in a new event loop; if one already runs, the new loop is in a thread.
    """
    try:
        return render(prompt, **options)
    except PromptError as error:
        if "await arender(" not in error.fix:
            raise
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(arender(prompt, **options))
    with ThreadPoolExecutor(1) as thread:
        run = copy_context().run
        return thread.submit(run, asyncio.run, arender(prompt, **options)).result()


def models_of(test: pytest.Item) -> tuple[PromptModel, ...]:
    """Return the models of the nearest marks of a test; none without a mark.

    Marks of the test are nearer than those of its class, and these nearer than those of its file.
    Several marks on the same test, class or file are added, each with its own budget. Raises
    :class:`OptionError` for a mark without a model, a repeated model, and an unknown argument.
    """
    marks = [*test.iter_markers_with_node(MARK)]
    file, line, _ = test.reportinfo()
    at = Source(str(file), (line or 0) + 1)
    models: list[PromptModel] = []
    for node, mark in reversed(marks):
        if node is marks[0][0]:
            models += _models_of(mark.args, mark.kwargs, at)
    names = [model.name for model in models]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        problem = f"{MARK} names {twice!r} twice"
        raise OptionError(problem, fix="name each model once, with one budget", at=(at,))
    return tuple(models)


def _models_of(
    names: tuple[object, ...], options: Mapping[str, Any], at: Source
) -> list[PromptModel]:  # Any: render() checks a budget
    problem = None
    if not names:
        problem = f"{MARK} names no model"
    for name in names:
        if not isinstance(name, str) or not name:
            problem = f"a model of {MARK} must be a name, not {name!r}"
    for option in options.keys() - {"budget"}:
        problem = f"{MARK} has no option {option!r}"
    if problem is not None:
        raise OptionError(problem, fix=f"write {EXAMPLE}", at=(at,))
    return [PromptModel(str(name), options.get("budget"), at) for name in names]
