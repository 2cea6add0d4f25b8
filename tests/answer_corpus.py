"""Answers of models that were asked for a JSON value of a schema, and what is read of each."""

from typing import Any

NONE, SEVERAL = "none", "several"
"""What is read of an answer without a value, and of one with several that fit."""
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "rain": {"type": "boolean"}},
    "required": ["city"],
}
CITY = '{"city": "Rome"}'
ROME, OSLO = {"city": "Rome"}, {"city": "Oslo"}
QUOTED = '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}'

WHOLE: list[tuple[str, Any]] = [
    (CITY, ROME),
    (f"  \n{CITY}\n", ROME),
    ('{\n  "city": "Rome",\n  "rain": false\n}', {"city": "Rome", "rain": False}),
    ('{"city": "</b> ```"}', {"city": "</b> ```"}),
    ('{"city": "a {b} [c]"}', {"city": "a {b} [c]"}),
    ('{"city": "R\\u00f6m"}', {"city": "Röm"}),
    ("null", None),
    (" null ", None),
    ("true", True),
    ("3", 3),
    ("-1.5e3", -1500.0),
    ('"Rome"', "Rome"),
    ("[]", []),
    ("{}", {}),
    ("[1, 2]", [1, 2]),
    ('[{"city": "Rome"}, {"city": "Oslo"}]', [ROME, OSLO]),
]
FENCED: list[tuple[str, Any]] = [
    (f"```json\n{CITY}\n```", ROME),
    (f"```\n{CITY}\n```", ROME),
    (f"```JSON\n{CITY}\n```\n", ROME),
    (f"~~~json\n{CITY}\n~~~", ROME),
    (f"````json\n{CITY}\n````", ROME),
    (f"Here it is:\n\n```json\n{CITY}\n```", ROME),
    (f"```json\n{CITY}\n```\n\nI hope that helps.", ROME),
    (f"Sure!\n```json\n{CITY}\n```\nAsk for more.", ROME),
    (f"  ```json\n  {CITY}\n  ```", ROME),
    (f"```json\n{CITY}\n```\n```json\n{CITY}\n```", ROME),
    ('```json\n{"city": "Rome"}\n```\n```json\n{"city": "Oslo"}\n```', SEVERAL),
    ("```json\nnull\n```", None),
    ("```json\n[1]\n```", [1]),
    (f"```python\nprint(1)\n```\n```json\n{CITY}\n```", ROME),
    (f"```python\nprint(1)\n```\n{CITY}", ROME),
    (f"It is {{x}}.\n```json\n{CITY}\n```", ROME),
    (f"```json\n{QUOTED}\n```\n```json\n{CITY}\n```", ROME),
    ('```json\n{"city": "a\\n```\\nb"}\n```', {"city": "a\n```\nb"}),
    (f"```json\r\n{CITY}\r\n```", ROME),
]
IN_PROSE: list[tuple[str, Any]] = [
    (f"The answer is {CITY}.", ROME),
    (f"{CITY} is the answer.", ROME),
    (f"Answer: {CITY}\n\nRome is in Italy.", ROME),
    (f"I don't know much, but: {CITY}", ROME),
    (f"{CITY}{CITY}", ROME),
    (f"{CITY} and {CITY}", ROME),
    ('{"city": "Rome"} or {"city": "Oslo"}', SEVERAL),
    (f"Use {{name}}: {CITY}", ROME),
    (f"(see {{a: b}}) {CITY}", ROME),
    (f"The schema {QUOTED} gives {CITY}", ROME),
    (f"{QUOTED}\n{CITY}", ROME),
    (f"Sources [1, 2]: {CITY}", ROME),
    (f"<answer>{CITY}</answer>", ROME),
    (f"<think>It is {{...}}.</think>{CITY}", ROME),
    (f"{CITY}}}", ROME),
    (f"- {CITY}\n", ROME),
    ('{"a": {"city": "Rome"}} is {"city": "Rome"}', ROME),
    ('Result: {"city": "Rome", "rain": null}', {"city": "Rome", "rain": None}),
    ("Only a list: [1, 2, 3].", [1, 2, 3]),
    ('A "quoted" word: {"city": "Rome"}', ROME),
]
NO_VALUE: list[tuple[str, Any]] = [
    ("", NONE),
    ("   \n", NONE),
    ("It is Rome.", NONE),
    ("I have 3 of 5.", NONE),
    ("That is true.", NONE),
    ('He said "Rome".', NONE),
    ('{"city": "Rome"', NONE),
    ('{"city": "Ro', NONE),
    ('{"city": {"name": "Rome"}, "rain":', NONE),
    ('Here: {"a": {"city": "Rome"}, "b"', NONE),
    ('```json\n{"city": "Rome"\n```', NONE),
    ('```json\n{"city": "Ro', NONE),
    ('[{"city": "Rome"}, {"city":', NONE),
    ("{'city': 'Rome'}", NONE),
    ("{city: Rome}", NONE),
    ('{"city": "Rome",}', NONE),
    ('{"city": NaN}', NONE),
    ('{"city": 1e999}', NONE),
    ('{"city": "Rome" /* in Italy */}', NONE),
    ('{"city": "a\nb"}', NONE),
    ("{" * 500, NONE),
    ("[" * 300 + "]" * 300, NONE),
    ("}{", NONE),
    ("I'm sorry, I can't help with that.", NONE),
    ("nullnull", NONE),
]
ANSWERS = [*WHOLE, *FENCED, *IN_PROSE, *NO_VALUE]
