"""Code blocks of the README and of the pages in `docs/`, and what the tests do with each.

A comment above a block marks it:

- `<!-- run with Spark -->`: it runs in `tests/flow`, all others run in `tests/unit`.
- `<!-- run by tests/flow/test_files.py -->`: that test runs it.
- `<!-- not run: needs a cluster -->`: it is parsed, and its names of penstock exist.
- `<!-- exits with 3 -->`: the exit code of its last command; -9 for a process that kills itself.
- `<!-- answers y -->`: what is typed at the question of a command in a `console` block.
- `<!-- setup`, lines of Python, `-->`: run before the block, not shown.

The outputs in a `console` block are compared. A line `...` in an output stands for lines that the page
leaves out.

`python -m tests.doc_blocks` prints how many blocks are run, parsed and marked.
"""

from __future__ import annotations

import re
import shlex
import sys
import textwrap
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

ROOT: Final = Path(__file__).parents[1]
SHELLS: Final = ("bash", "sh", "console")
DOCUMENTS: Final = ("toml", "yaml", "json")
COMMANDS: Final = ("penstock", "python")
"""Commands of shell blocks that are run; `pip install` is parsed."""

Treatment = Literal["run", "run with Spark", "run by a test", "output", "parsed", "not run", "text"]

_FENCE: Final = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)(?P<options>[^\n]*)\n(?P<text>.*?)^(?P=indent)``` *$",
    re.MULTILINE | re.DOTALL,
)
_COMMENT: Final = re.compile(r"<!--\s*(.*?)\s*-->", re.DOTALL)
_COMMENTS_BEFORE: Final = re.compile(r"(?:^ *<!--(?:(?!-->).)*-->\s*)+\Z", re.MULTILINE | re.DOTALL)
_TITLE: Final = re.compile(r'title="([^"]+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class DocBlock:
    """A fenced block of a page."""

    page: str
    """The path of the page below the root of the repository."""
    line: int
    """The line of the page with the first line of the text."""
    language: str
    title: str
    """The name of the file that the block shows, or nothing."""
    text: str
    treatment: Treatment
    setup: str = ""
    reason: str = ""
    """Why the block is not run, or the test that runs it."""
    exit_code: int = 0
    answers: str = ""
    """What is typed at the questions of its commands."""

    def __str__(self) -> str:
        """Return the place of the block."""
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """The commands of a shell block in words, without prompts, outputs and comments."""
        lines = self.text.replace("\\\n", " ").splitlines()
        if self.language == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return tuple(tuple(words) for line in lines if (words := shlex.split(line, comments=True)))


@cache
def doc_pages() -> tuple[str, ...]:
    """Return the paths of all pages with blocks, below the root of the repository."""
    paths = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md")))
    return tuple(path.relative_to(ROOT).as_posix() for path in paths if "```" in path.read_text("utf-8"))


@cache
def doc_blocks(page: str) -> tuple[DocBlock, ...]:
    """Return the blocks of a page in their order."""
    text, end, blocks = (ROOT / page).read_text(encoding="utf-8"), 0, list[DocBlock]()
    for fence in _FENCE.finditer(text):
        between = text[end : fence.start()]
        blocks.append(_block(page, text, fence, between, blocks[-1] if blocks else None))
        end = fence.end()
    return tuple(blocks)


def _block(page: str, text: str, fence: re.Match[str], between: str, previous: DocBlock | None) -> DocBlock:
    comments = _COMMENTS_BEFORE.search(between)
    markers = [comment[1] for comment in _COMMENT.finditer(comments[0] if comments else "")]
    title = _TITLE.search(fence["options"])
    follows = previous is not None and not _COMMENT.sub("", between).strip()
    treatment, reason = _treatment(fence["language"], markers)
    if treatment == "text" and follows and previous is not None:
        treatment = "output" if previous.treatment in {"run", "run with Spark"} else "text"
    return DocBlock(
        page=page,
        line=text.count("\n", 0, fence.start("text")) + 1,
        language=fence["language"],
        title=title[1] if title else "",
        text=textwrap.dedent(fence["text"]),
        treatment=treatment,
        setup="".join(marker.removeprefix("setup\n") for marker in markers if marker.startswith("setup\n")),
        reason=reason,
        answers="".join(f"{marker[8:]}\n" for marker in markers if marker.startswith("answers ")),
        exit_code=next((int(marker[11:]) for marker in markers if marker.startswith("exits with ")), 0),
    )


def _treatment(language: str, markers: list[str]) -> tuple[Treatment, str]:
    for marker in markers:
        if marker.startswith("not run:"):
            return "not run", marker.partition(":")[2].strip()
        if run_by := re.search(r"\brun by (tests/[\w/]+\.py)", marker):
            return "run by a test", run_by[1]
    if language in DOCUMENTS:
        return "parsed", ""
    if language == "python" or language in SHELLS:
        return ("run with Spark" if "run with Spark" in markers else "run"), ""
    return "text", ""


def main() -> None:
    """Print the number of blocks of each treatment, and the reasons of those that are not run."""
    blocks = [block for page in doc_pages() for block in doc_blocks(page)]
    counts = Counter((block.treatment, block.language or "no language") for block in blocks)
    sys.stdout.write(f"{len(blocks)} blocks on {len(doc_pages())} pages\n")
    for (treatment, language), count in sorted(counts.items()):
        sys.stdout.write(f"  {treatment}, {language}: {count}\n")
    for block in blocks:
        if block.treatment in {"not run", "run by a test"}:
            sys.stdout.write(f"  {block}: {block.treatment}: {block.reason}\n")


if __name__ == "__main__":
    main()
