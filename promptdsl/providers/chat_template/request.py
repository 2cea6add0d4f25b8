"""A request for a chat template while it is being written."""

import re

import attrs

from promptdsl.providers.chat_template.abilities import CAREFUL, Abilities
from promptdsl.providers.chat_template.control_tokens import control_tokens, neutralised
from promptdsl.providers.shared.clean import utf8
from promptdsl.providers.shared.two_sided import Turns

ORIGIN = "chat_template"


@attrs.define(eq=False)
class Templated(Turns):
    """A request of two sides, and what its template can say."""

    abilities: Abilities = attrs.field(default=CAREFUL, kw_only=True)
    tokens: re.Pattern[str] = attrs.field(factory=lambda: control_tokens(None), kw_only=True)
    given: dict[str, str] = attrs.field(factory=dict[str, str])
    """By the id of a call here, the one it was given."""

    def harmless(self, text: str) -> str:
        """Return a text whose control tokens are broken, with U+FFFD for lone surrogates."""
        return neutralised(utf8(text), self.tokens)
