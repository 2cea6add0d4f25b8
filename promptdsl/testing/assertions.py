"""Assertions on rendered prompts: a failure shows the text, and the line that wrote it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import groupby

import attrs

from promptdsl import (
    ContentError,
    OptionError,
    PendingToolCalls,
    Rendered,
    Source,
    Span,
    decode,
    prefix_report,
)
from promptdsl.checking import Checker, CheckSettings
from promptdsl.comparing.canonical import prompt_file
from promptdsl.comparing.text import failure_text
from promptdsl.foundation.errors import counted, nearest, with_article
from promptdsl.foundation.source import author, public_api
from promptdsl.foundation.unicode import on_one_line, visible

# The assertions: each raises an ``AssertionError`` if a rendered prompt is not as expected.

MAX_LISTED = 5
"""The maximum number of sections, or of dropped parts, that a failure lists."""
KINDS = ("content", "role", "hint")
"""The kinds of losses."""


@public_api
def assert_fits(rendered: Rendered, tokens: int) -> None:
    """Fail if a prompt has more tokens than this; the failure lists its largest sections.

    Tokens are counted as in ``rendered.tokens``, for the model of the prompt. Like all these
    assertions, it raises :class:`ContentError` for anything but the result of :func:`render`, and
    :class:`OptionError` for a wrong option.
    >>> from promptdsl import System, Timeline, User, render
    >>> from promptdsl.testing import assert_fits
    >>> rendered = render(Timeline(System("Be brief."), User("Hi.")), model="gpt-5")
    >>> assert_fits(rendered, tokens=100)
    """
    __tracebackhide__ = True
    _check("assert_fits", rendered)
    _require(
        type(tokens) is int and tokens >= 0, f"tokens is {tokens!r}", "give a number, such as 8_000"
    )
    total = rendered.tokens.total
    if total > tokens:
        sentence = f"{total:,} tokens are {total - tokens:,} more than {tokens:,}: "
        raise AssertionError(
            "\n".join([sentence + rendered.tokens.label, *_largest_sections(rendered)])
        )


@public_api
def assert_section(
    rendered: Rendered,
    address: str,
    *,
    contains: str | Iterable[str] = (),
    before: str | None = None,
) -> None:
    """Fail if a prompt has no section or turn with this address, such as ``rules/tone``.

    ``contains`` is a text that the section must have, or several texts. They are compared with what
    is sent, in which values are encoded. ``before`` is the address of a section or turn that must
    come later.

    >>> from promptdsl import Section, System, Value, render
    >>> from promptdsl.testing import assert_section
    >>> role = Section("role", "You help ", Value("<Ann>"), ".")
    >>> rendered = render(System(role, Section("rules", "Obey.")))
    >>> assert_section(rendered, "role", contains="You help", before="rules")
    """
    __tracebackhide__ = True
    _check("assert_section", rendered)
    _check_address("address", address)
    if before is not None:
        _check_address("before", before)
        _require(before != address, f"before is {before!r} itself", "give another address")
    expected_texts = _texts("contains", contains)
    spans = _spans_of(rendered, address)
    text = _text(spans)
    for expected_text in expected_texts:
        if expected_text not in text:
            advice = ""
            if expected_text in decode(text):
                value_span = next(
                    (span for span in spans if expected_text in decode(span.text)), None
                )
                encoded = f": {_quoted(value_span.text)}" if value_span else ""
                advice = f"\n  it has this text in a value, and values are sent encoded{encoded}"
            problem = f"{address!r} does not contain {_quoted(expected_text)}{advice}"
            raise AssertionError(f"{problem}\n{_quoted_lines(spans)}")
    if before is not None:
        later = _spans_of(rendered, before)
        if _location(spans[0]) >= _location(later[0]):
            raise AssertionError(
                f"{address!r} comes after {before!r}, not before it\n"
                f"  {_line(later)}: {before}\n  {_line(spans)}: {address}"
            )


@public_api
def assert_no_section(rendered: Rendered, address: str) -> None:
    """Fail if a prompt has a section or turn with this address; the failure shows its text.

    >>> from promptdsl import Section, System, render
    >>> from promptdsl.testing import assert_no_section
    >>> assert_no_section(render(System(Section("role", "You help."))), "upsell")
    """
    __tracebackhide__ = True
    _check("assert_no_section", rendered)
    _check_address("address", address)
    spans = [span for span in rendered.spans() if _is_at(span, address)]
    if spans:
        raise AssertionError(f"the prompt has {address!r}\n{_quoted_lines(spans)}")


@public_api
def assert_no_losses(rendered: Rendered, *, kinds: Iterable[str] = ("content", "role")) -> None:
    """Fail if the model does not accept some content; the failure lists each loss with its line.

    ``kinds`` are the kinds of losses that fail: ``content``, ``role`` or ``hint``, as in
    :class:`Loss`. Raises :class:`OptionError` for any other kind.

    >>> from promptdsl import User, render
    >>> from promptdsl.testing import assert_no_losses
    >>> assert_no_losses(render(User("Hi.", name="Ada"), model="claude-opus-4-5"))
    """
    __tracebackhide__ = True
    _check("assert_no_losses", rendered)
    chosen_kinds = _texts("kinds", kinds)
    for kind in chosen_kinds:
        _require(kind in KINDS, f"{kind!r} is not a kind of loss", nearest(kind, KINDS))
    losses = [loss for loss in rendered.losses if loss.kind in chosen_kinds]
    hints = rendered.hints if "hint" in chosen_kinds else ()
    if losses or hints:
        counts = [counted(len(losses), "loss", "losses")] if losses else []
        counts += [counted(len(hints), "hint", "hints")] if hints else []
        count = " and ".join(counts)
        target = rendered.facts.model or rendered.facts.provider or "no target"
        raise AssertionError(
            "\n".join([f"{count} for {target}", *(f"  {loss}" for loss in (*losses, *hints))])
        )


@public_api
def assert_prefix_stable(before: Rendered, after: Rendered, *, min_share: float = 1.0) -> None:
    """Fail if a later prompt begins with too few tokens of an earlier prompt.

    A provider can read only this beginning from its cache. ``min_share`` is the smallest allowed
    share of the earlier prompt's tokens, from 0 to 1. With 1, the later prompt must begin with the
    complete earlier prompt. Raises :class:`TargetError` for two different models: they share no
    cache.

    >>> from promptdsl import Assistant, System, Timeline, User, render
    >>> from promptdsl.testing import assert_prefix_stable
    >>> turns = System("Be brief."), User("Hi.")
    >>> first = render(Timeline(*turns), model="gpt-5")
    >>> second = render(Timeline(*turns, Assistant("Hello."), User("Why?")), model="gpt-5")
    >>> assert_prefix_stable(first, second)
    """
    __tracebackhide__ = True
    _check("assert_prefix_stable", before, after)
    is_number = isinstance(min_share, int | float)  # pyright: ignore[reportUnnecessaryIsInstance]
    is_share = is_number and 0 <= min_share <= 1
    _require(is_share, f"min_share is {min_share!r}", "give a share from 0 to 1, such as 0.9")
    report = prefix_report(before, after)
    share = report.shared / report.before if report.before else 1.0
    if report.extends or share >= min_share:
        return
    raise AssertionError(
        f"the later prompt begins with only {report.shared:,} of {report.before:,} tokens of the "
        f"earlier prompt ({share:.1%}), not with at least {min_share:.0%}\n"
        f"  the shared prefix ends where {report.first}\n"
        f"  {report.behind:,} of {report.after:,} tokens of the later prompt come after it"
    )


@public_api
def assert_same_prompt(a: Rendered, b: Rendered) -> None:
    r"""Fail if two prompts do not send the same; the failure shows all differences.

    If both prompts are for the same provider, their payloads are compared; else their messages,
    tools, tool choice and output schema. Source lines, ids of messages and metadata may differ.

    >>> from promptdsl import Section, System, render
    >>> from promptdsl.testing import assert_same_prompt
    >>> parts = Section("role", "You help."), Section("rules", "Be brief.")
    >>> assert_same_prompt(render(System(*parts)), render(System("You help.\n\nBe brief.")))
    """
    __tracebackhide__ = True
    _check("assert_same_prompt", a, b)
    is_target = a.facts.provider is not None and a.facts.provider == b.facts.provider
    if _compared_content(a, for_target=is_target) != _compared_content(b, for_target=is_target):
        files = [attrs.evolve(prompt_file(rendered), header=()) for rendered in (a, b)]
        changed = (
            failure_text(*files) or "only content that snapshots leave out, such as a Volatile"
        )
        raise AssertionError(f"{_first_lines(a, b)}{changed}")


@public_api
def _check(assertion: str, *prompts: object) -> None:
    """Raise :class:`ContentError` if an argument is not rendered: its tokens depend on a model."""
    for rendered in prompts:
        if not isinstance(rendered, Rendered):
            raise ContentError(
                f"{assertion}() takes the result of render(), not {kind_of(rendered)}",
                fix=f"render it first: {assertion}(render(prompt, model=...), ...)",
                at=(author(),),
            )


def kind_of(argument: object) -> str:
    """Return the type of a wrong argument, in the words of authors."""
    name = type(argument).__name__
    return {"RootNode": "a Timeline", "TurnNode": "a turn"}.get(name, with_article(name))


@public_api
def _require(is_right: bool, what: str, fix: str) -> None:
    if not is_right:
        raise OptionError(what, fix=fix, at=(author(),))


@public_api
def _check_address(name: str, address: object) -> None:
    """Raise :class:`OptionError` for a wrong address: no section can have it."""
    is_address = isinstance(address, str) and bool(address) and not address.endswith("/")
    fix = "give the address of a section or turn, such as 'rules/tone' or 'user[0]'"
    _require(is_address, f"{name} is {address!r}", fix)


@public_api
def _texts(name: str, argument: str | Iterable[str]) -> list[str]:
    elements = [argument] if isinstance(argument, str) else argument
    fix = "give a text, or several in a list"
    is_many = isinstance(elements, Iterable)  # pyright: ignore[reportUnnecessaryIsInstance]
    _require(is_many, f"{name} is {argument!r}", fix)
    texts = list(elements)
    for text in texts:
        is_text = isinstance(text, str)  # pyright: ignore[reportUnnecessaryIsInstance]
        _require(is_text, f"{name} is {text!r}", fix)
    return texts


def _largest_sections(rendered: Rendered) -> Iterator[str]:
    """Yield the tokens of the largest sections and turns, each with its source line."""
    tokens: Counter[str] = Counter({"tools": rendered.tokens.tools})
    lines: dict[str, Source | None] = {}
    for span, count in zip(rendered.spans(), rendered.tokens.spans, strict=True):
        tokens[span.address] += count
        lines.setdefault(span.address, span.source)
    largest = [(address, count) for address, count in tokens.most_common(MAX_LISTED) if count]
    for address, count in largest:
        line = lines.get(address)
        yield f"  {count:,} {address}" + (f": {line}" if line else "")
    rest = rendered.tokens.total - sum(count for _, count in largest)
    yield f"  {rest:,} in other parts, and around the parts"


def _is_at(span: Span, address: str) -> bool:
    return span.address == address or span.address.startswith(f"{address}/")


def _spans_of(rendered: Rendered, address: str) -> list[Span]:
    """Return the spans of a section or turn, and of the sections in it; fail if there are none."""
    __tracebackhide__ = True
    spans = rendered.spans()
    matches = [span for span in spans if _is_at(span, address)]
    if not matches:
        addresses = dict.fromkeys(span.address for span in spans)
        dropped_lines = [
            f"\n  dropped: {dropped.what}, {dropped.why}: {dropped.source}"
            for dropped in rendered.dropped
        ]
        advice = nearest(address, addresses) if addresses else "the prompt is empty"
        raise AssertionError(
            f"the prompt has no section or turn {address!r}: {advice}"
            + "".join(dropped_lines[:MAX_LISTED])
        )
    return matches


def _location(span: Span) -> tuple[int, int, int, int]:
    return span.message, span.block, span.inner or 0, span.start


def _text(spans: Sequence[Span]) -> str:
    """Return the text of spans, with an empty line between blocks."""
    blocks = groupby(spans, key=lambda span: (span.message, span.block, span.inner))
    return "\n\n".join("".join(span.text for span in block) for _, block in blocks)


def _quoted_lines(spans: Sequence[Span]) -> str:
    lines = "".join(f"\n  | {line}" for line in visible(_text(spans)).split("\n"))
    return f"  {_line(spans)}:{lines}"


def _line(spans: Sequence[Span]) -> Source | str:
    """Return the source line of a section: that of the first span that has one."""
    return next((span.source for span in spans if span.source), "an unknown line")


def _quoted(text: str) -> str:
    return f"'{on_one_line(text)}'" if "'" not in text else repr(text)


def _compared_content(rendered: Rendered, *, for_target: bool) -> object:
    """Return what is compared: with ``for_target`` the payload, else messages, tools and output."""
    if for_target:
        with suppress(PendingToolCalls):
            return rendered._payload()
    messages = [(message.role, message.name, message.content) for message in rendered.messages]
    return messages, rendered.tools, rendered.tool_choice, rendered.output


def _first_lines(a: Rendered, b: Rendered) -> str:
    """Return the source lines of the first different text of two prompts; ``""`` without one."""
    for index in range(max(len(a.messages), len(b.messages))):
        texts = [_text(_of_message(rendered, index)) for rendered in (a, b)]
        if texts[0] != texts[1]:
            pairs = enumerate(zip(*texts, strict=False))
            offset = next((at for at, (x, y) in pairs if x != y), min(map(len, texts)))
            locations = [_source_of_character(rendered, index, offset) for rendered in (a, b)]
            return f"the prompts differ first in\n  - {locations[0]}\n  + {locations[1]}\n\n"
    return ""


def _of_message(rendered: Rendered, index: int) -> list[Span]:
    return [span for span in rendered.spans() if span.message == index]


def _source_of_character(rendered: Rendered, index: int, offset: int) -> str:
    """Return the address and the source line of a character in a message, or of its last one."""
    last, position, block = None, 0, 0
    for last in _of_message(rendered, index):
        position += len(last.text) + 2 * (last.block > block)  # a blank line is between blocks
        block = last.block
        if position > offset:
            break
    return f"{last.address}: {last.source}" if last else f"no message {index}"


# The assertion that a prompt has no findings of ``promptdsl check``.


def assert_checked(
    *prompts: Rendered, select: Iterable[str] = (), ignore: Iterable[str] = ()
) -> None:
    """Fail if a rule of ``promptdsl check`` finds a problem in a prompt; the failure lists all.

    The settings are those of the nearest ``pyproject.toml``. ``select`` replaces the rules there,
    and ``ignore`` leaves out more rules; both are ids of rules, or beginnings of ids. Raises
    :class:`ContentError` for anything but the result of :func:`render`, and :class:`ConfigError`
    for an unknown rule.

    >>> from promptdsl import System, render
    >>> from promptdsl.testing import assert_checked
    >>> assert_checked(render(System("You help customers.")))
    """
    __tracebackhide__ = True
    for prompt in prompts:
        if not isinstance(prompt, Rendered):  # pyright: ignore[reportUnnecessaryIsInstance]
            problem = f"assert_checked() takes the result of render(), not {type(prompt).__name__}"
            raise ContentError(problem, fix="render the prompt first", at=(author(),))
    checker = Checker(_settings().changed(select=select, ignore=ignore))
    for prompt in prompts:
        checker.prompt(prompt)
    if findings := checker.report().findings:
        raise AssertionError("\n".join(map(str, findings)))


@cache
def _settings() -> CheckSettings:
    return CheckSettings.near()
