"""The rules about files of Python: what is certain is found, and nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checking.looking import looked_at

Find = Callable[..., list[str]]

BUILT = [
    'def f(x): System(f"a {x}")',
    'def f(x): System("a %s" % x)',
    'def f(x): System("a " + x + ".")',
    'def f(x): System("a {}".format(x))',
    "def f(x): System(trusted(x))",
    'def f(x): Developer(f"{x}")',
    'def f(x): Timeline(Section("s", f"{x}"))',
    'def f(x): System(Section("s", "a", title=f"{x}"))',
    'def f(x): Event(f"{x}")',
    'def f(x: str): System(Section("s", Item(f"{x}")))',
    'def f(x: "str | None" = None): System(Text(f"{x}"))',
    'def f(x: dict[str, str]): System(f"{x[0]}")',
    'def f(x): System(dedent(f"""\n{x}\n""").strip())',
    'def f(x): System(f"{x.strip().lower()!r:>10}")',
    'def f(x):\n    text = f"a {x}"\n    System(text)',
    'def f(x):\n    name = x.title()\n    System(f"a {name}")',
    'def f(xs):\n    for x in xs: System(Item(f"a {x}"))',
    'def f(xs): System(*[Item(f"{x}") for x in xs])',
    'def f(xs): System("a " + ", ".join(xs))',
    'def f(x):\n    with Timeline(), System():\n        Heading(f"{x}")',
    'def f(x):\n    with System(), Section("a"), Section("b", f"{x}"):\n        Text("c")',
    'def f(x):\n    def g(): System(f"{x}")',
    'def f(x):\n    text = "a"\n    text += x\n    System(text)',
    'def f(x):\n    if x is not None: System(f"{x}")',
    'x = input()\nSystem(f"a {x}")',
    'import sys\nSystem(f"a {sys.argv[1]}")',
    'class A:\n    def f(self, x): System(f"{x}")',
    'import promptdsl as p\ndef f(x): p.System(f"{x}")',
    'from promptdsl import System as S\ndef f(x): S(f"{x}")',
    'def f(x):\n    text = "a"\n    text += "b"\n    text += x\n    System(text)',
    'def f(x): System("a", "b", f"c {x}")',
    'def f(x): System(Section("s", "a", priority=1, title=f"{x}"))',
    'def f(x, y: int): System(f"a {y} {x}")',
]
NOT_BUILT = [
    'System("a", "b" "c")',
    'A = "a"\nSystem(f"{A}", "x %s" % A, A + "b", "{}".format(A))',
    'from typing import Final\nA: Final = "a"\ndef f(): System(f"{A}")',
    'from .texts import A\nSystem(f"{A}")',
    'A = {"x": "y"}\ndef f(x): System(f"{A[x]}")',
    'def f(x: int, y: float = 1.0, z: "int | None" = None): System(f"{x} {y} {z}")',
    'def f(x=3): System(f"{x}")',
    'def f(x: list[int]): System(f"{x[0]}")',
    'from typing import Literal\ndef f(x: Literal["a"]): System(f"{x}")',
    'def f(x: Tone): System(f"{x} {x.value}")',
    'def f(x): System(f"{len(x)} {x:,d}")',
    'def f(x): System("a " + load(x))',
    'def f(x): System("a", x)',
    'def f(x): System(Value(f"{x}"))',
    'def f(x): User(f"{x}"); Assistant(f"{x}"); Grounding("g", f"{x}"); Ephemeral(f"{x}")',
    'def f(x): User(Section("s", Text(f"{x}")))',
    'def f(x):\n    with User():\n        Text(f"{x}")',
    'def f(x): Text(f"{x}")',
    'def f(x): Untrusted(f"{x}"); Note(f"{x}"); render(f"{x}")',
    'def f(x): "a" if x else System(f"{1 if x else 2}")',
    'def System(x): ...\ndef f(x): System(f"{x}")',
    'for A in ("a", "b"): System(f"{A}")',
    'System(f"a {1 + 2}")',
    'import os\nA = os.environ["A"]\nSystem(f"{A}")',
    'def f(x, y): System(f"{x.render(y)} {x.count(y)}")',
    'class A:\n    def f(self, x): System(f"{self.render(x)}")',
    'class A:\n    def f(self): System(f"{self} {self.a} {self.b.c}")',
    'def f(x): Section("s", f"{x}"); Grounding("g", Section("s", f"{x}"))',
    'def f(n): System("At most %d words, %s" % (n, n), "{:d} {:,}".format(n, n))',
    "def f(n):\n    n = int(n)\n    System(f\"{n + 1} {'-' * n} {n or 3}\")",
    "def f(n): System(f\"{n + 1} {'-' * n} {n or 3}\")",
    'A = {"x": "y"}\ndef f(x): System(f"{A.get(x, 1)}")',
    'A = {"x": "y"}\ndef f(x):\n    x = A[x]\n    System(f"{x}")',
    'def f(x: date, y: Config, z: Kind): System(f"{x.year} {y.words} {z.name}")',
    'def f(x): System(f"{x.name} {x[0]}")',
    'def f(x: dict[str, int]): System(f"{x[0]}")',
    'A = ("a", "b")\ndef f(x): System(*[Text(f"{x}!") for x in A])',
    'def f(x):\n    if x not in ("a", "b"): raise ValueError\n    System(f"{x}")',
    'def f(x):\n    assert x in {"a", "b"}\n    System(f"{x}")',
    'def _f(x): return Timeline(Section("s", f"{x}"))\n_f("a")',
    'def f():\n    def g(x): return System(f"{x}")\n    return g("a")',
    'def f(x=SIZE): System(f"{x}")',
    'A = "{:d}"\ndef f(x): System(A.format(x))',
    'def f(n):\n    count = 0\n    count += n\n    System(count, f"{count}")',
]


@pytest.mark.parametrize("code", BUILT)
def test_built_instructions_are_found(code: str, found: Find) -> None:
    """What builds an instruction of a variable is one finding, at the line of its text."""
    assert ["PD101"] == [it[:5] for it in found(f"{code}\n", run=False)]


@pytest.mark.parametrize("code", NOT_BUILT)
def test_other_texts_are_not_found(code: str, found: Find) -> None:
    """Constants, numbers, values and conversation may be built in any way."""
    assert [] == found(f"{code}\n", run=False)


CLOCK = "import datetime, random, time, uuid\nfrom datetime import datetime as dt\n"


@pytest.mark.parametrize(
    "code",
    [
        "System(str(datetime.date.today()))",
        'System(f"{dt.now():%d %B}")',
        "System(Section('s', Value(time.time())))",
        "System(Template.from_string('{{ x }}', x=str(uuid.uuid4())))",
        "with System():\n    Item(random.choice(A))",
        "System(', '.join({'a', 'b'}))",
        "System(*{'a', 'b'})",
        "System(', '.join(set(A)))",
        "System(*[Item(x) for x in set(A)])",
        "def f():\n    at = str(uuid.uuid4())\n    System('a', at)",
        "KINDS = {'a', 'b'}\ndef f(): System(', '.join(KINDS))",
        "System(f'{dt.now()} {A or 1}')",
        "System(f'{1 if A else 2} {dt.now()} {(lambda: 1)()}')",
    ],
)
def test_changing_instructions_are_found(code: str, found: Find) -> None:
    """A clock, chance and the order of a set are findings in instructions."""
    assert ["PD102"] == [it[:5] for it in found(f"{CLOCK}{code}\n", run=False)]


def test_each_of_two_changes_is_found(found: Find) -> None:
    """A clock and a chance in one argument, and in the next one, are findings of their own."""
    code = "System(f'{dt.now()} {uuid.uuid4()}', str(time.time()))"
    assert ["PD102:3"] * 3 == found(f"{CLOCK}{code}\n", run=False)


@pytest.mark.parametrize(
    "code",
    [
        "System(Volatile(dt.now(), label='now'))",
        "Ephemeral(str(dt.now())); Event(str(dt.now())); Grounding('g', str(dt.now()))",
        "User(str(dt.now()))",
        "System(Lazy(lambda context: str(dt.now())))",
        "System(', '.join(sorted({'a', 'b'})), str(len({'a', 'b'})))",
        "System(str(uuid.uuid5(uuid.NAMESPACE_DNS, 'a')), str(dt(2026, 1, 1)))",
        "System(random.Random(7).choice(A))",
        "render(System('a'), budget=random.randint(1, 2))",
        "System('a', id=str(uuid.uuid4()), metadata={'at': time.time()})",
        "System(Section(str(uuid.uuid4()), 'a', priority=random.random()))",
        "def now(): return Section('now', str(dt.now()))\nEphemeral(now())",
        "def f(now=None):\n    now = now or dt.now()\n    System(str(now))",
        "AT = dt.now()\ndef f(at, kinds): System(str(AT), at)",
        "kinds = {'a', 'b'}\ndef f(kinds): System(', '.join(kinds))",
        "random.seed(7)\nSystem(random.choice(A))",
    ],
)
def test_what_stays_is_not_found(code: str, found: Find) -> None:
    """What says that it changes, and what does not change, is no finding."""
    assert [] == found(f"{CLOCK}{code}\n", run=False)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("Template.from_string('{{ a }}')", ["PD103:1"]),
        ("Template.from_string('{{ a }}', b=1)", ["PD103:1", "PD103:1"]),
        ("Template.from_string('{{ a ')", ["PD103:1"]),
        ("Template.from_string('{{ a | uper }}', a=1)", ["PD103:1"]),
        ("Template.from_string('{{ a }}', vars={'a': 1})", []),
        ("Template.from_string('{{ a }}', {'a': 1}, )", []),
        ("Template.from_string('{{ a }}', variables)", []),
        ("Template.from_string('{{ a }}', **variables)", []),
        ("Template.from_string('{{ a or b }}{% if c is defined %}{% endif %}', a=1, b=2)", []),
        ("Template.from_string('{{ a | default(1) }}{% set d = 1 %}{{ d }}{{ range(3) }}')", []),
        ("Template.from_string('{% include name %}', a=1, name='x')", []),
        ("Template.from_string('{% for x in xs %}{{ x }}{{ loop.index }}{% endfor %}', xs=[])", []),
        ("Template.from_string('{a}', a=1, format='str.format')", []),
        ("Template.from_string('---\\ninputs:\\n  a: int = 1\\n---\\n{{ a }}')", []),
        ("Template('any.md.j2', a=1)", []),
        (
            "Template.from_string('{{ a ')\nTemplate.from_string(b'', c=1)\n"
            "Template.from_string('{{ d ')",
            ["PD103:1", "PD103:3"],
        ),
    ],
)
def test_templates(code: str, expected: list[str], found: Find) -> None:
    """A template in the code gets all names that it needs, and no others."""
    assert expected == found(f"{code}\n", run=False)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('System(Section("a", "x"), Section("a", "y"))', ["PD104:1"]),
        (
            'with System():\n    Section("a", "x")\n    with Section("a"):\n        Text()',
            ["PD104:3"],
        ),
        ('with Section("a"):\n    pass', ["PD104:1"]),
        ('System(Section("a", "x"), Section("b", "y"), Section("a", "z"))', ["PD104:1"]),
        (
            'with System():\n    Section("a", "x")\n    if x: Section("b", "y")\n'
            '    Section("b", "y")\n    Section("a", "z")',
            ["PD104:5"],
        ),
        (
            'with System():\n    Section("a", "x")\n    Section("b", "y")\n'
            '    Section("a", "z")\n    Section("b", "z")',
            ["PD104:4", "PD104:5"],
        ),
        ('with System(), Section("a"):\n    pass', ["PD104:1"]),
        ('with Section("a"), detached():\n    pass', []),
        ('with Section("a"):\n    "text"', ["PD104:1"]),
        ("with Timeline(), System():\n    ...", ["PD104:1"]),
        ('with Section("a", "text"):\n    pass', []),
        ('with System():\n    if x: Section("a")\n    else: Section("a")', []),
        ('with System():\n    Section("a")\n    return\n    Section("a")', []),
        ('FirstFit(Section("a", "long"), Section("a", "s"))', []),
        ('System(Section("a", audience="model"), Section("a", audience="people"))', []),
        ('with detached():\n    Section("a", "x")\n    Section("a", "y")', []),
        ("System(Section(x), Section(x))", []),
        ("with System():\n    note()", []),
        ("with Timeline():\n    pass", []),
    ],
)
def test_structure(code: str, expected: list[str], found: Find) -> None:
    """Siblings that are always there have different ids, and a block has content."""
    body = code.replace("\n", "\n    ")
    assert expected == [
        f"{it[:6]}{int(it[6:]) - 1}" for it in found(f"def f(x):\n    {body}\n", run=False)
    ]


def test_three_sections_of_one_id(tmp_path: Path) -> None:
    """Each further section is a finding, which names the line of the first one."""
    code = "System(\n" + '    Section("a", "x"),\n' * 3 + ")\n"
    findings = looked_at(tmp_path / "prompts.py", code, run=False).findings
    assert [(4, "in line 3"), (5, "in line 3")] == [(it.line, it.message[-9:]) for it in findings]
