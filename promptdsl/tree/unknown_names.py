"""Names that a node does not have, but that authors look for: each raises an error with advice.

Many of them are names of the rendered prompt.
"""

from typing import Never

from promptdsl.foundation.errors import UnknownNameError, with_article
from promptdsl.foundation.source import author
from promptdsl.tree.node import Node, named_label


class UnknownName:
    """An attribute that raises :class:`UnknownNameError` with advice.

    A ``__getattr__`` of nodes could do the same. But then each access of an attribute would be
    slower: CPython 3.11 reads slots directly only if the class has no ``__getattr__``.
    """

    def __init__(self, what: str, fix: str) -> None:
        self._what = what
        self._fix = fix

    def __get__(self, node: Node | None, owner: type[Node]) -> Never:
        name = with_article(owner.__name__) if node is None else named_label(node)
        raise UnknownNameError(f"{name} has no {self._what}", fix=self._fix, at=(author(),))


def refuse(cls: type[Node], name: str, what: str, fix: str) -> None:
    """Make a name of a node class raise an error with advice, and leave it out of ``dir()``.

    ``what`` is the name in the error.
    """
    setattr(cls, name, UnknownName(what, fix))
    Node._refused.add(name)


for _name in (
    *("messages", "losses", "hints", "tokens", "dropped"),
    *("payload()", "prefix()", "stages()", "spans()", "explain()", "record()", "locations()"),
    *("to_otel()", "output_mode"),
    *("for_target()", "to_openai()", "to_openai_responses()", "to_anthropic()"),
    *("to_gemini()", "to_bedrock()", "to_chat_template()"),
):
    _fix = f"render it first: render(prompt, model=...).{_name}"
    refuse(Node, _name.removesuffix("()"), f"{_name} before it is rendered", _fix)
refuse(Node, "render", "render()", "write render(prompt, model=...)")
for _name in ("append", "extend", "add"):
    _fix = "give it its content as arguments, or write it in its block"
    refuse(Node, _name, f"{_name}()", _fix)
