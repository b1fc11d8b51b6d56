"""`docs/llms.txt` lists the pages of the navigation, and the API pages have every public name."""

from __future__ import annotations

import inspect
import os
import re
from typing import TYPE_CHECKING, Any

import yaml
from tests.doc_blocks import ROOT
from tests.rule_assertions import assert_no_offenders

import penstock

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
INDEX = ROOT / "docs" / "llms.txt"


def test_the_index_lists_the_pages_of_the_navigation() -> None:
    sections = "\n\n".join(
        f"## {title}\n\n" + "\n".join(_entry(name, path) for name, path in _pages(entries))
        for section in CONFIG["nav"]
        for title, entries in section.items()
    )
    text = f"# {CONFIG['site_name']}\n\n> {CONFIG['site_description']}\n\n{sections}\n"
    if os.environ.get("PENSTOCK_TEST_GOLDEN") == "write":
        INDEX.write_text(text, encoding="utf-8")

    assert INDEX.read_text(encoding="utf-8") == text, "PENSTOCK_TEST_GOLDEN=write writes the file"


def test_every_public_function_and_class_is_on_a_page_of_the_api() -> None:
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "api").glob("*.md"))
    documented = set(re.findall(r"^::: (\S+)$", pages, re.MULTILINE))
    values = [getattr(penstock, name) for name in penstock.__all__]

    assert_no_offenders(
        (
            f"{value.__module__}.{value.__qualname__}"
            for value in values
            if inspect.isclass(value) or inspect.isfunction(value)
            if f"{value.__module__}.{value.__qualname__}" not in documented
        ),
        "add the name to a page in docs/api",
    )


def _pages(entries: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for entry in entries:
        for name, value in entry.items():
            if isinstance(value, str):
                yield name, value
            else:
                yield from _pages(value)


def _entry(name: str, path: str) -> str:
    """Return the line of a page: its title, its address below the site, and its first sentence."""
    address = re.sub(r"(?:index)?\.md$", "", path)
    address = f"{address.rstrip('/') or '.'}/"
    return f"- [{name}]({address}): {_summary(path)}"


def _summary(path: str) -> str:
    text = (ROOT / "docs" / path).read_text(encoding="utf-8")
    prose = re.sub(
        r"<!--.*?-->|<figure.*?</figure>|```.*?```|^[#|!][^\n]*$", "", text, flags=re.DOTALL | re.MULTILINE
    )
    paragraph = next((part for part in re.split(r"\n\s*\n", prose) if part.strip()), "")
    plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
    return re.split(r"(?<=[.?])\s", plain)[0].removeprefix("**The errand:** ")
