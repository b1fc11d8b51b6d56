"""Ten thousand identifiers, the same ones on every machine."""

from __future__ import annotations

from functools import cache
from random import Random

CONVENTIONS = ("snake_case", "sql_ci_v1", "sql_cs_v1", "direct", "duck_case")
LENGTHS = (20, 63, 255)
COUNT = 10_000

_WORDS = ("id", "user", "HTTP", "Response", "XML", "name", "Total", "v2", "a1B2", "URL", "order", "ÄÖ", "été")
_JOINTS = ("_", "__", "___", "-", " ", ".", "", "/", "+", "|", "@", "*", "\t", "\n", "▶", '"', "'", "€", "日")
_SIGNS = "aZ0_ -+*@|.'\"\\/€é日本ß\u0130\u202e\u0301😀▶\n\r\t#!"


@cache
def identifiers(seed: int = 131) -> list[str]:
    """Return words with separators, and texts of unusual characters; none of them blank."""
    random = Random(seed)
    result: list[str] = []
    while len(result) < COUNT:
        raw = _spoken(random) if random.random() < 0.6 else _odd(random)
        if raw.strip():
            result.append(raw)
    return result


def _spoken(random: Random) -> str:
    words = [random.choice(_WORDS) for _ in range(random.choice((1, 2, 3, 4, 12, 60)))]
    text = "".join(random.choice(_JOINTS) + word for word in words)
    return text if random.random() < 0.5 else text.lstrip("_-") + random.choice(("", "_", "__", " "))


def _odd(random: Random) -> str:
    return "".join(random.choice(_SIGNS) for _ in range(random.choice((1, 2, 3, 8, 21, 64, 300))))
