"""What a chat template can say, as far as messages are folded by it."""

import attrs


@attrs.frozen
class Abilities:
    """What survives a template. The defaults are the most careful: what hardly any template drops.

    They are the safe form for a template that is not known: one leading system message, turns in
    strict alternation, one call at a time with an id of nine letters and digits.
    """

    system: bool = True
    """Whether a leading system message stands in every later request, before what follows it."""
    assistant_first: bool = False
    """Whether the conversation may begin with the model's turn."""
    no_user: bool = False
    """Whether a request may go without a user's turn."""
    user_behind_result: bool = False
    """Whether a user's turn may follow a tool's result; else turns alternate, calls aside."""
    lists: bool = False
    """Whether every content has to be a list of parts."""
    media: frozenset[str] = frozenset()
    """The types of parts that are shown between texts: ``image``, ``image_url``, ``audio``, ..."""
    tools: bool = True
    """Whether definitions of tools are shown."""
    tools_list: bool = False
    """Whether tools have to be a list when there are none."""
    calls: bool = True
    """Whether a call and its result are shown."""
    mapping: bool = True
    """Whether the arguments of a call are a mapping; else they are JSON text."""
    parallel: bool = False
    """Whether a turn may hold several calls."""
    beside: bool = True
    """Whether text beside a call is shown, before it."""
    short_ids: bool = True
    """Whether an id has to be nine letters and digits."""
    reasoning: bool = True
    """Whether what was thought before a call is shown."""
    tag_keys: bool = False
    """Whether the names of arguments are tags, or in tags."""
    tag_names: bool = False
    """Whether the name of a tool that is called is in a tag."""
    described: bool = False
    """Whether every argument has to have a description."""
    answers: bool = True
    """Whether what was thought before an answer is shown once a user spoke again."""
    rounds: bool = True
    """Whether what was thought before a call is shown once a user spoke again."""
    reasoning_beside: bool = True
    """Whether it is shown when there is text beside the call, too."""


CAREFUL = Abilities()
"""What is assumed of a template that is not known."""
