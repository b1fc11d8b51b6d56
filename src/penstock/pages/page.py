"""Whole pages, and fragments for notebooks, with their styles."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from penstock.pages.elements import Html, element, fragment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.pages.elements import Content

_PARTS_STYLE, _PAGE_STYLE, _NOTEBOOK_STYLE, _SCRIPT = "parts.css", "page.css", "notebook.css", "page.js"
Section = tuple[str, str, "Content"]
"""A section: the name of its anchor, its title and its content."""
_THEMES: Final = {"": "as the system", "light": "light", "dark": "dark"}
_DOCTYPE: Final = Html("<!doctype html>\n")


def page(title: str, *, header: Content, sections: Sequence[Section], footer: Content) -> Html:
    """Return a page that loads nothing: its policy forbids everything but its own styles and script."""
    style, script = _asset(_PARTS_STYLE) + _asset(_PAGE_STYLE), _asset(_SCRIPT)
    policy = (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Html(style)),
    )
    links = [element("li", element("a", name, href=f"#{anchor}")) for anchor, name, _ in sections]
    body = element(
        "body",
        element("a", "Skip to the content", href="#content", class_="skip"),
        element(
            "header",
            element("div", element("h1", title), _theme_switch(), class_="title"),
            header,
        ),
        element("nav", element("ul", links), aria_label="Sections") if links else None,
        element("main", map(_section, sections), id="content", tabindex=-1),
        element("footer", footer),
        element("script", Html(script)),
        class_="penstock",
    )
    return fragment(_DOCTYPE, element("html", head, body, lang="en"))


def notebook_fragment(*content: Content) -> Html:
    """Return a part of a page for the output of a notebook's cell, in the colors of the notebook."""
    # Notebooks have styles of their own for tables and lists: three classes take precedence over them.
    parts = _asset(_PARTS_STYLE).replace(".penstock", ".penstock.notebook.notebook")
    style = parts + _asset(_NOTEBOOK_STYLE)
    return element("div", element("style", Html(style)), content, class_="penstock notebook")


def _section(section: Section) -> Html:
    anchor, title, content = section
    heading = f"{anchor}-title"
    return element("section", element("h2", title, id=heading), content, id=anchor, aria_labelledby=heading)


def _theme_switch() -> Html:
    choices = [element("option", text, value=value) for value, text in _THEMES.items()]
    # Without the script the switch would do nothing, so that the script shows it.
    return element("label", "Colors ", element("select", choices, id="theme"), class_="theme", hidden=True)


@cache
def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()
