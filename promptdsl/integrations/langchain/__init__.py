"""LangChain: convert ``langchain_core.messages``, both ways.

Contents are LangChain's standard content blocks. A developer message is a ``SystemMessage`` with
``__openai_role__``, which is LangChain's own key for this role. ``write.py`` writes messages, and
``read.py`` reads them; ``details.py`` has what both need.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from promptdsl import Message, Rendered
from promptdsl.foundation.errors import require
from promptdsl.integrations import Converted

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

__all__ = ["from_langchain", "to_langchain"]


def to_langchain(
    rendered: Rendered, *, strict: bool = False
) -> "Converted[tuple[BaseMessage, ...]]":
    """Return LangChain's messages, and tools in the format that ``bind_tools`` takes.

    >>> from promptdsl import System, Timeline, User, render
    >>> from promptdsl.integrations.langchain import to_langchain
    >>> prompt = Timeline(System("Be brief."), User("Hi."))
    >>> [message.type for message in to_langchain(render(prompt)).messages]
    ['system', 'human']

    Raises :class:`LossError` with ``strict=True`` if text, media or a tool is lost, and
    :class:`PromptError` if ``langchain-core`` is not installed.
    """
    require("langchain_core.messages", "langchain")
    from promptdsl.integrations.langchain.write import write

    return write(rendered, strict=strict)


def from_langchain(messages: "Iterable[BaseMessage]") -> Converted[tuple[Message, ...]]:
    """Return the messages of a LangChain conversation, for a ``History``.

    >>> from langchain_core.messages import HumanMessage
    >>> from promptdsl.integrations.langchain import from_langchain
    >>> from_langchain([HumanMessage("Hi.")]).messages[0].text
    'Hi.'

    A system message that follows a message of another role becomes a developer message;
    ``to_langchain`` writes it as a system message again. Raises :class:`DataError` for a message of
    another class, or with data that is not JSON, and :class:`PromptError` if ``langchain-core`` is
    not installed.
    """
    require("langchain_core.messages", "langchain")
    from promptdsl.integrations.langchain.read import read

    return read(messages)
