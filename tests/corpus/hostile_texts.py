"""Texts with a meaning for some parser: SQL, variables, JSON paths, globs, Unicode.

Texts are drawn from a grammar by a seed, so that a failing run can be repeated.
"""

from __future__ import annotations

import random
from typing import Final

CANARY: Final = "penstock.hostile"
"""A property of the JVM that is set only where a drawn text is run as SQL."""
_RUN: Final = f"java_method('java.lang.System', 'setProperty', '{CANARY}', 'set')"

VARIABLES: Final = (
    *("${env:PATH}", "${env:HOME}", "${system:user.home}", "${system:java.version}", "${spark.app.name}"),
    *(
        "${hiveconf:spark.app.name}",
        "${hivevar:x}",
        "${",
        "$",
        "{",
        "}",
        "${env:PATH",
        "$${env:PATH}",
        "${x}",
    ),
)
SQL: Final = (
    *(
        "'",
        '"',
        "`",
        "''",
        "``",
        "\\",
        "\\\\",
        "\\'",
        "\\`",
        "--",
        "/*",
        "*/",
        ";",
        "\n",
        ",",
        "(",
        ")",
        "=",
        "\0",
    ),
    *(
        "\\u0041",
        "\\U0001F600",
        "\\101",
        "\\n",
        "\\%",
        "\\_",
        "\x001",
        "%",
        "_",
        "?",
        ":p",
        "{0}",
        "{x}",
        "%s",
    ),
    *("' OR '1'='1", "'; DROP TABLE items; --", "` AS x, `", "x'41'", "r'a'", "NULL", "TRUE", "SELECT", "*"),
    *(f"' || {_RUN} || '", f"` , {_RUN} AS `x", f"') OR {_RUN} = ('", f"{_RUN}", " ESCAPE ", "e'\\x41'"),
)
PATHS: Final = (
    *(
        "$",
        "$.a",
        "$..*",
        "[0]",
        "[*]",
        '["a"]',
        "['a']",
        ".",
        "..",
        "/",
        "../",
        "a.b",
        "a/b",
        "a\\b",
        "~",
        "@",
    ),
    *(
        "*",
        "?",
        "[a-z]",
        "{a,b}",
        "**",
        "%2e",
        "%00",
        "#",
        ":",
        "C:",
        "file:///etc/passwd",
        "a=b",
        "+",
        "&",
        " ",
    ),
)
UNICODE: Final = (
    *(
        "é",
        "e\u0301",
        "ß",
        "İ",
        "ﬀ",
        "ǅ",
        "😀",
        "👨‍👩‍👧",
        "\u202e",
        "\u200b",
        "\ufeff",
        "\u2028",
        "\x85",
        "\u00a0",
    ),
    *(
        "\ufffd",
        "\ue000",
        "\uf026",
        "\uf02f",
        "\U0001d4b3",
        "\x1a",
        "\x7f",
        "\t",
        "中",
        "\u0131",
        "\u0410",
        "\U0010ffff",
    ),
)
PLAIN: Final = (
    "a",
    "id",
    "value",
    "row",
    "raw",
    "v",
    "_dlt_x",
    "items",
    "A",
    "0",
    "17",
    "_",
    "__",
    "x" * 40,
)
_KINDS: Final = (VARIABLES, SQL, PATHS, UNICODE, PLAIN)
TABLES: Final = (
    *(
        "init",
        "INIT",
        "_dlt_loads",
        "_dlt_version",
        "_dlt_pipeline_state",
        "_dlt_pkg",
        "_dlt_late",
        "_dlt_files",
    ),
    *("_delta_log", "..", "../../outside", "a/b", "a.b", "x" * 300, "é" * 200, "*", "${env:PATH}"),
)
"""Names of tables that every run tests."""


class Hostile:
    """A generator of texts that counts them."""

    def __init__(self, seed: int) -> None:
        self._random, self.drawn = random.Random(seed), 0

    def text(self) -> str:
        """Return a text of some pieces of the grammar, of one kind or mixed."""
        self.drawn += 1
        return self._text()

    def _text(self) -> str:
        kinds = _KINDS if self._random.random() < 0.5 else (self._random.choice(_KINDS),)
        count = self._random.choice((1, 1, 1, 2, 2, 3, 4, 6))
        return "".join(self._random.choice(self._random.choice(kinds)) for _ in range(count))

    def texts(self, count: int) -> list[str]:
        """Return distinct texts that are not empty."""
        result: dict[str, None] = {}
        while len(result) < count:
            text = self._text()
            if text.strip():
                result[text] = None
        self.drawn += count
        return list(result)

    def chance(self, share: float) -> bool:
        """Return true in this share of the calls."""
        return self._random.random() < share
