"""Templates with placeholders such as `{resources.users.id}`, for paths, parameters, headers and bodies.

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
    """Looks up a placeholder by its full name, including dots, before the usual lookup."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        """Return the value of a placeholder."""
        if field_name in kwargs:
            return kwargs[field_name], field_name
        return super().get_field(field_name, args, kwargs)


class _QuotingFormatter(_PlaceholderFormatter):
    """Quotes values for use in a URL path."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return the quoted text of a value; raise for dot segments, which quoting does not change."""
        text = str(super().format_field(value, format_spec))
        if text in _DOT_SEGMENTS:
            raise UsageError(
                f"{text!r} in a path changes the address instead of being a value",
                hint="drop such rows of the parent with a filter in its processing_steps",
            )
        return quote(text, safe="")


def placeholders(template: Any) -> Iterator[str]:
    """Yield the placeholders in a text, or in all texts of a list or dict.

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
        for item in template:
            yield from placeholders(item)


def render_template(template: Any, values: Mapping[str, Any], *, keeps_types: bool = False) -> Any:
    """Return the template with its placeholders replaced; doubled braces become single ones.

    With `keeps_types` a text that is a single placeholder becomes the value itself, as bodies need it.

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
        return [render_template(item, values, keeps_types=keeps_types) for item in template]
    return template


def render_path(template: str, values: Mapping[str, Any]) -> str:
    """Return the path with its placeholders replaced; each value is quoted as part of a segment.

    A value at the start may itself be a URL or an absolute path.

    >>> render_path("users/{u.id}/posts", {"u.id": "a/b?c"})
    'users/a%2Fb%3Fc/posts'
    >>> render_path("{u.url}/posts/{u.id}", {"u.url": "https://example.com/users/7", "u.id": "#1"})
    'https://example.com/users/7/posts/%231'
    """
    first = _LEADING_PLACEHOLDER.match(template)
    start = "" if first is None else str(render_template(first[0], values))
    if first is None or not start.startswith(_URL_PREFIXES):
        return _QuotingFormatter().vformat(template, (), values)
    return start + _QuotingFormatter().vformat(template[first.end() :], (), values)


def starts_with_placeholder(template: str) -> bool:
    """Return whether a path begins with a placeholder, so that data may name the host.

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
