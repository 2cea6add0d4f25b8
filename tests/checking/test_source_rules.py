"""The rules about files of Python: what is certain is found, and nothing else."""

from collections.abc import Callable
from pathlib import Path
from textwrap import indent

import pytest

from promptdsl import PromptError
from promptdsl.checking import Checker
from tests.checking.looking import IMPORT, ids, looked_at
from tests.errors import raised

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
def test_built_instructions_are_found(code: str, findings_of: Find) -> None:
    """What builds an instruction of a variable is one finding, at the line of its text."""
    assert ["PD101"] == [it[:5] for it in findings_of(f"{code}\n", run=False)]


@pytest.mark.parametrize("code", NOT_BUILT)
def test_other_texts_are_not_found(code: str, findings_of: Find) -> None:
    """Constants, numbers, values and conversation may be built in any way."""
    assert [] == findings_of(f"{code}\n", run=False)


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
def test_changing_instructions_are_found(code: str, findings_of: Find) -> None:
    """A clock, chance and the order of a set are findings in instructions."""
    assert ["PD102"] == [it[:5] for it in findings_of(f"{CLOCK}{code}\n", run=False)]


def test_each_of_two_changes_is_found(findings_of: Find) -> None:
    """A clock and a chance in one argument, and in the next one, are findings of their own."""
    code = "System(f'{dt.now()} {uuid.uuid4()}', str(time.time()))"
    assert ["PD102:3"] * 3 == findings_of(f"{CLOCK}{code}\n", run=False)


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
def test_what_stays_is_not_found(code: str, findings_of: Find) -> None:
    """What says that it changes, and what does not change, is no finding."""
    assert [] == findings_of(f"{CLOCK}{code}\n", run=False)


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
def test_templates(code: str, expected: list[str], findings_of: Find) -> None:
    """A template in the code gets all names that it needs, and no others."""
    assert expected == findings_of(f"{code}\n", run=False)


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
        ('with Section("a"):\n    "text"', ["PD105:2"]),
        ('with Section("a"):\n    x = 1', ["PD104:1"]),
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
def test_structure(code: str, expected: list[str], findings_of: Find) -> None:
    """Siblings that are always there have different ids, and a block has content."""
    body = code.replace("\n", "\n    ")
    assert expected == [
        f"{it[:6]}{int(it[6:]) - 1}" for it in findings_of(f"def f(x):\n    {body}\n", run=False)
    ]


def test_three_sections_of_one_id(tmp_path: Path) -> None:
    """Each further section is a finding, which names the line of the first one."""
    code = "System(\n" + '    Section("a", "x"),\n' * 3 + ")\n"
    findings = looked_at(tmp_path / "prompts.py", code, run=False).findings
    assert [(4, "in line 3"), (5, "in line 3")] == [(it.line, it.message[-9:]) for it in findings]


