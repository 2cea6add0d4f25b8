"""Texts of many scripts, and texts that try what a counter stands."""

from hypothesis import strategies as st

from tests.hostile import HOSTILE

SCRIPTS = (
    "The quick brown fox jumps over the lazy dog, doesn't it? It's 12,345.67 away.",
    "Der Übermut tut selten gut; größere Straßen heißen so.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "我能吞下玻璃而不伤身体。「真的」他问。",
    "いろはにほへと ちりぬるを。カタカナと漢字が混ざる文。",
    "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다.",
    "नहीं नजर किसी की बुरी नहीं किसी का मुँह काला जो करे सो उपर वाला।",
    "นายสังฆภัณฑ์ เฮงพิทักษ์ฝั่ง ผู้เฒ่าซึ่งมีอาชีพเป็นฅนขาย",
    "صِف خَلقَ خَودِ كَمِثلِ الشَمسِ إِذ بَزَغَت ٠١٢٣٤٥",
    "דג סקרן שט בים מאוכזב ולפתע מצא לו חברה.",
    "👨‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇩🇪🇫🇷 ❤️ 😀😀😀",
    "def f(x):\n\treturn {k: v for k, v in x.items()}  # //comment/\n\n\n",
    '{"a": [1, 2.5, null], "b": "x\\ny"}\r\n\r\n  </tag>\n//\n/path/to\n/',
)

LETTERS = (
    *("a", "b", "Z", "ing", "'s", "'S", "'ll", "ʰ", "ǅ", "é", "ß", "Ж", "中", "あ", "ก", "้", "한"),
    *("1", "23", "٣", "Ⅷ", "²", " ", "  ", "\t", "\n", "\n\n", "\r", "\r\n", " \n", "\n "),
    *("\x0b", "\x0c", "\x1c", "\x1f", "\x85", "\xa0", "\u2028", "\u3000", "\u180e", "\u200b"),
    *("/", "//", "/\n", "!", "?!", ".", "-", "_", '"', "#", "{", "\x00", "\ufeff", "\u0301"),
    *("\ud83d", "\ude00", "\ud800", "😀", "\u200d", "\ufe0f", "<|endoftext|>", "<|endofprompt|>"),
)
"""What patterns and cuts treat in different ways."""

texts = st.one_of(
    st.lists(st.sampled_from(LETTERS), max_size=20).map("".join),
    st.lists(st.sampled_from((*SCRIPTS, *HOSTILE, *LETTERS)), max_size=4).map("".join),
    st.text(st.characters()),
)

RUNS = ("a", "A", " ", "\n", "\t", "\r\n", "aA", "1", "-", "/", "中", "ก", "😀", "\u0301", "\u200d")
HOSTILE_RUNS = (*RUNS, "\x00", "\ud800", "\n ", " \n", "'s", "<|endoftext|>", "</")
