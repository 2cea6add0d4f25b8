"""Operators and formats of templates."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.templates.rendered import fault, in_full, pieces


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ 1 + 2 }}", "3"),
        ("{{ 5 - 2 }}", "3"),
        ("{{ 2 * 3 }}", "6"),
        ("{{ 7 / 2 }}", "3.5"),
        ("{{ 7 // 2 }}", "3"),
        ("{{ 7 % 4 }}", "3"),
        ("{{ 2 ** 10 }}", "1024"),
        ("{{ 2 ** 0.5 }}", str(2**0.5)),
        ("{{ 'a' + 'b' }}", "ab"),
        ("{{ 'ab' * 2 }}", "abab"),
        ("{{ ([1] + [2])|join }}", "12"),
        ("{{ ((1,) + (2,))|join }}", "12"),
        ("{{ ([1] * 2)|join }}", "11"),
        ("{{ (2 * (1,))|join }}", "11"),
        ("{{ -1 }}{{ +1 }}", "-11"),
        ("{{ 'a' ~ 1 ~ 1.5 }}", "a11.5"),
        ("{{ x + 1 }}", "2.5"),
        ("{{ x ** 2 }}", "2.25"),
        ("{{ 'yes' if 1 < 2 <= 2 and not (3 in [1]) else 'no' }}", "yes"),
    ],
)
def test_operators(template: str, expected: str) -> None:
    """Operators do what they do in Python."""
    assert expected == in_full(pieces(template, x=Decimal("1.5")))


FORMATS = (
    ("%s", "a"),
    ("%s%s", ("a", 1)),
    ("%5s|%-5s|%.1s", ("ab", "ab", "ab")),
    ("%d %i %+d %05d % d %x %X %#o", (1, 2, 3, 4, 5, 255, 255, 8)),
    ("%f %.2f %F %e %E %g %G", (1.5,) * 7),
    ("%ld %hd", (1, 2)),
    ("%.f", 1.5),
    ("100%%", ()),
    ("%(a)s %(b)d", {"a": "x", "b": 1}),
    ("nothing", {"a": 1}),
)


@pytest.mark.parametrize(("template", "values"), FORMATS)
def test_formats(template: str, values: object) -> None:
    """A format does what it does in Python."""
    shown = repr(values) if isinstance(values, tuple) else "x"
    assert template % values == in_full(pieces(f"{{{{ f % {shown} }}}}", f=template, x=values))


@given(
    flags=st.text("#0- +", max_size=3),
    size=st.tuples(st.integers(1, 99), st.integers(0, 20)),
    kind=st.sampled_from("difFeEgGxXo"),
    number=st.integers(),
)
def test_any_format(flags: str, size: tuple[int, int], kind: str, number: int) -> None:
    """Any number in any format is what it is in Python."""
    template = f"<%{flags}{size[0]}.{size[1]}{kind}>"
    assert template % number == in_full(pieces("{{ f % x }}", f=template, x=number))


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ '%s' % () }}", "TypeError: not enough arguments for format string"),
        ("{{ '%s %s' % 'a' }}", "TypeError: not enough arguments for format string"),
        ("{{ '%s' % (1, 2) }}", "TypeError: not all arguments converted"),
        ("{{ '%q' % 1 }}", "ValueError: unsupported format character 'q'"),
        ("{{ '%' % 1 }}", "ValueError: incomplete format"),
        ("{{ '%d' % 'a' }}", "TypeError: %d format: a real number is required, not str"),
        ("{{ '%(a)s' % {} }}", "KeyError: 'a'\n  check the variables"),
        ("{{ '%s' % none }}", "a value is None, which is not text\n  write the text for it"),
        ("{{ '%d' % true }}", "a value is True, which is not text\n  write the text for it"),
        ("{{ '%s %s' % (1, [2]) }}", "a value is a list, which is not text\n  write "),
        (
            "{{ '%(a)s' % {'a': none} }}",
            "a value is None, which is not text\n  write the text for ",
        ),
        ("{{ '%s'|format(none) }}", "a value is None, which is not text\n  write the text for it"),
        ("{{ '%s'|format(nope) }}", "'nope' is undefined"),
    ],
)
def test_what_is_no_format(template: str, expected: str) -> None:
    """A format that is wrong, or given a value that is not text, is an error with its line."""
    assert fault(template).startswith(f"the template, line 1: {expected}")
