"""HTML elements whose texts and attributes are escaped, and tables of them."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_VOID_TAGS: Final = frozenset(("br", "hr", "input", "link", "meta", "path", "rect"))
# Characters that HTML does not allow, and halves of surrogate pairs, which no encoding can write.
_INVALID: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_REPLACEMENT: Final = "\ufffd"
NO_VALUE: Final = "–"  # noqa: RUF001 - the dash of an empty cell


class Html(str):
    """HTML that is inserted unchanged, where other texts are escaped."""

    __slots__ = ()


Content: TypeAlias = "str | int | float | Iterable[Content] | None"
"""HTML, and texts and numbers, which are escaped; iterables of them, and None, which is empty."""


def fragment(*content: Content) -> Html:
    """Return contents as HTML, one after the other.

    >>> fragment("1 < 2", Html("<br>"), ["a", None, 3])
    '1 &lt; 2<br>a3'
    """
    return Html("".join(map(_rendered, content)))


def element(tag: str, *content: Content, **attributes: str | float | bool | None) -> Html:
    """Return an element; `_` in the name of an attribute is `-`, and at its end nothing.

    An attribute that is None or False is left out, one that is True has no value.

    >>> element("a", "<b>", href='?"', class_="name", aria_current=True, id=None)
    '<a href="?&quot;" class="name" aria-current>&lt;b&gt;</a>'
    """
    opening = "".join([tag, *map(_attribute, attributes, attributes.values())])
    return Html(f"<{opening}>" if tag in _VOID_TAGS else f"<{opening}>{fragment(*content)}</{tag}>")


def table_element(
    caption: str, headers: Sequence[str], rows: Iterable[Sequence[Content]], *, numbers: Iterable[str] = ()
) -> Html:
    """Return a table in a box that scrolls; the first cell of a row is its header.

    `numbers` are the headers of columns that are aligned to the right.

    >>> print(table_element("Rows", ["table"], [["orders"]])[-65:])
    <tbody><tr><th scope="row">orders</th></tr></tbody></table></div>
    """
    alignments = ["number" if header in frozenset(numbers) else None for header in headers]
    head = [
        element("th", header, scope="col", class_=alignment)
        for header, alignment in zip(headers, alignments, strict=True)
    ]
    body = [
        element(
            "tr",
            (
                element("td", NO_VALUE if cell is None else cell, class_=alignment)
                if number
                else element("th", cell, scope="row")
                for number, (cell, alignment) in enumerate(zip(row, alignments, strict=True))
            ),
        )
        for row in rows
    ]
    content = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", head)),
        element("tbody", body),
    )
    return element("div", content, class_="scroll", role="group", aria_label=caption, tabindex=0)


def facts(pairs: Iterable[tuple[str, Content]]) -> Html:
    """Return a list of names with their values; pairs without a value are left out.

    >>> facts([("rows", 3), ("bytes", None)])
    '<dl class="facts"><div><dt>rows</dt><dd>3</dd></div></dl>'
    """
    return element(
        "dl",
        (
            element("div", element("dt", name), element("dd", value))
            for name, value in pairs
            if value is not None
        ),
        class_="facts",
    )


def _rendered(content: Content) -> str:
    if isinstance(content, Html):
        return content
    if content is None:
        return ""
    if isinstance(content, str | int | float):
        return _escaped(str(content))
    return "".join(map(_rendered, content))


def _escaped(text: str) -> str:
    return escape(_INVALID.sub(_REPLACEMENT, text))


def _attribute(name: str, value: str | float | bool | None) -> str:  # noqa: FBT001 - the value of an attribute
    if value is None or value is False:
        return ""
    attribute = name.rstrip("_").replace("_", "-")
    return f" {attribute}" if value is True else f' {attribute}="{_escaped(str(value))}"'
