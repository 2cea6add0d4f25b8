"""The public function ``prefix_report``: the beginning that two requests share.

A provider's prompt cache may serve it.
"""

from promptdsl.foundation.errors import ContentError, TargetError
from promptdsl.foundation.source import author, public_api
from promptdsl.rendering.reports import PrefixReport, compared
from promptdsl.rendering.result import Rendered


@public_api
def prefix_report(before: Rendered, after: Rendered) -> PrefixReport:
    """Return the tokens that two requests share at their beginning, and the first difference.

    >>> from promptdsl import System, Timeline, User, prefix_report, render
    >>> rules = System("Answer briefly.")
    >>> first = render(Timeline(rules, User("Hello")), model="gpt-5")
    >>> second = render(Timeline(rules, User("Goodbye")), model="gpt-5")
    >>> report = prefix_report(first, second)
    >>> report.shared > 0
    True

    ``report.served`` are the shared tokens that the provider's prompt cache serves, by its rule.
    Cache marks do not change ``shared``, but they may change ``served``. Tokens are counted with
    the counter of the second result. Results without a target are compared in the format of OpenAI.
    Raises :class:`TargetError` for two different targets, because they share no cache.
    """
    for rendered in (before, after):
        if not isinstance(rendered, Rendered):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ContentError(
                f"prefix_report() compares results of render(), not {type(rendered).__name__}",
                fix="render both: prefix_report(render(before, ...), render(after, ...))",
                at=(author(),),
            )
    try:
        return compared(before._report_input(), after._report_input())
    except TargetError as error:
        raise error.located(author()) from None
