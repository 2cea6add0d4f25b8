"""Running a chat template."""

import locale
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from promptdsl import ChatTemplate, TemplateError
from tests.internals import formatted_time
from tests.internals import render_open_template as render_open
from tests.internals import render_template as render
from tests.providers.templates import TEMPLATES

ASK = {"role": "user", "content": "Hello."}
SAID = {"role": "assistant", "content": "Hi "}
NOON = datetime(2026, 11, 21, 12, 5)


def printed(source: str, *messages: dict[str, Any], **options: Any) -> str:
    """Return what a template prints of messages."""
    return render(ChatTemplate(source, **options), messages)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ messages[0].content }}", "Hello."),
        ("{{ messages[0]['role'] }}", "user"),
        ("{{ bos_token }}|{{ eos_token }}", "<s>|"),
        ("{{ add_generation_prompt }}", "True"),
        ("{{ tools is none }}{{ documents is none }}", "TrueTrue"),
        ("{{ depth }}", "3"),
        ("{{ {'a': '<é>'} | tojson }}", '{"a": "<é>"}'),
        ("{{ {'a': 'é'} | tojson(ensure_ascii=True) }}", '{"a": "\\u00e9"}'),
        ("{{ {'a': 1} | tojson(indent=1) }}", '{\n "a": 1\n}'),
        ("{% for m in [1, 2, 3] %}{% if m == 2 %}{% break %}{% endif %}{{ m }}{% endfor %}", "1"),
        ("{% generation %}a{% endgeneration %}b", "ab"),
        ("{% if true %}\n  a\n  {% endif %}\nb", "  a\nb"),
        ("{{ strftime_now is defined }}", "False"),
    ],
)
def test_language(source: str, expected: str) -> None:
    """Templates are run in the Jinja that they are written for."""
    assert expected == printed(source, ASK, bos_token="<s>", variables={"depth": 3})


def test_now() -> None:
    """A template is told the time that is given."""
    assert "21 Nov 2026" == printed("{{ strftime_now('%d %b %Y') }}", now=NOON)


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        ("%A, %B %d", "Saturday, November 21"),
        ("%a %b %h %p", "Sat Nov Nov PM"),
        ("%%A %Y-%m-%d %H:%M", "%A 2026-11-21 12:05"),
        ("%c", "Sat Nov 21 12:05:00 2026"),
        ("%x %X %Ex", "11/21/26 12:05:00 11/21/26"),
        ("%r %P", "12:05:00 PM pm"),
        ("%s", "1795262700"),
    ],
)
def test_clock(format: str, expected: str) -> None:
    """Days and months have English names, and a sign of percent is one."""
    assert expected == formatted_time(NOON, format)


def test_seconds() -> None:
    """A time with a zone is counted in it."""
    assert "1795259100" == formatted_time(NOON.replace(tzinfo=timezone(timedelta(hours=1))), "%s")


def test_morning() -> None:
    """Before noon it is morning."""
    assert "AM" == formatted_time(datetime(2026, 11, 21, 11, 59), "%p")


def test_clock_without_locale() -> None:
    """The locale of the machine changes no name."""
    before = locale.setlocale(locale.LC_TIME)
    locale.setlocale(locale.LC_TIME, "")
    assert "Sat Nov" == formatted_time(NOON, "%a %b")
    locale.setlocale(locale.LC_TIME, before)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{{ raise_exception('No system!') }}", "the chat template: No system!"),
        ("a\n{% if %}", "the chat template, line 2: Expected an expression"),
        ("{{ messages[7].content }}", "the chat template: list object has no element 7"),
        ("{{ ''.__class__.__mro__ }}", "access to attribute '__class__' of 'str' object is unsafe"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "it goes too deep"),
        ("{{ 1 + '' }}", "unsupported operand"),
    ],
)
def test_refusals(source: str, message: str) -> None:
    """What a template says, and what goes wrong in it, is told."""
    with pytest.raises(TemplateError, match="the chat template") as caught:
        printed(source, ASK)
    assert message in str(caught.value)


def test_no_time() -> None:
    """A template that cannot do without the time is refused, and the error says what to give."""
    with pytest.raises(TemplateError, match=r"asks for the time\n  .*now=datetime\(2026"):
        printed("{{ strftime_now('%Y') }}", ASK)


