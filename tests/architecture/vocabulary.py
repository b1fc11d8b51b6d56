"""The words that names and docstrings of the package do not use, and the exceptions."""

from __future__ import annotations

from typing import Final

RETIRED_NAMES: Final = frozenset(
    (
        *("able", "found", "gone", "kept", "known", "left", "made", "mine", "one", "ours", "room"),
        *("said", "site", "stands", "theirs", "there", "told", "whole", "without"),
    )
)
"""Names of modules, classes, functions, parameters and variables that do not say what they hold."""

RETIRED_PARTS: Final = frozenset(
    ("anew", "aside", "hear", "nobody", "said", "somebody", "stands", "told", "whoever")
)
"""Words that no name contains between its underscores."""

RETIRED_PHRASES: Final = {
    "told": "reported, passed, or the noun that is meant",
    "tell": "report",
    "tells": "reports",
    "said": "set, declared or reported",
    "says": "states, names or returns",
    "stands": "is stored, is, or exists",
    "stand": "be stored, be, or exist",
    "nobody": "no process, user or writer",
    "somebody": "another process, user or writer",
    "whoever": "the process, user or writer that",
    "let go": "release or discard",
    "lets go": "releases or discards",
    "came to": "resulted in",
    "come to": "result in",
    "comes to": "results in",
    "gives way": "is replaced",
    "give way": "be replaced",
    "gives": "returns",
    "is there": "exists",
    "are there": "exist",
    "bears": "supports",
    "lands": "is written",
    "landed": "written",
    "stays": "is kept or is unchanged",
    "of its own": "separate",
    "of ours": "of penstock",
    "what it is": "a noun",
    "what it was": "a noun",
    "a thing": "a noun",
    "goes on": "continues",
    "go on": "continue",
    "hear": "receive",
    "hears": "receives",
    "ask for": "request or set",
    "asks for": "requests or sets",
    "in the way": "a noun for the obstacle",
    "put aside": "quarantined",
    "told apart": "distinguished",
    "anew": "again or from scratch",
    "give up": "abort",
    "given up": "aborted",
    "gives up": "aborts",
}
"""Phrases that no docstring contains outside of code, and what to write instead."""

RETIRED_OPENINGS: Final = ("What ", "Where ", "Who ")
"""Beginnings of docstrings: a noun phrase or an imperative opens a docstring."""

EXCEPTIONS: Final[dict[tuple[str, str], str]] = {
    ("cli/json_documents.py", "kept"): "a key of `drop-pending --json`, which programs read",
    ("errors.py", "found"): "a fact of errors, which programs read",
    ("errors.py", "known"): "a fact of errors, which programs read",
}
"""The file and the word that are excepted, with the reason; at most 25."""

ALLOWED_CLASSES: Final[dict[str, str]] = {}
"""Names that two classes of the package may share, with the reason; at most 25."""

ALLOWED_SMALL_MODULES: Final[dict[str, str]] = {
    "cli/main.py": "the entry point of the command",
    "destinations/sql/staged_frame.py": "the part of the room that imports Spark, for every database",
    "version.py": "an import path of dlt",
}
"""Small modules with one importer, with the reason; at most 25."""

MOST_EXCEPTIONS: Final = 25
SMALL_MODULE_LINES: Final = 40
