"""A URL of JDBC without what logs in: every driver has a place of its own for that."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, unquote_plus

from penstock.redaction import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LOGIN_NAMES: Final = {"user": "user", "username": "user", "password": "password"}
_ORACLE_URL: Final = re.compile(r'^(jdbc:oracle:\w+:)([^/@]*)/("[^"]*"|[^@]*)(@.*)$')
# What stands behind a semicolon or a question mark are properties, whatever signs are in them; but these
# drivers take a semicolon for a part of the password.
_AUTHORITY_URL: Final = re.compile(r"^(jdbc:[^/]*//)([^/@:;?]*)(?::([^/?;]*))?@(.*)$")
_AUTHORITY_WITH_SEMICOLONS: Final = re.compile(
    r"^(jdbc:(?:mysql|mariadb|postgresql)[^/]*//)([^/@:?]*)(?::([^/?]*))?@(.*)$"
)
_AFTER_COLON: Final = re.compile(r"^(jdbc:[^/]*//[^/;?]*/[^:;?]*):([^;?]*=.*)$", re.DOTALL)
# One part of a list that semicolons separate; those in braces are part of a value, and }} is a brace in it.
_PART: Final = re.compile(r"(?:[^;{]|\{(?:[^}]|\}\})*\}(?!\})|\{)+")
_BRACED: Final = re.compile(r"\{(.*)\}", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcUrl:
    """A URL taken apart. Pairs are as they were written."""

    prefix: str
    pairs: tuple[str, ...]
    opening: str
    """What stands before the pairs."""
    separator: str
    closing: str
    login: Mapping[str, str]

    @property
    def url(self) -> str:
        """The URL, put together again."""
        told = self.opening + self.separator.join(self.pairs) + self.closing if self.pairs else ""
        return f"{self.prefix}{told}"


def parse_jdbc_url(url: str) -> JdbcUrl:
    """A URL with its login apart: users, passwords, and whatever else is called a secret.

    >>> parts = parse_jdbc_url("jdbc:oracle:thin:scott/tiger@db:1521:shop")
    >>> parts.url, parts.login
    ('jdbc:oracle:thin:@db:1521:shop', {'user': 'scott', 'password': 'tiger'})
    """
    login: dict[str, str] = {}
    if found := _ORACLE_URL.match(url):
        url = found[1] + found[4]
        login = {"user": found[2], "password": found[3].strip('"')}
    elif found := _AUTHORITY_WITH_SEMICOLONS.match(url) or _AUTHORITY_URL.match(url):
        url = found[1] + found[4]
        login = {"user": unquote(found[2])} | ({"password": unquote(found[3])} if found[3] else {})
    if found := _AFTER_COLON.match(url):
        return _without_secrets(found[1], _PART.findall(found[2]), (":", ";", ";"), login, decode=str)
    if ";" in url.partition("?")[0]:
        head, *pairs = _PART.findall(url)
        return _without_secrets(head, pairs, (";", ";", ""), login, decode=_without_braces)
    head, _, query = url.partition("?")
    return _without_secrets(
        head, query.split("&") if query else [], ("?", "&", ""), login, decode=unquote_plus
    )


def _without_secrets(
    prefix: str,
    pairs: list[str],
    delimiters: tuple[str, str, str],
    login: Mapping[str, str],
    *,
    decode: Callable[[str], str],
) -> JdbcUrl:
    told, kept = dict(login), []
    for pair in pairs:
        name, _, value = pair.partition("=")
        own = _LOGIN_NAMES.get(name.strip().lower())
        if own or is_secret_name(name):
            told[own or name.strip()] = decode(value)
        else:
            kept.append(pair)
    first, between, last = delimiters
    return JdbcUrl(
        prefix=prefix, pairs=tuple(kept), opening=first, separator=between, closing=last, login=told
    )


def _without_braces(value: str) -> str:
    found = _BRACED.fullmatch(value.strip())
    return found[1].replace("}}", "}") if found else value
