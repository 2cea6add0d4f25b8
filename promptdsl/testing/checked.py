"""The assertion that a prompt has no findings of ``promptdsl check``."""

from collections.abc import Iterable
from functools import cache

from promptdsl import ContentError, Rendered
from promptdsl.checking import Checker, CheckSettings
from promptdsl.foundation.source import author


def assert_checked(
    *prompts: Rendered, select: Iterable[str] = (), ignore: Iterable[str] = ()
) -> None:
    """Fail if a rule of ``promptdsl check`` finds a problem in a prompt; the failure lists all.

    The settings are those of the nearest ``pyproject.toml``. ``select`` replaces the rules there,
    ``ignore`` are further rules to leave out; both are ids or their beginnings. Raises
    :class:`ContentError` for anything that is not the result of :func:`render`, and
    :class:`ConfigError` for an unknown rule.

    >>> from promptdsl import System, render
    >>> from promptdsl.testing import assert_checked
    >>> assert_checked(render(System("You help customers.")))
    """
    __tracebackhide__ = True
    for prompt in prompts:
        if not isinstance(prompt, Rendered):  # pyright: ignore[reportUnnecessaryIsInstance]
            problem = f"assert_checked() takes the result of render(), not {type(prompt).__name__}"
            raise ContentError(problem, fix="render the prompt first", at=(author(),))
    checker = Checker(_settings().changed(select=select, ignore=ignore))
    for prompt in prompts:
        checker.prompt(prompt)
    if findings := checker.report().findings:
        raise AssertionError("\n".join(map(str, findings)))


@cache
def _settings() -> CheckSettings:
    return CheckSettings.near()
