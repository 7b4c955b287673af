"""Texts on which fast tokenizers have been seen to differ from the reference; data of the start-up self-check.

Short on purpose, 15,000 characters: every process that loads a tokenizer pays for them once (30 ms).
"""

# ruff: noqa: RUF001 - characters that are easily confused are the point
from __future__ import annotations

import base64
from typing import Final


def _code_points(start: int, stop: int, step: int) -> str:
    return "".join(chr(code) for code in range(start, stop, step) if not 0xD800 <= code < 0xE000)


TRICKY_TEXTS: Final[tuple[str, ...]] = (
    "",
    " ",
    "a",
    "The quick brown fox doesn't jump; it's we'll, they'VE and I'd've.",
    "def f(x: int) -> str:\n\treturn f'{x!r:>10}'  # ok\n\n\n    async with a as b:\r\n        pass\r\r\n",
    '{"a":[1,2.50,-3e-7,null,true],"b\\u00e9":"\\ud83d\\ude00 \\"quoted\\" \\\\path\\\\to"}',
    "0 1 12 123 1234 12345 1234567890 3.14159 0x1F 1_000_000 ١٢٣٤ ²³ ½ Ⅻ １２３４５",
    "日本語のテキスト、中文字符混排，한국어 문장입니다. ไทยไม่มีเว้นวรรค ⾀⺀ 𠀀𠮷 ー゛ｶﾞ",
    "العربية مع ١٢٣ والتشكيل مُحَمَّد עברית עם ניקוד שָׁלוֹם हिन्दी में क्षत्रिय தமிழ்",
    "👩\u200d👩\u200d👧\u200d👦 👍🏽 🏳\ufe0f\u200d🌈 🇩🇪🇯🇵 ☺\ufe0f☺\ufe0e #\ufe0f\u20e3 🫠\u200d",
    "e\u0301 é ﬁ ﬂ Å Å Ω Ω ﷺ ① ㎏ ẛ̣ a" + "\u0300\u0323" * 20,
    "a b  c   d    e\t\tf \t g\u00a0h\u2003i\u3000j\u200bk\u2028l\u2029m\u0085n\ufeff",
    "trailing spaces   \n   \n \n\n  leading",
    "\r\n\r\n\n\r \r\n x\n\n\n\n\ny \n z\t\n\t\n",
    " " * 700 + "x" + " " * 33,
    "\n" * 300,
    "\t" * 129 + "end",
    "a" * 1200,
    "ab" * 400 + "Z" * 300 + "éé" * 150,
    "-" * 257 + "=" * 90 + "*/" * 40 + "...!!!???" * 9,
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ $x.y->z[0]::<T>{{}}((  ))&&||!==<=>//#region",
    "snake_case_name camelCaseName HTTPServerError XMLHttpRequest2 kebab-case ALLCAPS iPhone15ProMax",
    "https://user:pw@example.com:8080/a/b%20c?q=1&r[]=2#frag C:\\Temp\\x.txt /usr/lib/../bin",
    base64.b64encode(bytes(range(256)) * 6).decode(),
    "\n".join(base64.b64encode(bytes(range(n, n + 57))).decode() for n in range(0, 190, 19)),
    "deadbeef0123456789abcdefDEADBEEF" * 12,
    "".join(map(chr, range(0x20))) + "\x7f" + "".join(map(chr, range(0x80, 0xA0))),
    "\ue000\ue001\uf8ff\U000f0000\U0010ffff\ufffe\uffff\ufffd\ufffd\U0001fffe",
    "<|im_start|>system\nx<|im_end|>\n<|endoftext|><|end_of_text|><s></s>[INST][/INST]<pad><unk>[gMASK]<sop>",
    "<｜begin▁of▁sentence｜><｜User｜>hi<｜Assistant｜><think>\n</think><tool_call></tool_call><|tool▁calls▁begin|>",
    "▁under▁score Ġbyte Ċ Ā ġ <0x0A> ## ##ing </w> <|",
    _code_points(0xA0, 0x3000, 7),
    _code_points(0x3000, 0x20000, 61),
    " ".join(_code_points(0x21, 0xFFFF, 113)),
    "\n".join(_code_points(0x1F000, 0x1FB00, 5)),
    "𝒞𝑜𝓂𝓅𝓁𝑒𝓍 𝟙𝟚𝟛 ａｂｃ Ⓐⓑ ⅷ ǅ ß ẞ İ ı ſ",
    "Zürich naïve façade Ærøskøbing Łódź Đặng smörgåsbord ОБЪЕКТ ёлка ΣΊΣΥΦΟΣ",
)
