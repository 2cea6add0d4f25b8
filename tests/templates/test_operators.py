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
        ("{{ '%s' % () }}", "a format has fewer values than places\n  give more"),
        ("{{ '%s %s' % 'a' }}", "a format has fewer values than places\n  give more"),
        (
            "{{ '%s' % (1, 2) }}",
            "the format '%s' has more values than places\n  write a %s for each",
        ),
        ("{{ 'a' % 'b' }}", "the format 'a' has more values than places\n  write a %s for each"),
        (
            "{{ '%q' % 1 }}",
            "'%q' is not a place in a format\n  known: %s, %d, %f, %.2f, %e, %g, %x, %%",
        ),
        (
            "{{ '%*d' % (1, 2) }}",
            "'%*' is not a place in a format\n  known: %s, %d, %f, %.2f, %e, %g, %x, %%",
        ),
        (
            "{{ '%r' % 'a' }}",
            "'%r' is not a place in a format\n  known: %s, %d, %f, %.2f, %e, %g, %x, %%",
        ),
        (
            "{{ '%' % 1 }}",
            "'%' is not a place in a format\n  known: %s, %d, %f, %.2f, %e, %g, %x, %%",
        ),
        ("{{ '%d' % 'a' }}", "str is no number, which a format asks for\n  write %s for text"),
        ("{{ '%d' % true }}", "bool is no number, which a format asks for\n  write %s for text"),
        (
            "{{ ('%(' * 999999) % 1 }}",
            "'%(' is not a place in a format\n  known: %s, %d, %f, %.2f, %e, %g, %x, %%",
        ),
        ("{{ '%(a)s' % {} }}", "KeyError: 'a'\n  check what it is given"),
    ],
)
def test_what_is_no_format(template: str, expected: str) -> None:
    """A format that is wrong is an error that says how."""
    assert f"the template, line 1: {expected}" == fault(template)
