"""A request for a chat template while it is written, and the features of the template."""

import re

import attrs

from promptdsl.providers.chat_template.control_tokens import neutralised
from promptdsl.providers.shared.clean import utf8
from promptdsl.providers.shared.sent_locations import JoinedText
from promptdsl.providers.shared.two_sided import Turns

ORIGIN = "chat_template"


@attrs.frozen
class Abilities:
    """The features of a chat template.

    The defaults are for an unknown template, and almost every template accepts them: one leading
    system message, turns that alternate strictly, and one call in a turn, with an id of nine
    letters and digits.
    """

    system: bool = True
    """A leading system message is printed first, in every later request too."""
    no_user: bool = False
    """A request may have no user turn."""
    user_after_result: bool = False
    """A user turn may follow a tool result. Otherwise turns alternate; calls do not count."""
    lists: bool = False
    """Every content must be a list of parts."""
    media: frozenset[str] = frozenset()
    """The types of parts that are printed between texts: ``image``, ``image_url``, ``audio``..."""
    reply_media: frozenset[str] = frozenset()
    """The types of parts that are printed between texts in the model's turn, too."""
    tools: bool = True
    """Tool definitions are printed."""
    tools_list: bool = False
    """Without tools, an empty list must be given."""
    calls: bool = True
    """A call and its result are printed."""
    mapping: bool = True
    """The arguments of a call are a mapping. Otherwise they are JSON text."""
    parallel: bool = False
    """A turn may have several calls."""
    text_with_calls: bool = True
    """Text of a turn with calls is printed, before the calls."""
    short_ids: bool = True
    """An id must be nine letters and digits."""
    reasoning: bool = True
    """Reasoning before a call is printed."""
    tag_keys: bool = False
    """The names of arguments are printed as tags, or in tags."""
    tag_names: bool = False
    """The name of a called tool is printed in a tag."""
    described: bool = False
    """Every argument must have a description."""
    answers: bool = True
    """Reasoning before an answer is still printed after a later user turn."""
    rounds: bool = True
    """Reasoning before a call is still printed after a later user turn."""
    reasoning_with_text: bool = True
    """Reasoning before a call is also printed when the turn has text."""


@attrs.define(eq=False)
class Templated(Turns):
    """A request for a chat template, with the features and the control tokens of the template."""

    abilities: Abilities = attrs.field(kw_only=True)
    tokens: re.Pattern[str] = attrs.field(kw_only=True)
    prompt_ids: dict[str, str] = attrs.field(factory=dict[str, str])
    """The id in the prompt, by the id of a call in this request."""

    def harmless(self, text: str) -> str:
        """Return a text with broken control tokens, and U+FFFD for lone surrogates."""
        sent = neutralised(utf8(text), self.tokens)
        if isinstance(text, JoinedText):
            if sent == text:
                return text
            return text.with_insertions(sent, [m.end() for m in self.tokens.finditer(utf8(text))])
        return sent
