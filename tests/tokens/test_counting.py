"""How many tokens a text is, and what is said of how sure that is."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiktoken import Encoding

from promptdsl import ContentError, ModelFacts, OptionError, register_model
from promptdsl.tokens import Count, counter
from tests.errors import lines_of, raised
from tests.folding import failures, unequal
from tests.hostile import HOSTILE
from tests.internals import FORCED_CUT, TokenFactors, Tokens, encoder, facts_for, tokens_for
from tests.tokens.texts import HOSTILE_RUNS, SCRIPTS, texts

ROOT = Path(__file__).resolve().parents[2]
NO_MODEL = ModelFacts()
some_encodings = pytest.mark.parametrize(
    "name", ["o200k_base", "cl100k_base", pytest.param("o200k_harmony", marks=pytest.mark.slow)]
)
every_encoding = pytest.mark.parametrize("name", ["o200k_base", "cl100k_base", "o200k_harmony"])
Tiktokens = Callable[[str], Encoding]


def by(given: Any) -> Tokens:
    """Return what counts with a given counter."""
    return tokens_for(NO_MODEL, given)


def exactly(name: str) -> Tokens:
    """Return what counts in an encoding."""
    return tokens_for(ModelFacts(encoding=name))


# Exact counts.


def texts_of(messages: list[dict[str, Any]]) -> list[str]:
    """Return the texts of a recorded conversation, with what its calls are given."""
    held: list[str] = []
    for message in messages:
        held.append(message.get("content") or "")
        held += [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
    return held


def miscounted(recorded: dict[str, list[dict[str, Any]]], name: str, known: Encoding) -> list[str]:
    """Return where the texts of conversations, and all of one in one, are not tiktoken's count."""

    def wrong(conversation: str) -> str:
        tokens = exactly(name)
        held = texts_of(recorded[conversation])
        whole = [*held, "".join(held)]
        expected = [len(known.encode(text, disallowed_special=())) for text in whole]
        return unequal(expected, [*map(tokens.of, held), tokens.joined(held)])

    return failures(recorded, wrong)


@some_encodings
def test_some_recorded_texts_count_as_tiktoken_counts(
    name: str, recorded: dict[str, list[dict[str, Any]]], tiktokens: Tiktokens
) -> None:
    """The texts of the shortest conversation, and all of them in one, are tiktoken's count."""
    shortest = min(recorded, key=lambda key: len(recorded[key]))
    assert [] == miscounted({shortest: recorded[shortest]}, name, tiktokens(name))


@pytest.mark.slow
@every_encoding
def test_recorded_texts_count_as_tiktoken_counts(
    name: str, recorded: dict[str, list[dict[str, Any]]], tiktokens: Tiktokens
) -> None:
    """Every text of every recorded conversation, and all of them in one, are tiktoken's count."""
    assert [] == miscounted(recorded, name, tiktokens(name))


@some_encodings
def test_texts_count_as_tiktoken_counts(name: str, tiktokens: Tiktokens) -> None:
    """Texts of many scripts and hostile ones are tiktoken's count."""
    texts, encode = [*SCRIPTS, *HOSTILE], tiktokens(name).encode
    expected = [Count(len(encode(text, disallowed_special=())), "exact") for text in texts]
    assert expected == [exactly(name).count(text) for text in texts]


@given(st.sampled_from(["o200k_base", "cl100k_base"]), st.lists(texts, max_size=6))
def test_any_texts_are_joined_exactly(name: str, parts: list[str]) -> None:
    """The tokens of parts one behind the other are those of the whole."""
    whole = encoder(name).measured("".join(parts))
    assert whole == encoder(name).joined(parts)


@given(st.lists(st.sampled_from((*SCRIPTS, *HOSTILE)), max_size=6))
def test_any_long_texts_are_joined_exactly(parts: list[str]) -> None:
    """Long texts, whose middles are not counted again, are joined exactly, too."""
    assert encoder("o200k_base").measured("".join(parts)) == encoder("o200k_base").joined(parts)


