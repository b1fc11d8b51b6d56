"""Texts with placeholders: `{resources.users.id}` in paths, parameters, headers and bodies.

Also runs where penstock is not installed.
"""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LEADING_PLACEHOLDER: Final = re.compile(r"\{[^{}]+\}")
_URL_PREFIXES: Final = ("http://", "https://", "/")
_DOT_SEGMENTS: Final = (".", "..")


class _PlaceholderFormatter(string.Formatter):
    """Knows whole expressions by name, dots and all; others are looked up as usual."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        """The value of an expression."""
        if field_name in kwargs:
            return kwargs[field_name], field_name
        return super().get_field(field_name, args, kwargs)


class _QuotingFormatter(_PlaceholderFormatter):
    """Writes values so that they mean themselves in an address."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """The text of a value, quoted; what no quotes help is refused."""
        text = str(super().format_field(value, format_spec))
        if text in _DOT_SEGMENTS:
            raise UsageError(
                f"{text!r} in a path is a step to another address, and no value",
                hint="leave such rows of the parent out, with a filter in its processing_steps",
            )
        return quote(text, safe="")


def placeholders(template: Any) -> Iterator[str]:
    """All placeholders of a text, or of the texts in a list or dict.

    >>> sorted(placeholders({"a": ["{x.y}", 1], "{z}": "{{no}}"}))
    ['x.y', 'z']
    """
    if isinstance(template, str):
        yield from (name for _, name, _, _ in string.Formatter().parse(template) if name)
    elif isinstance(template, dict):
        for key, value in template.items():
            yield from placeholders(key)
            yield from placeholders(value)
    elif isinstance(template, (list, tuple)):
        for one in template:
            yield from placeholders(one)


def render_template(template: Any, values: Mapping[str, Any], *, keeps_types: bool = False) -> Any:
    """The template with its placeholders filled; doubled braces become single ones.

    With `keeps_types` a text that is one placeholder becomes the value itself, which bodies want.

    >>> render_template("users/{resources.users.id}", {"resources.users.id": 7})
    'users/7'
    >>> render_template({"id": "{u.id}", "text": "no {u.id}"}, {"u.id": 7}, keeps_types=True)
    {'id': 7, 'text': 'no 7'}
    """
    if isinstance(template, str):
        name = _sole_placeholder(template) if keeps_types else None
        if name is not None:
            return _PlaceholderFormatter().get_field(name, (), values)[0]
        return _PlaceholderFormatter().vformat(template, (), values)
    if isinstance(template, dict):
        return {
            render_template(key, values, keeps_types=keeps_types): render_template(
                value, values, keeps_types=keeps_types
            )
            for key, value in template.items()
        }
    if isinstance(template, (list, tuple)):
        return [render_template(one, values, keeps_types=keeps_types) for one in template]
    return template


def render_path(template: str, values: Mapping[str, Any]) -> str:
    """The path with its placeholders filled, each value a segment or a part of one, whatever is in it.

    A value at the beginning may be an address itself, whole or from its first slash on.

    >>> render_path("users/{u.id}/posts", {"u.id": "a/b?c"})
    'users/a%2Fb%3Fc/posts'
    >>> render_path("{u.url}/posts/{u.id}", {"u.url": "https://example.com/users/7", "u.id": "#1"})
    'https://example.com/users/7/posts/%231'
    """
    first = _LEADING_PLACEHOLDER.match(template)
    begin = "" if first is None else str(render_template(first[0], values))
    if first is None or not begin.startswith(_URL_PREFIXES):
        return _QuotingFormatter().vformat(template, (), values)
    return begin + _QuotingFormatter().vformat(template[first.end() :], (), values)


def starts_with_placeholder(template: str) -> bool:
    """Whether a path begins with a placeholder, so that data may say which host is asked.

    >>> starts_with_placeholder("{u.url}/posts"), starts_with_placeholder("https://example.com/{u.id}")
    (True, False)
    """
    return _LEADING_PLACEHOLDER.match(template) is not None


def _sole_placeholder(template: str) -> str | None:
    parts = list(string.Formatter().parse(template))
    if len(parts) == 1:
        literal, name, form, conversion = parts[0]
        if not literal and name and not form and conversion is None:
            return name
    return None
