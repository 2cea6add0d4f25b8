"""Packages of the extras: each is imported where it is used."""

from importlib import import_module
from types import ModuleType

from promptdsl.foundation.errors import PromptError


def require(module: str, extra: str) -> ModuleType:
    """Import a module of another library, and return it.

    Raises :class:`PromptError`, with the extra that installs it, when it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise PromptError(
            f"{error.name} is not installed", fix=f"pip install 'promptdsl[{extra}]'"
        ) from None
