"""What other libraries hold: their modules, their addresses, their recordings."""

from importlib import import_module
from typing import Any, Literal, TypeAlias

from promptdsl import PromptError

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]
Kind: TypeAlias = Literal["recorded", "recorded_system"]


def foreign(module: str, extra: str) -> Any:
    """Return a module of another library; :class:`PromptError` names the extra it comes with."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise PromptError(
            f"{error.name} is not installed", fix=f"pip install 'promptdsl[{extra}]'"
        ) from None


def address(url: object) -> dict[str, Any]:
    """Return the source an address is, in dictionary form: buckets have kinds of their own."""
    head = url[:5].lower() if isinstance(url, str) else ""
    kind = {"s3://": "s3", "gs://": "gcs"}.get(head, "url")
    return {"type": kind, "url" if kind == "url" else "uri": url}