@pytest.mark.parametrize("unit", ["word ", "Съешь же ещё\n", "a, b; c?\r\n", "中文 "])
def test_a_long_text_is_counted_exactly(unit: str, tiktokens: Tiktokens) -> None:
    """A text that is counted piece by piece is tiktoken's count."""
    text = unit * (450_000 // len(unit))
    expected = len(tiktokens("o200k_base").encode(text, disallowed_special=()))
    assert Count(expected, "exact") == counter("gpt-4o").count(text)


@pytest.mark.slow
def test_a_text_that_had_to_be_cut_is_no_longer_exact() -> None:
    """White space beyond what the pattern has room for is counted in pieces, and that is said."""
    count = counter("gpt-4o").count(" " * (FORCED_CUT + 1))
    assert Count(7033, "estimate (o200k_base, in pieces)") == count


# Hostile texts, and how long they take.


@pytest.mark.parametrize("few", [2_500, pytest.param(50_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("run", HOSTILE_RUNS, ids=repr)
@pytest.mark.parametrize(
    "name", ["o200k_base", pytest.param("cl100k_base", marks=pytest.mark.slow)]
)
def test_a_hostile_text_takes_no_longer_than_it_is_long(name: str, run: str, few: int) -> None:
    """Eight times as many letters take about eight times as long, not sixty-four."""
    _ = encoder(name).measured(run)
    short, long = (seconds(name, (run * size)[:size]) for size in (few, 8 * few))
    assert long < 30 * short + 0.05


def seconds(name: str, text: str) -> float:
    """Return the least of three times that counting a text takes."""

    def once() -> float:
        start = process_time()
        encoder(name).measured(text)
        return process_time() - start

    return min(once() for _ in range(3))


def test_what_was_counted_is_not_counted_again() -> None:
    """Counting texts again takes less than a twentieth of the time."""
    told = [f"{number}: " + " ".join(SCRIPTS) for number in range(200)]
    tokens = counter("gpt-4o")
    first, again = (timed(tokens, told) for _ in range(2))
    assert again < first / 20


def timed(tokens: Tokens, told: list[str]) -> float:
    """Return the time that counting texts takes."""
    start = process_time()
    _ = [tokens.of(text) for text in told]
    return process_time() - start


def test_threads_count_the_same() -> None:
    """Many threads that count at once, and load the encoding at once, get the same counts."""
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: [*map(counter("gpt-4").of, SCRIPTS)], range(16)))
    assert [found[0]] * 16 == found


# Estimates.


def test_estimates_multiply_and_round_up() -> None:
    """Of 3 ASCII tokens 1.6 is 4.8, which is 5; what is usual stands beside it."""
    label = "estimate (o200k_base x 1.6, usually 7% too much; other scripts x 2.2, 26%)"
    assert Count(5, label, 5) == counter("claude-opus-5-5").count("one two three")
    assert 3 == counter("gpt-4o").of("one two three")


def test_other_scripts_count_more() -> None:
    """A token that is not ASCII counts as other scripts do, wherever it stands."""
    tokens = counter("claude-opus-5-5")
    assert [5, 7, 12] == [
        *map(tokens.of, ("one two three", "да нет да", "one two three да нет да"))
    ]
    assert (3, 3, 6) == (
        counter("gpt-4o").of("one two three"),
        counter("gpt-4o").of("да нет да"),
        counter("gpt-4o").of("one two three да нет да"),
    )


@given(texts, st.sampled_from(["claude-opus-5-5", "claude-3-haiku", "gemini-3-pro", "llama"]))
def test_any_text_counts_between_ascii_and_other_scripts(text: str, model: str) -> None:
    """No text counts less than if it were ASCII, or more than if none of it were."""
    factors = facts_for(model, None).token_factors or TokenFactors(1, 1, 1, 1)
    bare, estimated = counter("gpt-4o").of(text), counter(model)
    least, most = (factor * bare for factor in (factors.must_fit, factors.other_must_fit))
    assert ceil(least - 1e-6) <= estimated.of(text) <= ceil(most)
    assert estimated.typical(text) <= estimated.of(text)


@given(st.lists(texts, max_size=4))
def test_any_estimate_is_joined_as_it_is_counted(parts: list[str]) -> None:
    """An estimate of parts one behind the other is that of the whole."""
    tokens = counter("claude-opus-5-5")
    assert tokens.measured("".join(parts)) == tokens.joined(parts)


# What is said of it.


@pytest.mark.parametrize(
    ("model", "label"),
    [
        ("gpt-4o", "exact"),
        ("gpt-4-turbo", "exact"),
        ("gpt-oss-20b", "exact"),
        ("gpt-9", "estimate (o200k_base, assumed for 'gpt-9')"),
        ("gemini-3-pro", "estimate (o200k_base x 1.3, usually 13% too much)"),
        (
            "claude-sonnet-4-5",
            "estimate (o200k_base x 1.35, usually 8% too much; other scripts x 2.15, 43%)",
        ),
        (
            "some-open-model",
            "estimate (o200k_base x 1.15, usually 10% too much; other scripts x 2.2, 83%)",
        ),
        (None, "estimate (o200k_base, without a model; up to 36% too few for some)"),
    ],
)
def test_labels(model: str | None, label: str) -> None:
    """A count is exact where the model and its encoding are known, else says how it is made."""
    assert (label, label) == (counter(model).label, counter(model).count("text").label)


def test_what_is_no_name_has_no_counter() -> None:
    """A counter is asked for by a name, at your line."""

    def ask() -> object:
        return counter(5)  # type: ignore[arg-type]

    error = raised(OptionError, ask)
    assert ("model=5", lines_of(ask, 1)) == (error.what, error.at)


def test_the_label_of_a_provider_without_a_model() -> None:
    """Without a model of OpenAI its newest encoding is assumed."""
    tokens = tokens_for(facts_for(None, "openai_responses"))
    assert "estimate (o200k_base, assumed for no model of openai_responses)" == tokens.label


def test_a_registered_model_is_counted_as_it_says() -> None:
    """What a user registers of a model's counting holds at once."""
    with register_model("house", provider="openai_compatible", token_factors=(2, 3, 2, 3)):
        assert (9, 6) == (
            counter("house").of("one two three"),
            counter("house").typical("one two three"),
        )


def test_nothing_is_loaded_before_a_text_is_counted() -> None:
    """Asking for a counter and its label imports no tiktoken."""
    code = (
        "import promptdsl.tokens, sys\n"
        "promptdsl.tokens.counter('gpt-4o').label\n"
        "print('tiktoken' in sys.modules)\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "False\n" == done.stdout


# Counters of users.


class Words:
    """A counter that counts words, and says so."""

    def count(self, text: str) -> Count:
        """Return how many words a text has; usually there are two more."""
        return Count(len(text.split()), "words", len(text.split()) + 2)


class Letters:
    """A counter whose method returns a plain number."""

    def count(self, text: str) -> int:
        """Return how many letters a text has."""
        return len(text)

    def words(self, text: str) -> int:
        """Return how many words a text has."""
        return len(text.split())


def test_a_function_counts() -> None:
    """A plain function from a text to a number is a counter, which is not taken for exact."""
    assert Count(4, "estimate (by the counter given)") == by(len).count("text")
    assert (4, 4, 8) == (by(len).of("text"), by(len).typical("text"), by(len).joined(["text"] * 2))


def test_an_object_counts() -> None:
    """An object with the method is a counter, and says itself how sure it is."""
    tokens = by(Words())
    assert (2, 4, "words") == (tokens.of("two words"), tokens.typical("two words"), tokens.label)
    assert 4 == by(Letters()).of("text")


def test_a_counter_of_ours_is_taken_as_it_is() -> None:
    """What counter() returns can be given."""
    assert by(counter("gpt-4o")) is counter("gpt-4o")


def test_a_counter_is_asked_once() -> None:
    """A text that a counter has counted is remembered, whoever gives the counter again."""
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return 1

    _ = [by(count).of(text) for text in ("a", "b", "a", "b")]
    assert ["a", "b"] == asked


def test_a_method_is_asked_once() -> None:
    """The method of an object is the same counter each time it is given."""
    letters = Letters()
    assert by(letters.count) is by(letters.count)
    assert by(letters.count) is not by(Letters().count)


def test_two_methods_of_one_object_are_two_counters() -> None:
    """A second method of an object that counts is not taken for the first."""
    letters = Letters()
    assert (9, 2) == (by(letters.count).of("two words"), by(letters.words).of("two words"))


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (-1, "-1"),
        (True, "True"),
        (1.5, "1.5"),
        (None, "None"),
        ("5", "a str"),
        ([1], "a list"),
        (Count(-1, "exact"), "-1"),
        (Count(1, "estimate", -2), "-2"),
    ],
)
def test_what_a_counter_may_not_return(said: Any, shown: str) -> None:
    """What is no number of tokens is an error that names the counter, at your line."""

    def house(_: str) -> Any:
        return said

    def count() -> object:
        return by(house).of("text")

    error = raised(OptionError, count)
    assert f"the counter {house.__qualname__} returned {shown} for a text" == error.what
    assert "return the number of its tokens, a whole number, 0 or more" == error.fix


@pytest.mark.parametrize("given", ["gpt-4o", 5, ["a"], ("a",), b"x", object()])
def test_what_cannot_count(given: Any) -> None:
    """What is no counter is refused, a string or list too, whose count() counts something else."""
    error = raised(OptionError, lambda: by(given))
    assert f"counter={given!r} cannot count" == error.what


@pytest.mark.parametrize("tokens", [counter("gpt-4o"), by(len)])
def test_only_texts_are_counted(tokens: Tokens) -> None:
    """What is no text is an error at your line."""

    def count() -> object:
        return tokens.count(5)  # type: ignore[arg-type]

    error = raised(ContentError, count)
    assert ("a token counter takes a text, not int", lines_of(count, 1)) == (error.what, error.at)


class Shout(str):
    """A string of another class, which lies."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash("other")

    def __eq__(self, _: object) -> bool:
        return True


@pytest.mark.parametrize("tokens", [counter("gpt-4o"), by(len)])
def test_a_string_of_another_class_counts_as_its_text(tokens: Tokens) -> None:
    """A subclass of str counts as the text it holds, whatever it says of itself."""
    assert tokens.of("one two") == tokens.of(Shout("one two"))
