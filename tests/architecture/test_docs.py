"""Paths that the documentation names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOUSE = ROOT / "src" / "penstock"
PAGES = {
    path.relative_to(ROOT).as_posix(): path
    for path in (*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md")
}
ROOMS = tuple(f"{path.parent.name}/" for path in sorted(HOUSE.glob("*/__init__.py")))
TOP = ("src/", "docs/", "tests/", "dev/", "benchmarks/", "examples/")
MACHINE_PATH = re.compile(r"(?<![\w.:/])/(?:work|home|root|tmp|Users|mnt|opt|var|private)/\w")


def named_paths(text: str) -> list[Path]:
    """Texts between back-ticks that look like a path of this repository."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    found: list[Path] = []
    for name in re.findall(r"`([\w./*-]+/[\w./*-]*)`", prose):
        if name.startswith(TOP):
            found.append(ROOT / name)
        elif name.startswith(ROOMS):
            found.append(HOUSE / name)
    return found


def linked_files(page: Path) -> list[Path]:
    targets = re.findall(r"\]\((?!https?:|mailto:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    return [page.parent / target for target in targets]


def exists(path: Path) -> bool:
    return any(ROOT.glob(str(path.relative_to(ROOT)))) if "*" in str(path) else path.exists()


def test_a_path_is_known_when_it_is_seen() -> None:
    text = "see `pipeline/stages.py`, `docs/errors.md`, `data/` and `a/b`\n```\n`src/x`\n```\n"

    assert named_paths(text) == [HOUSE / "pipeline/stages.py", ROOT / "docs/errors.md"]


@pytest.mark.parametrize("name", PAGES)
def test_every_path_that_a_page_names_exists(name: str) -> None:
    named = named_paths(PAGES[name].read_text(encoding="utf-8"))

    assert [str(path) for path in named if not exists(path)] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_file_that_a_page_links_to_exists(name: str) -> None:
    assert [str(path) for path in linked_files(PAGES[name]) if not path.exists()] == []


@pytest.mark.parametrize("name", PAGES)
def test_no_page_names_a_machines_path(name: str) -> None:
    assert MACHINE_PATH.findall(PAGES[name].read_text(encoding="utf-8")) == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")]

    assert [page for page in pages if f": {page}" not in navigation] == []


def test_every_example_is_on_the_page_of_examples() -> None:
    page = PAGES["docs/examples.md"].read_text(encoding="utf-8")
    scripts = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("examples/*.py")]

    assert scripts
    assert [name for name in scripts if f"`{name}`" not in page] == []
