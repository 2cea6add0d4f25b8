"""Losses and hints: what a target does not accept, each with the reason and the author's line."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

import attrs

from promptdsl.foundation.errors import LossError
from promptdsl.foundation.source import Source, public_api
from promptdsl.foundation.unicode import on_one_line
from promptdsl.messages.message import Message

LossKind: TypeAlias = Literal["content", "role", "hint"]


@attrs.frozen
class Loss:
    """Something that a target does not accept, with the reason.

    ``kind`` says what becomes of it. ``content`` is text or media that is not sent, and ``role`` is
    text that is sent in another role. ``hint`` is a detail that the target has no field for, such
    as a cache mark, or a possible mistake of the author, such as an empty block. ``name`` is the
    name of a hint, which the setting ``silent_hints`` takes.

    ``path`` is the address in the prompt, ``source`` the author's file and line, where they are
    known: those of the part that wrote the block, of the ``History`` for a recorded one.
    ``message`` is the message with it. ``at`` is the location: the index of the message in
    ``Rendered.messages``, of the block in its content, and of the block in a result. ``also`` are
    the addresses of further locations on this line with the same cause: one hint is reported for
    all of them, with their ``count``.

    >>> from promptdsl import Loss
    >>> print(Loss("hint", "name of a speaker", "messages have none there", "user[0]"))
    hint: name of a speaker (user[0]): messages have none there
    """

    kind: LossKind
    what: str
    why: str
    path: str = ""
    source: Source | None = None
    message: Message | None = attrs.field(default=None, eq=False, repr=False)
    at: tuple[int, ...] = attrs.field(default=(), eq=False, repr=False)
    name: str = attrs.field(default="", kw_only=True)
    also: tuple[str, ...] = attrs.field(default=(), kw_only=True)

    @property
    def count(self) -> int:
        """The number of locations with this loss."""
        return 1 + len(self.also)

    def __str__(self) -> str:
        location = f": {self.source}" if self.source else ""
        path = f" ({self.path})" if self.path else ""
        times = f" ({self.count} times)" if self.also else ""
        return on_one_line(f"{self.kind}: {self.what}{path}: {self.why}{times}{location}")

    def _refusal(self, done: str) -> str:
        """Return the sentence of an error: what cannot be ``done``, such as "sent", and why."""
        verdict = f"cannot be {done}"
        if self.kind == "role":
            verdict = f"can only be {done} in another role"
        return f"{self.what} {verdict}: {self.why}"

    @staticmethod
    @public_api
    def refuse(losses: "Iterable[Loss]", done: str, *, fix: str) -> None:
        """Raise :class:`LossError` for the first loss that is more than a hint, if there is one.

        ``done`` is a participle for the text of the error, such as "sent". ``fix`` is the advice.
        """
        serious = [loss for loss in losses if loss.kind != "hint"]
        if not serious:
            return
        first = serious[0]
        more = f" (and {len(serious) - 1} more)" if len(serious) > 1 else ""
        raise LossError(
            f"{first._refusal(done)}{more}", fix=fix, at=(first.source or first.path or None,)
        )


def hint(
    name: str,
    what: str,
    why: str,
    path: str = "",
    *,
    source: Source | None = None,
    at: tuple[int, ...] = (),
) -> Loss:
    """Return a hint; ``name`` is one of ``hint_names.py``."""
    return Loss("hint", what, why, path, source, at=at, name=name)