LOST_HEAD = """\
TONE, RULES = "Be brief.", ("a", "b")
RULE = Section("rule", "x")
HOW: str = load()
@component
def card():
    with Section("card"):
        yield
def ctx() -> str:
    lines: list[str] = []
    lines.append(str(load))
    lines += [it.title() for it in ("a", "b")]
    return "".join(lines)
def other() -> "str":
    return ctx()
async def later() -> str:
    return "a"
class Agent:
    note: str
    def about(self) -> str: return "a"
    @property
    def role(self) -> str: return "a"
    @staticmethod
    def task() -> str: return "a"
"""
LOST = [
    '"Be brief."',
    '"""Be brief."""',
    '"Be " "brief."',
    'f"Be {x}"',
    '"a" + x',
    'x + "a"',
    '"a %s" % x',
    '"a {}".format(x)',
    '", ".join(x)',
    '"a" * 3',
    '"a" if x else "b"',
    '"a" if x else Text("b")',
    'Text("b") if x else f"{x}"',
    '"a" if x else None',
    'x and "a"',
    '"a", Text("b")',
    '["a"]',
    "str(x)",
    "dedent(x)",
    "TONE",
    "tone",
    "HOW",
    "question",
    "TONE.strip().upper()",
    "question[:10]",
    "question + x",
    "ctx()",
    "other()",
    "await later()",
    "later()",
    "Agent.task()",
    "RULE",
    "x and RULE",
    "RULE if x else Text(x)",
    "ctx",
    "card",
    'text = "a"; text += x; text',
    "text = ctx(); text",
    'if x: "a"',
    'for y in x: f"{y}"',
    "for y in RULES: Text(y)\nfor rule in ('a', f'{x}'): rule",
    "for y in questions: y",
    'while x: "a"',
    'try: load()\nexcept ValueError: "a"',
    'with open(x) as file: "a"',
    'with detached(): "a"',
    'with card(): "a"',
    'match x:\n    case 1: "a"',
    'part = Section("b"); "a"; part',
    'Text("a")\nText("b"); "c"',
]
PLACED = [
    "...",
    "None",
    "1",
    "pass",
    "x.strip()",
    "x.text",
    "x + x",
    "x % 'a'",
    "Text(x)",
    "part = Text(x); part",
    "text = 'a' if x else Text('b'); text",
    "prompt",
    "unknown()",
    "card()",
    "imported()",
    "text = 'a'",
    "text = f'{x}'; text = Text('a'); text",
    "*text, other = 'a', 'b'; text",
    "text, other = 'ab'; text",
    "(text := 'a')",
    "x and Text('a')",
    "Text('a') if x else None",
    "Text('a'), Text('b')",
    "[Text(y) for y in x]",
    "[y for y in x]",
    "for y in x: y",
    "for y in RULE: y",
    "print('a')",
    "x.append('a')",
    "yield",
    "yield 'a'",
    "await x",
    "await unknown()",
    "say()",
    "note()",
    "say_more()",
    "keep(x)",
    "store.put(x)",
    "wrapped()",
    "TONE2",
    "x['a']",
    "lambda: 'a'",
    "x == 'a'",
    "def g():\n    'A docstring.'\n    'a'",
    "class A:\n    'A docstring.'",
    "import RULE; RULE",
    "def TONE(): ...\nTONE = x; TONE",
    "str = x; str(x)",
    "with x as TONE: TONE",
    "try: load()\nexcept ValueError as TONE: TONE",
    "del TONE; TONE",
    "match x:\n    case {'a': TONE}: TONE",
]
PLACED_HEAD = """\
from elsewhere import imported, part
TONE, RULE, RULES = "a", Section("a", "x"), ("a", "b")
TONE2 = "a"
def change():
    global TONE2
    TONE2 = Text("a")
@component
def card(): Text("a")
def unknown(): return "a"
def say() -> str:
    User("a")
    return "a"
def note() -> str:
    card()
    return "a"
def say_more() -> str:
    return say()
def keep(parts) -> str:
    parts.append("a")
    return "a"
class Store:
    def put(self, x) -> str: return x
store = load()
@wraps
def wrapped() -> str: return "a"
"""


def in_block(head: str, code: str) -> str:
    """Return code in the block of a System, in a function with a few parameters."""
    body = code.replace("\n", "\n        ")
    return (
        f"{head}async def f(x, question: str, questions: list[str]):\n    tone = 'a'\n"
        f"    with Timeline() as prompt, System():\n        {body}\n        Text('b')\n"
    )


@pytest.mark.parametrize("code", LOST)
def test_lost_texts_are_found(code: str, findings_of: Find) -> None:
    """A text as a statement of a block is one finding, however it is made."""
    assert ["PD105"] == [it[:5] for it in findings_of(in_block(LOST_HEAD, code), run=False)]


