"""The first line of a CSV file, cut into fields as Spark cuts it."""

from __future__ import annotations

import csv
import io
import re
from typing import Final, Literal

_LINE: Final = re.compile(r"[^\r\n]*")


def csv_header(
    text: str, *, delimiter: str, quote: str, is_complete: bool, escape: str = '"', comment: str = ""
) -> tuple[str, ...] | None:
    r"""The names in the first line that says something; None where the text ends before that line does.

    >>> csv_header('\ufeffid;"a;b"\n1;2', delimiter=";", quote='"', is_complete=False)
    ('id', 'a;b')
    >>> csv_header("id;na", delimiter=";", quote='"', is_complete=False) is None
    True
    >>> csv_header('"a\\";b";c\n', delimiter=";", quote='"', escape="\\", is_complete=True)
    ('a";b', 'c')
    """
    text = _without_comments(text.removeprefix("\ufeff"), comment)
    escapes = bool(quote and escape) and escape != quote
    if escapes:
        text = _with_plain_escapes(text, delimiter, quote, escape)
    lines = io.StringIO(text, newline="")
    reader = csv.reader(
        lines,
        delimiter=delimiter,
        quotechar=quote or None,
        quoting=_quoting(quote),
        escapechar=escape if escapes else None,
        doublequote=escape == quote,
    )
    for header in reader:
        if not header:
            continue
        if not is_complete and lines.tell() >= len(text):
            return None
        return tuple(header)
    return () if is_complete else None


def _without_comments(text: str, comment: str) -> str:
    """The text from its first line on that is neither empty nor a comment."""
    while comment and (text := text.lstrip("\r\n")).startswith(comment):
        text = _LINE.sub("", text, count=1)
    return text


def _with_plain_escapes(text: str, delimiter: str, quote: str, escape: str) -> str:
    """The text with each escape doubled that Spark takes as it is; the csv module takes every one as such.

    Spark's is one only between quotes, and only before a quote or itself.
    """
    mark, itself = re.escape(quote), re.escape(escape)
    quoted = rf"(?<![^{re.escape(delimiter)}\r\n]){mark}(?:{itself}.|[^{mark}{itself}])*+"
    alone = re.compile(rf"{itself}([{mark}{itself}])?")

    def plain(found: re.Match[str]) -> str:
        if found[1] is None:
            return escape * 2
        return alone.sub(lambda one: one[0] if one[1] else escape * 2, found[1])

    return re.sub(rf"({quoted})|{itself}", plain, text, flags=re.DOTALL)


def _quoting(quote: str) -> Literal[0, 3]:
    return csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
