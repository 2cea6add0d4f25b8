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
        raise PromptError(f"{error.name} is not installed", fix=install_advice(extra)) from None


def install_advice(extra: str) -> str:
    """Return what to do without the packages of an extra, from a checkout or from an index."""
    return f"install the extra `{extra}` of promptdsl"