@pytest.mark.parametrize("code", PLACED)
def test_statements_that_may_write_are_not_found(code: str, findings_of: Find) -> None:
    """What may be a part of the block, may write or has another effect is no finding."""
    assert [] == findings_of(in_block(PLACED_HEAD, code), run=False)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('import promptdsl as p\nwith p.System() as s:\n    "a"\n    p.Text("b")', ["PD105:3"]),
        (
            'from promptdsl import System as S\nwith S("x"):\n    "a"\n    "b"',
            ["PD105:3", "PD105:4"],
        ),
        ('with open("a"):\n    "a"', []),
        ('with detached():\n    "a"', []),
        ('def System(): ...\nwith System():\n    "a"', []),
        ('s = System()\nwith s:\n    "a"\n    Text("b")', ["PD105:3"]),
        ('def f(s):\n    with s:\n        "a"', []),
        ('with System():\n    Text("a")\n"b"', []),
        ('with Timeline():\n    with Group():\n        with User():\n            "a"', ["PD105:4"]),
        ('with System():\n    part = Section("a", "x")\n    part', []),
        ('part = Section("a", "x")\nwith System():\n    part', ["PD105:3"]),
        ('with detached():\n    part = Section("a", "x")\nwith System():\n    part', ["PD105:4"]),
        ('with x:\n    part = Section("a", "x")\nwith System():\n    part', []),
        ('def f():\n    part = Text("a")\n    with System():\n        part', []),
        (
            'def f():\n    part = Text("a")\n    with Timeline(), System():\n        part',
            ["PD105:4"],
        ),
        (
            'def f():\n    part = Text("a")\n    with detached(), Timeline(), System():\n'
            "        part",
            [],
        ),
        (
            'def f():\n    part = Text("a")\n    def g():\n        with Timeline(), System():\n'
            "            part",
            [],
        ),
        (
            'class A:\n    note: str\n    def b(self) -> str: return "a"\n    @property\n'
            '    def c(self) -> str: return "a"\n    def d(self): return "a"\n'
            "    def f(self, other):\n        with System():\n            self.b()\n"
            "            self.c\n            self.d()\n            other.b()\n"
            "            self.e()\n            Text(self.b())",
            ["PD105:9", "PD105:10"],
        ),
        (
            'def ctx() -> str: return "a"\ndef f(ctx):\n    with System():\n        ctx()\n'
            "        Text('a')",
            [],
        ),
        (
            'class A:\n    TONE = "a"\n    def f(self):\n        with System():\n            TONE',
            [],
        ),
        ('if x:\n    T = "a"\nelse:\n    T = Text("a")\nwith System():\n    T', ["PD105:6"]),
        ('a = b = "a"\nb = a\nwith System():\n    b', ["PD105:4"]),
        ("a = b\nb = a\nwith System():\n    b", ["PD105:4"]),
        ("with System():\n    TONE\n    Text(TONE)", []),
        (
            "async def later() -> str:\n    return await load()\n"
            "with System():\n    later()\n    await later()",
            ["PD105:4"],
        ),
    ],
)
def test_blocks_and_names_of_texts(code: str, expected: list[str], findings_of: Find) -> None:
    """Blocks are those of components, and a name is what all its assignments make of it."""
    assert expected == findings_of(f"{code}\n", run=False)


def test_what_is_lost_is_told(tmp_path: Path) -> None:
    """Each kind of statement has advice of its own."""
    code = """\
async def later() -> str: return "a"
def ctx() -> str: return "a"
RULE = Section("rule", "x")
async def f(x: str):
    with Timeline():
        "a"
        with System():
            x
            RULE
            ctx
            ctx()
            later()
"""
    findings = looked_at(tmp_path / "prompts.py", code, run=False).findings
    other = ", or Value(...) if it comes from elsewhere"
    assert [
        "a string on a line of its own is not sent; write System(...) or User(...) around it",
        f"`x` on a line of its own is not sent; write Text(...) around it{other}",
        "`RULE` was made outside of a block, and its name alone does not write it; "
        "write include(RULE), or pass it as an argument",
        "the function `ctx` is not called, so it writes nothing; write ctx(...)",
        f"what `ctx()` returns is not sent; write Text(...) around it{other}",
        "`later()` is not awaited, so its text is not sent; write Text(await later(...))",
    ] == [f"{it.message}; {it.fix}" for it in findings]


