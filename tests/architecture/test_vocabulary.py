"""Names and docstrings of the package use plain words, and its classes and modules are worth their names."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
from tests.architecture.source_tree import source_files
from tests.architecture.test_import_cycles import imports
from tests.architecture.vocabulary import (
    ALLOWED_CLASSES,
    ALLOWED_SMALL_MODULES,
    EXCEPTIONS,
    MOST_EXCEPTIONS,
    RETIRED_NAMES,
    RETIRED_OPENINGS,
    RETIRED_PARTS,
    RETIRED_PHRASES,
    SMALL_MODULE_LINES,
)
from tests.rule_assertions import assert_no_offenders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Finding = tuple[int, str]
"""A line and the word that the rule recognized on it."""

PHRASE = re.compile(
    rf"(?<![\w-])(?:{'|'.join(sorted(RETIRED_PHRASES, key=len, reverse=True))})(?![\w-])", re.I
)
CODE = re.compile(r"```.*?```|`[^`]*`|^ *(?:>>>|\.\.\.).*$", re.DOTALL | re.MULTILINE)
"""Parts of a docstring that are no prose: code and doctests."""


def names(nodes: Iterable[ast.AST]) -> Iterator[Finding]:
    """Yield the names that are defined: classes, functions, parameters and variables."""
    for node in nodes:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)):
                yield node.lineno, name
            case _:
                pass


def without_pairs(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Leave out `left` beside a `right` on the same line: the two sides of a join or a union."""
    findings = list(findings)
    for line, name in findings:
        if name != "left" or (line, "right") not in findings:
            yield line, name


def is_retired(name: str) -> bool:
    """Return whether a name is retired, or a word between its underscores."""
    plain = name.strip("_").lower()
    return plain in RETIRED_NAMES or not RETIRED_PARTS.isdisjoint(plain.split("_"))


def docstrings(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the strings that are statements: docstrings of modules, classes, functions and attributes."""
    for node in nodes:
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text
            case _:
                pass


def retired_phrases(docstring: str) -> Iterator[str]:
    """Yield the retired phrases and the retired opening of a docstring, with what to write instead."""
    prose = " ".join(CODE.sub("_", docstring).split())
    for match in PHRASE.finditer(prose):
        yield f"{match[0]!r}: write {RETIRED_PHRASES[match[0].lower()]}"
    if prose.startswith(RETIRED_OPENINGS):
        yield f"{prose.split()[0]!r} as the first word: begin with a noun or an imperative"


def is_import_path(name: str) -> bool:
    """Return whether a module is an import path of dlt, which has no code to fold another module into."""
    return name.startswith(("common/", "penstock.common"))


def is_excepted(path: str, word: str) -> bool:
    """Return whether a file may use a word."""
    return (path, word) in EXCEPTIONS


@pytest.mark.parametrize(
    ("source", "retired"),
    [
        ("def told(): pass", True),
        ("def put_aside(row): pass", True),
        ("def write(found): pass", True),
        ("one = 1", True),
        ("for _said in rows: pass", True),
        ("class Told: pass", True),
        ("def write(table): row.one", False),
        ("def foundation(onerous): pass", False),
    ],
)
def test_a_retired_name_is_recognized(source: str, retired: bool) -> None:
    assert any(is_retired(name) for _, name in names(ast.walk(ast.parse(source)))) is retired


@pytest.mark.parametrize(
    ("docstring", "count"),
    [
        ("Return the rows that a table bears.", 1),
        ("What a table holds.", 1),
        ("Return what is put\naside, and who is told.", 2),
        ("Return `told`, which the user gave.", 0),
        ("Write the foretold rows to the standstill.", 0),
    ],
)
def test_a_retired_phrase_is_recognized(docstring: str, count: int) -> None:
    assert len(list(retired_phrases(docstring))) == count


def test_no_name_is_retired() -> None:
    modules = [(path, file, 1, path.rpartition("/")[2][:-3]) for path, file in source_files().items()]
    defined = [
        (path, file, line, name)
        for path, file in source_files().items()
        for line, name in without_pairs(names(file.nodes))
    ]

    assert_no_offenders(
        (
            f"{file.at(line)}: {name}"
            for path, file, line, name in (*modules, *defined)
            if is_retired(name) and not is_excepted(path, name)
        ),
        "name what it holds by the word of the domain",
    )


def test_no_docstring_has_a_retired_phrase() -> None:
    assert_no_offenders(
        (
            f"{file.at(line)}: {phrase}"
            for path, file in source_files().items()
            for line, text in docstrings(file.nodes)
            for phrase in retired_phrases(text)
            if not is_excepted(path, phrase.split("'")[1].lower())
        ),
        "write plain technical English",
    )


def test_no_two_classes_have_one_name() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for file in source_files().values():
        for node in file.nodes:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(file.at(node.lineno))

    assert_no_offenders(
        (
            f"{name}: {', '.join(lines)}"
            for name, lines in sorted(places.items())
            if len(lines) > 1 and name not in ALLOWED_CLASSES
        ),
        "name each class so that a search finds one",
    )


def test_no_small_module_has_one_importer() -> None:
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for importer, imported in imports().items():
        for module in imported:
            importers[module].add(importer)

    assert_no_offenders(
        (
            f"{file.at(1)}: {len(file.text.splitlines())} lines, imported by {next(iter(importers[module]))}"
            for path, file in source_files().items()
            if (module := f"penstock.{path[:-3].replace('/', '.')}") in importers
            and len(file.text.splitlines()) < SMALL_MODULE_LINES
            and len(importers[module]) == 1
            and path not in ALLOWED_SMALL_MODULES
            and not is_import_path(path)
            and not is_import_path(*importers[module])
        ),
        "fold the module into the one that imports it",
    )


def test_exceptions_are_few_and_have_reasons() -> None:
    for exceptions in (EXCEPTIONS, ALLOWED_CLASSES, ALLOWED_SMALL_MODULES):
        assert len(exceptions) <= MOST_EXCEPTIONS
        assert all(exceptions.values())


def test_every_exception_names_a_file() -> None:
    paths = {*(path for path, _ in EXCEPTIONS), *ALLOWED_SMALL_MODULES}

    assert_no_offenders(sorted(paths - set(source_files())), "remove the stale exception from vocabulary.py")
