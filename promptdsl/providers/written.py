"""What an adapter wrote of a prompt: the payload, its losses and its tokens."""

from typing import TYPE_CHECKING, Any

from promptdsl.config.model_facts import ModelFacts
from promptdsl.messages.prompt import Prompt
from promptdsl.providers.registry import TARGETS
from promptdsl.providers.shared.copy_payload import fresh
from promptdsl.providers.shared.memory import Memory, Recall

if TYPE_CHECKING:
    from promptdsl.tokens.count import TextTokens
    from promptdsl.tokens.payloads import Tally

MEMORY = Memory()
"""What was written of the long conversations that were rendered last."""


class WrittenPayload:
    """The payload an adapter wrote of a prompt; ``losses`` are what it could not say.

    Of a long conversation only what is new is written. Every payload is made of fresh containers.
    """

    __slots__ = ("_passage", "_ready", "_write", "facts", "losses", "prompt")

    def __init__(self, prompt: Prompt, facts: ModelFacts, memory: Memory = MEMORY) -> None:
        """Raise :class:`PromptError` for what cannot be written."""
        recall = Recall(memory) if len(prompt.messages) >= memory.least else None
        self._write = TARGETS[str(facts.provider)].adapter.write
        said, self.losses = self._write(prompt, facts, recall)
        self.prompt, self.facts = prompt, facts
        self._passage = None if recall is None else recall.passage
        self._ready: list[dict[str, Any]] = [said]

    @property
    def said(self) -> dict[str, Any]:
        """The payload to be read: it is another's, and must not be changed or given away."""
        # A copy, since another thread may take the payload away between a check and a look.
        for ready in [*self._ready]:
            return ready
        said: dict[str, Any] = self._write(self.prompt, self.facts)[0]
        return said

    def payload(self) -> dict[str, Any]:
        """Return the payload, to be given away."""
        if self._passage is not None:
            return fresh(self.said)
        try:
            return self._ready.pop()
        except IndexError:
            return self.said

    def tally(self, tokens: "TextTokens") -> "Tally":
        """Return the tokens of the payload; what ``tokens`` counted once of it is remembered."""
        if self._passage is None:
            from promptdsl.tokens.payloads import entry_tokens

            return entry_tokens(self.said, tokens, self.facts)
        from promptdsl.providers.tally import tally

        return tally(self.said, self.facts, tokens, self._passage)
