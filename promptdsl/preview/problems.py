"""What is wrong with a child, as the page shows it."""

import signal

from promptdsl.foundation.json import JsonDict


def slow_problem(limit: float, timeout: float) -> JsonDict:
    """Return the error that a limit was reached."""
    what = f"the prompt ran longer than {limit:.3g} s, so it was ended"
    if limit != timeout:
        return _problem(what, "choose again, or save a file: it starts again")
    return _problem(what, "look for a loop or a call that waits; --timeout SECONDS gives it more")


def ended_problem(code: bytes, *, is_nursery: bool) -> JsonDict:
    """Return the error that the process of a prompt ended by itself."""
    if is_nursery:
        return _problem(
            "the process from which prompts are started ended", "save a file: it starts again"
        )
    number = int(code)
    how = f"with the exit code {number}" if number >= 0 else f"by the signal {_name(-number)}"
    return _problem(f"the process of the prompt ended {how}", "save a file: it starts again")


def tunnel_command(port: int) -> str:
    """Return the command that shows a preview of another machine on this one."""
    return f"ssh -N -L {port}:127.0.0.1:{port} USER@MACHINE"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _problem(what: str, fix: str) -> JsonDict:
    return {"what": what, "fix": fix, "at": [], "code": []}
