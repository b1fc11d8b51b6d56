"""Programs and documents in colours that are readable on dark and on light terminals."""

from __future__ import annotations

from typing import Final

from pygments.token import (  # type: ignore[import-untyped]  # has no types
    Comment,
    Keyword,
    Literal,
    Name,
    Operator,
    String,
    Token,
)
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax

# Not bright colours, nor yellow and cyan, which are pale on white; nor blue, which is dark on black.
_THEME: Final = ANSISyntaxTheme(
    {
        Token: Style(),
        Comment: Style(dim=True),
        Keyword: Style(color="magenta"),
        Operator.Word: Style(color="magenta"),
        Name.Decorator: Style(bold=True),
        Name.Function: Style(bold=True),
        Name.Tag: Style(color="magenta"),
        String: Style(color="green"),
        Literal.Number: Style(color="red"),
    }
)


def highlight(text: str, language: str = "python") -> Syntax:
    """Return a text in colours, for a console."""
    return Syntax(text, language, theme=_THEME, background_color="default", word_wrap=True)
