"""Which counter it is: by the name of a model, by what is known of a target, or a given one."""

from functools import lru_cache

from promptdsl.errors import OptionError
from promptdsl.models import ModelFacts, facts_for
from promptdsl.sources import author
from promptdsl.tokens.counting import EXACT, GivenCounter, Tokens
from promptdsl.tokens.encoders import ESTIMATING
from promptdsl.tokens.estimating import EncodedTokens, assumed, estimate
from promptdsl.tokens.given import given_tokens


def counter(model: str | None = None) -> Tokens:
    """Return the counter of a model, by its name; without one, of no model in particular.

    It is exact where the model's encoding is public, else an estimate whose label says how it is
    made. Nothing is loaded before the first text is counted, and nothing is ever fetched: a text
    raises :class:`TokenizerError` where the encoding is not here, what is no name
    :class:`OptionError`.
    """
    if not (model is None or isinstance(model, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError(f"model={model!r}", fix="give the name of a model", at=(author(),))
    return tokens_for(facts_for(model, None))


def tokens_for(facts: ModelFacts, given: GivenCounter | None = None) -> Tokens:
    """Return what counts for a target: what is given, else what is known of its model.

    Raises :class:`OptionError` for what cannot count.
    """
    if isinstance(given, Tokens):
        return given
    if given is not None:
        return given_tokens(given)
    return _known_tokens(facts)


@lru_cache(maxsize=1024)
def _known_tokens(facts: ModelFacts) -> Tokens:
    if facts.encoding is not None:
        return EncodedTokens(facts.encoding, EXACT)
    if facts.token_factors is not None:
        return EncodedTokens(ESTIMATING, estimate(facts.token_factors), facts.token_factors)
    return EncodedTokens(ESTIMATING, assumed(facts))
