"""The programs of docs/rest.md that call an API by themselves run against a server on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.doc_blocks import doc_blocks
from tests.restapi import Api

if TYPE_CHECKING:
    import pytest

PAGE = "docs/rest.md"
THIS_TEST = "tests/unit/docs/test_rest_client_page.py"


def test_the_client_reads_all_pages_and_single_answers(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}

    with Api() as api:
        # The server of the tests sends the links of pages in headers at this path.
        for block in (block for block in doc_blocks(PAGE) if block.reason == THIS_TEST):
            text = block.text.replace("https://api.example.com", api.url)
            exec(text.replace('"orders"', '"header"'), names)
        paths = [path.partition("?")[0] for path in api.paths]

    assert capsys.readouterr().out.splitlines() == ["10 200", "10 200", "5 200"]
    assert paths == ["/header"] * 3 + ["/orders"] * 2
