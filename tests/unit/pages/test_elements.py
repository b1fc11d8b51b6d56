"""HTML elements: any text is shown as it is, and never becomes HTML."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.pages.elements import Html, element, facts, fragment, table_element

HOSTILE = '</script><script>alert("x")</script>'


class Reader(HTMLParser):
    """Reads tags, attributes and texts as a browser does."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: dict[str, str | None] = {}
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= dict(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text(), st.text())
def test_any_text_and_attribute_is_escaped(text: str, value: str) -> None:
    html = element("p", text, title=value)

    reader = Reader(html)
    assert reader.tags == ["p"]
    assert len(reader.text) == len(text)
    assert html.encode("utf-8")


@pytest.mark.parametrize("text", ["\0", "\x1b[31m", "\ud800", "\ufffe", "\x85"])
def test_a_character_that_html_does_not_allow_is_replaced(text: str) -> None:
    html = element("p", text, title=text)

    assert text[0] not in html
    assert html.count("\ufffd") == 2


def test_html_is_inserted_unchanged() -> None:
    assert fragment(element("b", "<"), [Html("<i>"), None, 1.5]) == "<b>&lt;</b><i>1.5"


def test_cells_and_headers_of_a_table_are_escaped() -> None:
    html = table_element(HOSTILE, [HOSTILE], [[HOSTILE], [None]], numbers=[HOSTILE])

    reader = Reader(html)
    assert "script" not in reader.tags
    assert reader.text.count(HOSTILE) == 3
    assert reader.attributes["aria-label"] == HOSTILE


def test_a_cell_without_a_value_has_a_dash() -> None:
    assert "<td>\u2013</td>" in table_element("Rows", ["table", "rows"], [["orders", None]])


def test_a_fact_without_a_value_is_left_out() -> None:
    assert facts([("rows", None)]) == '<dl class="facts"></dl>'