@pytest.mark.parametrize(
    ("source", "fix"),
    [
        ("{% if %}", "correct its Jinja, which transformers would refuse too"),
        (
            "{{ raise_exception('No!') }}",
            "write it in a way that the template takes, or use another template",
        ),
        ("{{ 'a' * 10**9 }}", "make it print less"),
        ("{{ 10**9 * [1] }}", "make it print less"),
        ("{% for a in range(9) %}{{ ('a' * 9)[0] * 20000000 }}{% endfor %}", "make it print less"),
        (
            "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
            "give it data that is nested less deeply",
        ),
    ],
)
def test_ways_out(source: str, fix: str) -> None:
    """An error says what can be done about it."""
    with pytest.raises(TemplateError) as caught:
        printed(source, ASK)
    assert fix == caught.value.fix


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ raise_exception }}", "<function raise_exception>"),
        ("{{ strftime_now }}", f"functools.partial(<function formatted_time>, {NOON!r})"),
        ("{{ messages[0].items }}", "<built-in method items of dict object>"),
        ("{{ [1] | map('string') }}", "<generator object sync_do_map>"),
        ("{{ lipsum is defined }} {{ nothing }}", "False "),
        ("{{ 3 * 4 }} {{ 'ab' * 2 }}", "12 abab"),
        ("{{ {'b': 1, 'a': 2} | tojson(false, none, (',', ':'), true) }}", '{"a":2,"b":1}'),
        ("{{ '\\ud800' }}", "\ufffd"),
    ],
)
def test_same_bytes(source: str, expected: str) -> None:
    """What differs from run to run is not printed, and all that is has a UTF-8 form."""
    assert expected == printed(source, ASK, now=NOON)


def test_no_random() -> None:
    """A template cannot choose at random."""
    with pytest.raises(TemplateError, match="No filter named 'random'"):
        printed("{{ [1, 2] | random }}", ASK)


@pytest.mark.parametrize(
    ("variables", "fix"),
    [({}, "give it more with variables="), ({"depth": 1}, "it has the variables depth")],
)
def test_variables_in_errors(variables: dict[str, Any], fix: str) -> None:
    """An error says what a template was given."""
    with pytest.raises(TemplateError) as caught:
        printed("{{ other.depth }}", variables=variables)
    assert fix == caught.value.fix


def test_inert() -> None:
    """A template changes neither the messages nor the variables it is given."""
    source = "{% set _ = messages[0].update(content='x') %}"
    with pytest.raises(TemplateError, match="unsafe"):
        printed(source, {**ASK})


def test_deep() -> None:
    """Deep data is written as JSON."""
    deep: list[Any] = []
    for _ in range(199):
        deep = [deep]
    text = printed("{{ messages[0].content | tojson }}", {"role": "user", "content": deep})
    assert "[" * 200 + "]" * 200 == text


def test_thoughts() -> None:
    """What was thought has the name of gpt-oss's template, too, as transformers gives it."""
    answer = {**SAID, "reasoning_content": "Hm."}
    assert "Hm. Hm." == printed(
        "{{ messages[0].thinking }} {{ messages[0].reasoning_content }}", answer
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "chatml",
            "<|im_start|>user\nHello.<|im_end|>\n<|im_start|>assistant\nHi ",
        ),
        (
            "gemma",
            "<bos><start_of_turn>user\nHello.<end_of_turn>\n<start_of_turn>model\nHi",
        ),
    ],
)
def test_continued(name: str, expected: str) -> None:
    """A last turn is open at its end; where the template trims, so is what is continued."""
    assert expected == render_open(TEMPLATES[name], [ASK, SAID])


def test_continued_parts() -> None:
    """The last text of a list of parts is continued."""
    parts = [{"type": "text", "text": "A"}, {"type": "text", "text": "B "}]
    messages = [{"role": "assistant", "content": parts}]
    assert "Assistant: A B " == render_open(TEMPLATES["vision"], messages)


def test_not_continued() -> None:
    """A turn that a template does not print is not continued."""
    assert None is render_open(ChatTemplate("nothing"), [ASK, SAID])
