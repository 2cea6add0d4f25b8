"""The code of a part of a prompt: as a call, on lines of its own, or as a ``with`` block."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import TypeAlias

import attrs

MUST = ("framed", "History")
"""What holds its content in a block alone."""
Content: TypeAlias = "Sequence[Part | str]"


@attrs.define
class Part:
    """A part of a prompt: what is called, with which arguments and content.

    ``is_block`` is whether a ``with`` block can hold its content, ``is_data`` whether it joins no
    block by itself.
    """

    name: str
    args: Sequence[str] = ()
    content: Content = ()
    options: Sequence[str] = ()
    is_block: bool = False
    is_data: bool = False

    def call(self, pad: str = "") -> str:
        """Return the code of a call, with each part in it on a line of its own."""
        if self.name == "framed":
            return self._unframed().call(pad)
        inner = pad + "    "
        content = [it.call(inner) if isinstance(it, Part) else inner + it for it in self.content]
        items = [*(inner + it for it in self.args), *content, *(inner + it for it in self.options)]
        return "\n".join([f"{pad}{self.name}(", *(f"{item}," for item in items), f"{pad})"])

    def line(self) -> str:
        """Return the code of a call on one line."""
        if self.name == "framed":
            return self._unframed().line()
        content = [it.line() if isinstance(it, Part) else it for it in self.content]
        return f"{self.name}({', '.join([*self.args, *content, *self.options])})"

    def statements(self, random: Random, pad: str = "") -> Iterator[str]:
        """Yield the code that puts it into the open block, in one of the ways there are."""
        way = random.random()
        if self.is_data or (way < 0.03 and self.name not in MUST):
            yield from self._included(pad)
        elif self.content and self.is_block and (self.name in MUST or way < 0.6):
            yield f"{pad}with {self.name}({', '.join([*self.args, *self.options])}):"
            for part in self.content:
                inner = Part("Text", [part]) if isinstance(part, str) else part
                yield from inner.statements(random, pad + "    ")
        else:
            yield self.call(pad)

    def _unframed(self) -> "Part":
        """Return a card and the content of a frame, which needs a block."""
        return Part("Fragment", [f"card({self.args[0]})"], self.content)

    def _included(self, pad: str) -> Iterator[str]:
        """Yield the code that writes it apart from the open block, and puts it there then."""
        yield f"{pad}with detached():"
        yield f"{pad}    spare = \\\n{self.call(pad + '    ')}"
        yield f"{pad}include(spare)"
