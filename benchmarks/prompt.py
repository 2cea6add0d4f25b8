"""The benchmark prompt: a support conversation with tool calls and a picture, as plain records.

The records belong to no library. The same arguments give the same data, in every process.
"""

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of the system text."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call and its result; ``arguments`` is the JSON text an API recorded."""

    id: str
    name: str
    arguments: str
    result: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and its answer: two messages, four when a tool was called in between."""

    question: str
    call: ToolCall | None
    answer: str


@dataclass(frozen=True, slots=True)
class Data:
    """The whole prompt: a system message, the exchanges, and a user turn of text and a picture."""

    sections: tuple[Section, ...]
    exchanges: tuple[Exchange, ...]
    question: str
    image_url: str

    @property
    def messages(self) -> int:
        """The number of messages a complete build sends."""
        return 2 + sum(2 if exchange.call is None else 4 for exchange in self.exchanges)


def data(exchanges: int = 40) -> Data:
    """Return the prompt with this many exchanges; every fourth one calls a tool.

    40 exchanges make 102 messages, 400 make 1,002 and 4,000 make 10,002.
    """
    return Data(
        sections=SECTIONS,
        exchanges=tuple(_exchange(number) for number in range(exchanges)),
        question="Here is a photo of the label. Is this the right parcel, and may I keep the box?",
        image_url="https://example.com/uploads/parcel-label.png",
    )


def _exchange(number: int) -> Exchange:
    order = 10_000 + number
    return Exchange(
        question=f"Order {order}: {_text(QUESTIONS, number)}",
        call=_call(number, order) if number % 4 == 1 else None,
        answer=f"Order {order}: {_text(ANSWERS, number)}",
    )


def _call(number: int, order: int) -> ToolCall:
    city = CITIES[number % len(CITIES)]
    return ToolCall(
        id=f"call_{order}",
        name="track_parcel",
        arguments=f'{{"order": {order}, "city": "{city}", "history": true}}',
        result=f'{{"order": {order}, "state": "in transit", "last_seen": "{city}", "days": 2}}',
    )


def _text(sentences: tuple[str, ...], number: int) -> str:
    return " ".join(sentences[index] for index in _PICKS[number % len(_PICKS)])


SECTIONS = (
    Section(
        "role",
        "Role",
        "You are the support assistant of Northwind Parcels. You help customers in Europe and Asia"
        " find, return and pay for their orders.",
    ),
    Section(
        "tone",
        "Tone",
        "Be friendly and brief. Write in the language the customer writes in. Never use slang, and"
        " leave emoji to the customer.",
    ),
    Section(
        "refunds",
        "Refunds",
        "Orders can be returned within 30 days. A refund goes back to the card that paid. Amounts"
        " over 250 € need the approval of a colleague. Never promise a date for a refund.",
    ),
    Section(
        "shipping",
        "Shipping",
        "Parcels leave the warehouse in Zürich on weekdays before 17:00. Delivery takes two to five"
        " days inside Europe and up to nine days elsewhere.",
    ),
    Section(
        "tools",
        "Tools",
        "Look a parcel up before you say where it is. When a lookup fails, say so and try once"
        " more. Do not quote raw tool output.",
    ),
    Section(
        "privacy",
        "Privacy",
        "Never read out a full address or card number. Ask for the order number and the postal code"
        " before you change an order.",
    ),
    Section(
        "escalation",
        "Escalation",
        "Hand over to a colleague when the customer asks for one. Hand over too when the same"
        " question comes up a third time. Sum up the case in three sentences first.",
    ),
    Section(
        "format",
        "Format",
        "Answer in at most two short paragraphs. Use a list only for steps the customer has to"
        " follow in order.",
    ),
)

CITIES = ("Zürich", "Gdańsk", "Lyon", "東京", "Leeds", "São Paulo", "Graz")

QUESTIONS = (
    "Where is my parcel now, and when will it arrive?",
    "I moved last week, so please send it to the new address instead.",
    "The café next door could take it in if nobody is at home.",
    "The tracking page has not changed since Monday morning.",
    "Can I still add a second pair of shoes to this order?",
    "It should go to Frau Müller in Zürich, not to me.",
    "I was charged twice, once in euros and once in złoty.",
    "The box was open when it came and one cup is broken.",
    "日本語でも大丈夫ですか? Otherwise English is fine for me as well.",
    "My invoice shows the wrong company name and no tax number.",
    "Would a return be free of charge if I bring it to a shop?",
    "Thanks, that was quick, I really appreciate it! 🙂",
)

ANSWERS = (
    "Thank you for the details, I have found your order.",
    "The parcel left our warehouse yesterday and is on its way to you.",
    "It should reach you within the next two working days.",
    "I have changed the delivery address and sent you a confirmation by mail.",
    "The second charge is only a reservation and will disappear by itself.",
    "I am sorry about the broken cup, a new one is free of charge.",
    "You can hand the return in at any partner shop, naïve as that sounds.",
    "Please keep the receipt until the refund of 24,90 € has arrived.",
    "The corrected invoice is attached to the message I have just sent you.",
    "A colleague will look into this today and write to you.",
    "はい、大丈夫です。 You may write in Japanese or in English.",
    "Is there anything else I can do for you today?",
)

_RANDOM = Random(7)
_PICKS = tuple(tuple(_RANDOM.sample(range(12), _RANDOM.randint(1, 4))) for _ in range(997))
