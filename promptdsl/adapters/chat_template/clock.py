"""What time it is, as a template asks: in English whatever the locale of the machine."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_WORD = re.compile("%[EO]?([%aAbBhpPcxXrs])")
_HALF = ("AM", "PM")


def told(now: datetime, format: str) -> str:
    """Return the time in the form of :meth:`datetime.strftime`, as in the locale ``C``.

    A time without a zone is counted in that of Greenwich.
    """
    return now.strftime(_WORD.sub(lambda match: _WORDS[match[1]](now), format))


def _seconds(now: datetime) -> str:
    zoned = now if now.tzinfo else now.replace(tzinfo=UTC)
    return str(int(zoned.timestamp()))


_WORDS: Mapping[str, Callable[[datetime], str]] = {
    "%": lambda _: "%%",
    "a": lambda now: _DAYS[now.weekday()][:3],
    "A": lambda now: _DAYS[now.weekday()],
    **dict.fromkeys("bh", lambda now: _MONTHS[now.month - 1][:3]),
    "B": lambda now: _MONTHS[now.month - 1],
    "p": lambda now: _HALF[now.hour // 12],
    "P": lambda now: _HALF[now.hour // 12].lower(),
    "c": lambda now: told(now, "%a %b %e %H:%M:%S %Y"),
    "x": lambda _: "%m/%d/%y",
    "X": lambda _: "%H:%M:%S",
    "r": lambda now: f"%I:%M:%S {_HALF[now.hour // 12]}",
    "s": _seconds,
}


class Clock:
    """The time as a template asks for it. It is a class so that printing it tells no address."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def __call__(self, format: str) -> str:
        """Return the time in the form of :func:`told`."""
        return told(self._now, format)

    def __repr__(self) -> str:
        return "strftime_now"
