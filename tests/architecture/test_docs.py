"""Paths that the documentation names exist, and every page and example is listed."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from tests.architecture.source_tree import MACHINE_PATH, PACKAGE, ROOT, line_at, location
from tests.rule_assertions import assert_no_offenders

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROOMS = tuple(f"{path.parent.name}/" for path in sorted(PACKAGE.glob("*/__init__.py")))
TOP = ("src/", "docs/", "tests/", "dev/", "benchmarks/", "examples/")


@cache
def pages() -> dict[Path, str]:
    """Read every page of the documentation once."""
    paths = (*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md")
    return {path: path.read_text(encoding="utf-8") for path in paths}


def named_paths(text: str) -> Iterator[tuple[int, Path]]:
    """Yield the texts between back-ticks that look like a path of this repository, with their lines."""
    prose = re.sub(
        r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL
    )
    for match in re.finditer(r"`([\w./*-]+/[\w./*-]*)`", prose):
        if match[1].startswith(TOP):
            yield line_at(prose, match.start()), ROOT / match[1]
        elif match[1].startswith(ROOMS):
            yield line_at(prose, match.start()), PACKAGE / match[1]


def link_targets(text: str) -> Iterator[tuple[int, str]]:
    """Yield the targets of links to other files, with their lines."""
    for match in re.finditer(r"\]\((?!https?:|mailto:|#)([^)#]+)", text):
        yield line_at(text, match.start()), match[1]


def exists(path: Path) -> bool:
    """Return whether a path, or any path that matches a pattern, exists."""
    return any(ROOT.glob(str(path.relative_to(ROOT)))) if "*" in str(path) else path.exists()


def test_the_rules_see_the_pages() -> None:
    assert {ROOT / "README.md", ROOT / "docs" / "errors.md"} <= set(pages())


def test_a_path_in_a_page_is_recognized() -> None:
    text = "```\n`src/x`\n```\nsee `pipeline/late_imports.py`, `data/` and `a/b`\n`docs/errors.md`\n"

    assert list(named_paths(text)) == [
        (4, PACKAGE / "pipeline/late_imports.py"),
        (5, ROOT / "docs/errors.md"),
    ]


def test_a_link_to_a_file_is_recognized() -> None:
    text = "[a](https://a.example) [b](#b)\n[c](c.md#d) [e](mailto:e@f.example)\n"

    assert list(link_targets(text)) == [(2, "c.md")]


def test_every_path_that_a_page_names_exists() -> None:
    assert_no_offenders(
        (
            f"{location(page, line)}: {path.relative_to(ROOT).as_posix()}"
            for page, text in pages().items()
            for line, path in named_paths(text)
            if not exists(path)
        ),
        "name a path that exists",
    )


def test_every_file_that_a_page_links_to_exists() -> None:
    assert_no_offenders(
        (
            f"{location(page, line)}: {target}"
            for page, text in pages().items()
            for line, target in link_targets(text)
            if not (page.parent / target).exists()
        ),
        "link to a file that exists",
    )


def test_no_page_names_a_path_of_a_machine() -> None:
    assert_no_offenders(
        (
            f"{location(page, line_at(text, match.start()))}: {match[0]}"
            for page, text in pages().items()
            for match in MACHINE_PATH.finditer(text)
        ),
        "name a path below the repository or a placeholder",
    )


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    names = [path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")]

    assert_no_offenders(
        (f"docs/{name}" for name in names if f": {name}" not in navigation),
        "add the page to `nav` in mkdocs.yml",
    )


def test_every_example_is_on_the_page_of_examples() -> None:
    page = pages()[ROOT / "docs" / "examples.md"]
    scripts = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("examples/*.py")]

    assert scripts
    assert_no_offenders(
        (name for name in scripts if f"`{name}`" not in page), "describe the example in docs/examples.md"
    )