NAMES_OF_ANYTHING = """\
from shop import HOURS, persona
import shop
EVERY, TABLE = ("a", "b"), shop.table()
for row in TABLE:
    print(row)
def f(tone: Section, extra, *more, again=None):
    if tone:
        from shop import offers
    with System():
        LINE
        Text("a")
"""


@pytest.mark.parametrize(
    "name",
    [
        *("HOURS", "persona", "shop", "EVERY", "TABLE", "row", "tone", "extra", "more", "again"),
        "offers",
    ],
)
def test_names_of_anything_are_found(name: str, tmp_path: Path) -> None:
    """A name that was bound before the block writes nothing in it, whatever it is a name of."""
    code = NAMES_OF_ANYTHING.replace("LINE", name)
    findings = looked_at(tmp_path / "prompts.py", code, run=False).findings
    advice = (
        f"write include({name}) for a part, Text({name}) for a text, {name}(...) for a component"
    )
    assert [f"`{name}` on a line of its own writes nothing; {advice}"] == [
        f"{it.message}; {it.fix}" for it in findings
    ]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(x):\n    x = Text(x)\n    with System():\n        x", []),
        ("def f(x):\n    with System():\n        x = Text(x)\n        x", []),
        ("def f(xs):\n    for x in xs:\n        with System():\n            x", []),
        ("def f(xs):\n    with Timeline():\n        for x in xs:\n            x", []),
        ("def f(xs):\n    for x in xs:\n        with Timeline():\n            x", ["PD105:4"]),
        ("def f():\n    with System():\n        from shop import x\n        x", []),
        ("def f(x):\n    global x\n    with System():\n        x", []),
        ("def f(x):\n    def g():\n        with System():\n            x", ["PD105:4"]),
        ("def f(x):\n    with open(x):\n        x", []),
    ],
)
def test_names_that_may_be_of_parts_in_the_block(
    code: str, expected: list[str], findings_of: Find
) -> None:
    """A name that may be bound to a part of an open block is no finding."""
    assert expected == findings_of(f"{code}\n", run=False)


@pytest.mark.parametrize(
    "annotation",
    ["str | None", "None | str", '"str | None"', "Optional[str]", "typing.Optional[str]", '"str"'],
)
def test_a_text_or_none_is_a_text(annotation: str, tmp_path: Path) -> None:
    """An annotation as a text, or none, is that of a text."""
    code = f"def f(x: {annotation}):\n    with System():\n        x\n        Text('a')\n"
    findings = looked_at(tmp_path / "prompts.py", code, run=False).findings
    assert ["`x` on a line of its own is not sent"] == [it.message for it in findings]


def test_a_block_with_a_lost_text_alone_is_one_finding(tmp_path: Path) -> None:
    """The hint of an empty block is not told beside the text that is lost in it."""
    code = "with System('a') as prompt, Section('b', title='B'):\n    'x'\n"
    assert ["PD105:2"] == ids(looked_at(tmp_path / "prompts.py", code))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('with User("a", Section("b", "", title="B")):\n        "x"', "PD104:2 PD105:3"),
        ('with Grounding("a b"):\n        Text("a")\n        "x"', "PD104:2 PD105:4"),
        ('with User(), Section("b"):\n        "x"', "PD105:3"),
        ('with User(), Section("b"): "x"', "PD105:2"),
    ],
)
def test_a_lost_text_explains_no_more_than_an_empty_block(
    code: str, expected: str, tmp_path: Path
) -> None:
    """Of the hints of the block around a lost text all stay but that of an empty block."""
    text = f"with Timeline() as prompt:\n    {code}\n"
    assert expected.split() == ids(looked_at(tmp_path / "prompts.py", text))


