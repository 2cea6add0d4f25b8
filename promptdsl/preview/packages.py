"""The packages of the extra ``preview``."""

from promptdsl.foundation.errors import require

PACKAGES = ("starlette", "uvicorn", "watchfiles")


def check_packages() -> None:
    """Raise :class:`PromptError`, with the extra that installs it, for a missing package.

    >>> from promptdsl.preview import check_packages
    >>> check_packages()
    """
    for package in PACKAGES:
        require(package, "preview")
