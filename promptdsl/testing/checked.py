"""The assertion that a prompt has no findings of ``promptdsl check``."""

from collections.abc import Iterable
from functools import cache

from promptdsl import ContentError, Rendered
from promptdsl.checking import Checker, CheckSettings
from promptdsl.foundation.source import author


def assert_checked(
    *prompts: Rendered, select: Iterable[str] = (), ignore: Iterable[str] = ()
) -> None:
    """Fail if a rule of ``promptdsl check`` finds something in a prompt; the failure lists all.

    The settings are those of the nearest ``pyproject.toml``. ``select`` are other rules than there,
    ``ignore`` are rules to leave out, too: ids or their beginnings. Raises :class:`ContentError`
    for anything but a result of :func:`render`, :class:`ConfigError` for an unknown rule.

    >>> from promptdsl import System, render
    >>> from promptdsl.testing import assert_checked
    >>> assert_checked(render(System("You help customers.")))
    """
    __tracebackhide__ = True
    for it in prompts:
        if not isinstance(it, Rendered):  # pyright: ignore[reportUnnecessaryIsInstance]
            problem = f"assert_checked() takes what render() returned, not {type(it).__name__}"
            raise ContentError(problem, fix="render the prompt first", at=(author(),))
    checker = Checker(_settings().changed(select=select, ignore=ignore))
    for it in prompts:
        checker.prompt(it)
    if findings := checker.report().findings:
        raise AssertionError("\n".join(map(str, findings)))


@cache
def _settings() -> CheckSettings:
    return CheckSettings.near()