@pytest.mark.parametrize(
    ("code", "expected"),
    [('\n        "x"', "PD002:3 PD105:4"), (' "x"', "PD002:3 PD105:3")],
)
def test_a_lost_text_explains_no_error(code: str, expected: str, tmp_path: Path) -> None:
    """An error at the block around a lost text stays."""
    path = tmp_path / "prompts.py"
    text = f'def build():\n  with Timeline():\n    with User(priority="high"):{code}\n'
    path.write_text(IMPORT + text, "utf-8")
    names: dict[str, Callable[[], object]] = {}
    exec(compile(IMPORT + text, str(path), "exec"), names)
    checker = Checker()
    checker.paths([str(path)])
    checker.failed("build", raised(PromptError, names["build"]))
    assert expected.split() == ids(checker.report())


CHAIN = "".join(f"x{it + 1} = x{it} + x{it}\n" for it in range(60))
NAMES = [f"n{it}" for it in range(30)]
CIRCLES = "".join(f"{it} = {it} + {' + '.join(NAMES)}\n" for it in NAMES)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (f"x0 = 'a'\n{CHAIN}x = x60", ["PD105"]),
        (f"x0 = unknown()\n{CHAIN}x = x60", []),
        (f"n0 = 'a'\n{CIRCLES}x = n0", []),
        (f"{CIRCLES}x = n0 + 'a'", ["PD105"]),
    ],
    ids=["chain of texts", "chain", "circles", "circles and a text"],
)
def test_each_name_is_judged_once(code: str, expected: list[str], findings_of: Find) -> None:
    """Names that are made of each other are judged in one pass: the ways through them are many."""
    lines = f"def f():\n{indent(code, '    ')}\n    with System():\n        x\n"
    assert expected == [it[:5] for it in findings_of(lines, run=False)]


PURE = [
    "return x.strip()",
    "text = 'a'; text += question.title(); return text",
    "return f'{len(lines)} ' + ', '.join(it.title() for it in lines)",
    "counts = {}; counts['a'] = 1; return str(counts.get('a'))",
    "for line in lines:\n        if line.isspace(): return dedent(line)\n    return ''",
    "return str(question.replace('a', 'b'))",
    "return other(x)",
]
ACTIVE = [
    "return shutil.copy(x, 'backup.txt')",
    "return lines.pop(0)",
    "result = write_rules(x); return result",
    "return x.replace(question)",
    "seen = lines; seen.append(x); return ''",
    "lines += [x]; return ''",
    "lines[0] = ''; return ''",
    "del lines[0]; return ''",
    "x.text = ''; return ''",
    "if not x: raise ValueError\n    return ''",
    "assert x; return ''",
    "with x: return ''",
    "return '' if next(lines) else 'a'",
    "return ', '.join(map(Text, lines))",
    "len = x; return str(len(lines))",
    "return active(x, question, lines)",
    "return wrapped()",
    "return Agent().text",
    "return TABLE.setdefault(x, '')",
]


def called(body: str) -> str:
    """Return code that calls a function with a body as a statement of a block."""
    return f"""\
import shutil
from elsewhere import write_rules
TABLE = {{}}
def other(x) -> str: return "a"
@wraps
def wrapped() -> str: return "a"
class Agent: text: str
def active(x, question: str, lines: list[str]) -> str:
    {body}
with System():
    active(x, y, z)
    Text("a")
"""


@pytest.mark.parametrize("body", PURE)
def test_calls_that_only_return_a_text_are_found(body: str, findings_of: Find) -> None:
    """A function that only reads its values does nothing as a statement."""
    assert ["PD105"] == [it[:5] for it in findings_of(called(body), run=False)]


@pytest.mark.parametrize("body", ACTIVE)
def test_calls_with_a_possible_effect_are_not_found(body: str, findings_of: Find) -> None:
    """A function that calls what is not known, changes a value or may fail is no finding."""
    assert [] == findings_of(called(body), run=False)


@pytest.mark.parametrize("code", ["say().strip()", "say() + 'a'", "f'{say()}'"])
def test_a_text_made_of_a_call_with_an_effect_is_not_found(code: str, findings_of: Find) -> None:
    """What is made of the text of a function that writes is no finding, however it is made."""
    assert [] == findings_of(in_block(PLACED_HEAD, code), run=False)
