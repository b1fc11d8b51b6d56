"""Pages: they load nothing, and allow only their own styles and script."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode

from tests.unit.pages.test_elements import HOSTILE, Reader

from penstock.pages.elements import element
from penstock.pages.page import notebook_fragment, page

PAGE = page(HOSTILE, header=HOSTILE, sections=[("rows", HOSTILE, HOSTILE)], footer=HOSTILE)


def digest(text: str) -> str:
    return "'sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def test_the_policy_allows_the_styles_and_the_script_of_the_page_alone() -> None:
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', PAGE)
    (style,) = re.findall(r"<style>(.*?)</style>", PAGE, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", PAGE, re.DOTALL)

    policy = policy.replace("&#x27;", "'")
    assert policy.startswith("default-src 'none'; ")
    assert f"style-src {digest(style)}" in policy
    assert f"script-src {digest(script)}" in policy


def test_a_page_loads_nothing() -> None:
    assert not re.search(r"https?:|//[a-z]|@import|url\(|\bsrc=", PAGE)


def test_texts_of_a_page_are_escaped() -> None:
    assert PAGE.count("<script") == 1
    assert Reader(PAGE).tags.count("script") == 1


def test_a_page_has_landmarks_headings_and_a_link_that_skips_to_the_content() -> None:
    tags = Reader(PAGE).tags

    assert {"header", "nav", "main", "footer", "h1", "h2"} <= set(tags)
    assert tags.index("a") < tags.index("header")
    assert 'href="#content"' in PAGE
    assert '<html lang="en">' in PAGE


def test_a_fragment_for_notebooks_has_its_styles_and_no_script() -> None:
    html = notebook_fragment(element("p", HOSTILE))

    assert Reader(html).tags == ["div", "style", "p"]


def test_the_styles_of_a_fragment_take_precedence_over_those_of_jupyterlab() -> None:
    # JupyterLab's selector of cells has two classes: :not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon td
    style = notebook_fragment().partition("<style>")[2].partition("</style>")[0]
    selectors = re.findall(r"^ *(\.penstock[^,{\n]*)", style, re.MULTILINE)

    assert selectors
    assert all(selector.startswith(".penstock.notebook") for selector in selectors)
    assert ".penstock.notebook.notebook td " in selectors
