"""Extension of griffe for the API pages: examples in docstrings are shown as code."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^( *)>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


class DocstringExamples(griffe.Extension):  # type: ignore[misc]  # griffe is in the group for the documentation only
    """Fence each paragraph that begins with a prompt, which Markdown takes for a quotation."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Change the docstring of an object when it has been read."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(fenced, obj.docstring.value)


def fenced(example: re.Match[str]) -> str:
    """Return an example as a block of code, without marks for doctest."""
    text = re.sub(r" *# doctest: .*$", "", example[0], flags=re.MULTILINE)
    return f"{example[1]}```pycon\n{text}\n{example[1]}```"
