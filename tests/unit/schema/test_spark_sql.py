"""Identifiers and literals of Spark SQL, read back by a lexer that follows Spark's grammar."""

from __future__ import annotations

import re

import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from penstock.schema.spark_sql import literal, quote_name

# Texts with a special meaning in Python, SQL or Spark; tests join several of them.
SPECIAL_TEXTS = (
    *("'", '"', "`", "\\", "\\\\", "''", "``", "\\'", "\\n", "\\u0041", "\\U0001F600", "\\101", "\\%", "\\_"),
    *(
        "${",
        "}",
        "${env:PATH}",
        "${system:user.home}",
        "${spark.app.name}",
        "$",
        "{",
        "\x00",
        "1",
        "77",
        "\x1a",
    ),
    *("--", "/*", "*/", ";", "\n", "\r\n", "\t", "\u2028", "\x85", "\ufeff", "😀", "é", "%", "_", ":p", "?"),
    *("' OR '1'='1", "'; DROP TABLE t; --", "x'41'", "r'", "SELECT 1", ".", "[0]", '["a"]', "$.a", "*", " "),
)
texts = st.lists(
    st.sampled_from(SPECIAL_TEXTS) | st.text(st.characters(codec="utf-8"), max_size=3), max_size=8
).map("".join)

_SUBSTITUTED = re.compile(r"\$\{(?:(\w+?):)?(\S+?)\}")
"""A variable, as Spark substitutes it in SQL."""
_LITERAL = re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL)
_IDENTIFIER = re.compile(r"`(?:[^`]|``)*`")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))", re.DOTALL)
_LETTERS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def read_back(text: str) -> str:
    """Return the value of a literal by the rules of Spark's parser."""

    def character(escape: re.Match[str]) -> str:
        four, eight, octal, letter = escape.groups()
        if letter is not None:
            return _LETTERS.get(letter, letter)
        return chr(int(four or eight, 16)) if four or eight else chr(int(octal, 8))

    return _ESCAPE.sub(character, text[1:-1])


@given(texts)
def test_a_literal_is_one_token_with_the_value_of_the_text(text: str) -> None:
    assert _LITERAL.fullmatch(literal(text))
    assert read_back(literal(text)) == text


@given(texts)
def test_a_literal_has_no_variable_and_no_control_character(text: str) -> None:
    assert not _SUBSTITUTED.search(literal(text))
    assert not re.search(r"[\x00-\x1f\x7f]", literal(text))


@given(st.lists(texts, min_size=1, max_size=3))
def test_an_identifier_is_one_token_with_the_name(names: list[str]) -> None:
    tokens = [quote_name(name) for name in names]

    assert all(_IDENTIFIER.fullmatch(token) for token in tokens)
    assert [token[1:-1].replace("``", "`") for token in tokens] == names
    assert quote_name(*names) == ".".join(tokens)


@given(texts.filter(bool), texts)
def test_another_parser_reads_the_same_statement(name: str, text: str) -> None:
    # sqlglot reads no four-digit escapes, so control characters are left out here.
    text = re.sub(r"[\x00-\x1f\x7f]", "", text)

    tree = sqlglot.parse_one(f"SELECT {literal(text)} AS {quote_name(name)}", read="spark")

    (column,) = tree.expressions
    assert isinstance(column, exp.Alias)
    assert column.alias == name
    assert isinstance(column.this, exp.Literal)
