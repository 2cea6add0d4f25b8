"""A plug-in of pytest: the examples of all properties follow ``--hypothesis-seed``."""

import pytest

from tests.searching import register_profiles

SEED = "--hypothesis-seed"

RUNS: list[pytest.Config] = []
"""The runs that are not over: a test may run others inside of its own."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the profiles before Hypothesis loads the one that is asked for."""
    RUNS.append(config)
    if len(RUNS) == 1:
        register_profiles(config.getoption(SEED, None))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let the next run register its own."""
    RUNS.remove(config)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say the seed at the end, so that a quiet run says it, too."""
    seed = terminalreporter.config.getoption(SEED, None)
    if seed is not None:
        terminalreporter.write_line(f"the examples are those of {SEED}={seed}")
