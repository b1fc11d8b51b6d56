"""Measures how much of the code that people have written for dlt finds its imports in penstock.

`python -m dev.dlt_imports` replaces `dlt` by `penstock` in the recorded references and prints, by corpus, the
share of files that resolve, then the missing names by the number of files that need them.
`python -m dev.dlt_imports record VERIFIED_SOURCES DLT` records the references again from two checkouts.

A reference is `dlt.a` (the module is imported), `dlt.a:b` (the name is imported from it), or `dlt@a.b` (the
attribute `dlt.a.b` is read). Only these facts are stored, and no code.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import textwrap
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import isclass, ismodule
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "tests" / "corpus" / "dlt_imports"
CODE_BLOCK = re.compile(r"^( *)```(?:py|python)\b[^\n]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)

References = tuple[str, ...]


@dataclass(frozen=True)
class Corpus:
    """References to dlt by file, or by the first line of a code block, from one commit of a repository."""

    name: str
    origin: str
    files: Mapping[str, References]

    def missing(self, package: str = "penstock") -> dict[str, References]:
        """Return the references that a package lacks, by file."""
        return {
            path: tuple(reference for reference in references if not resolves(reference, package))
            for path, references in self.files.items()
        }


@dataclass(frozen=True)
class Coverage:
    """The numbers of files whose references resolve, and of those whose imports do."""

    files: int
    resolved: int
    imported: int

    @classmethod
    def of(cls, missing: Mapping[str, References]) -> Coverage:
        """Count the files by what they lack; reading an attribute is no import.

        >>> Coverage.of({"a.py": (), "b.py": ("dlt@hub",), "c.py": ("dlt.hub",)})
        Coverage(files=3, resolved=1, imported=2)
        """
        resolved = sum(not references for references in missing.values())
        imported = sum(not [line for line in lines if "@" not in line] for lines in missing.values())
        return cls(len(missing), resolved, imported)


def corpora() -> list[Corpus]:
    """Read the recorded references."""
    documents = [(path.stem, json.loads(path.read_text("utf-8"))) for path in sorted(FOLDER.glob("*.json"))]
    return [
        Corpus(name, document["origin"], {path: tuple(lines) for path, lines in document["files"].items()})
        for name, document in documents
    ]


@cache
def resolves(reference: str, package: str) -> bool:
    """Return whether a reference to dlt exists in a package."""
    separator = ":" if ":" in reference else "@"
    module, _, name = reference.replace("dlt", package, 1).partition(separator)
    try:
        value: object = import_module(module)
    except ImportError:
        return False
    if separator == ":" and name:
        return name == "*" or _has(value, name) or _is_module(f"{module}.{name}")
    for part in filter(None, name.split(".")):
        if not (ismodule(value) or isclass(value)):
            return True
        if not _has(value, part):
            return False
        value = getattr(value, part)
    return True


def _has(value: object, name: str) -> bool:
    """Return whether a value has a name; one that is refused with its replacement is missing."""
    try:
        return hasattr(value, name)
    except UsageError:
        return False


def _is_module(name: str) -> bool:
    try:
        import_module(name)
    except ImportError:
        return False
    return True


def references(source: str) -> References:
    """Return the references to dlt in Python code, sorted.

    >>> references("from dlt.common import json; dlt.run(json.dumps(1))")
    ('dlt.common:json', 'dlt@run')
    """
    tree = ast.parse(source)
    return tuple(sorted({reference for node in ast.walk(tree) for reference in _references_of(node)}))


def _references_of(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names if alias.name.split(".")[0] == "dlt")
        case ast.ImportFrom(module=str(module), names=names, level=0) if module.split(".")[0] == "dlt":
            yield from (f"{module}:{alias.name}" for alias in names)
        case ast.Attribute():
            text = ast.unparse(node)
            if re.fullmatch(r"dlt(\.\w+)+", text):
                yield text.replace(".", "@", 1)
        case _:
            pass


def without_prefixes(lines: References) -> References:
    """Leave out the attributes that a longer chain of attributes repeats."""
    return tuple(
        line for line in lines if "@" not in line or not any(other.startswith(f"{line}.") for other in lines)
    )


def code_blocks(page: str) -> Iterator[tuple[int, str]]:
    """Yield the Python code blocks of a Markdown page with the lines where they begin."""
    for block in CODE_BLOCK.finditer(page):
        yield page.count("\n", 0, block.start()) + 1, textwrap.dedent(block[2])


def recorded(files: Mapping[str, str]) -> dict[str, References]:
    """Return the references of the files that import dlt; code that is no valid Python is left out."""
    by_file = {}
    for path, source in files.items():
        try:
            lines = references(source)
        except SyntaxError:
            continue
        if any("@" not in line for line in lines):
            by_file[path] = without_prefixes(lines)
    return by_file


def tracked(checkout: str, folder: str, suffix: str) -> dict[str, str]:
    """Return the texts of the tracked files below a folder, by path."""
    listing = _git(checkout, "ls-tree", "-r", "--name-only", "HEAD", folder).split("\n")
    return {path: _git(checkout, "show", f"HEAD:{path}") for path in listing if path.endswith(suffix)}


def _git(checkout: str, *arguments: str) -> str:
    command = ["git", "-C", checkout, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def record(verified_sources: str, dlt: str) -> None:
    """Write the references of the two checkouts to the folder of the corpora."""
    pages = tracked(dlt, "docs/website/docs", ".md")
    blocks = {f"{path}:{line}": code for path, page in pages.items() for line, code in code_blocks(page)}
    examples = {
        path: source
        for folder in ("docs/examples", "docs/website", "docs/education")
        for path, source in tracked(dlt, folder, ".py").items()
    }
    _write("verified_sources", verified_sources, tracked(verified_sources, "sources", ".py"))
    _write("verified_sources_tests", verified_sources, tracked(verified_sources, "tests", ".py"))
    _write("docs_blocks", dlt, blocks)
    _write("docs_examples", dlt, examples)


def _write(name: str, checkout: str, files: Mapping[str, str]) -> None:
    commit = _git(checkout, "rev-parse", "--short=12", "HEAD").strip()
    repository = "dlt-hub/verified-sources" if name.startswith("verified") else "dlt-hub/dlt"
    document = {"origin": f"{repository}@{commit}", "files": recorded(files)}
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", "utf-8")


def main(arguments: list[str]) -> None:
    """Record the corpora, or print how much of them resolves."""
    if arguments[:1] == ["record"]:
        record(*arguments[1:])
        return
    needed: Counter[str] = Counter()
    for corpus in corpora():
        missing = corpus.missing(*arguments)
        coverage = Coverage.of(missing)
        needed.update(line for lines in missing.values() for line in lines)
        print(
            f"{corpus.name:<24}{coverage.resolved:>4} of {coverage.files:>3} resolve:"
            f" {coverage.resolved / coverage.files:6.1%},"
            f" imports alone {coverage.imported / coverage.files:6.1%} ({corpus.origin})"
        )
    print()
    for reference, files in needed.most_common():
        print(f"{files:>4}  {reference}")


if __name__ == "__main__":
    main(sys.argv[1:])
