"""What time it is, as a template asks: in English whatever the locale of the machine."""

import re
from datetime import datetime

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
_WORD = re.compile("%([%aAbBhp])")


def told(now: datetime, format: str) -> str:
    """Return the time in the form of :meth:`datetime.strftime`, names of days in English."""
    day, month = _DAYS[now.weekday()], _MONTHS[now.month - 1]
    words = {
        "%": "%%",
        **{"a": day[:3], "A": day},
        **{"b": month[:3], "h": month[:3], "B": month},
        "p": "AM" if now.hour < 12 else "PM",
    }
    return now.strftime(_WORD.sub(lambda match: words[match[1]], format))
