"""The sections in which penstock looks settings up.

>>> from penstock.config import known_sections
>>> known_sections.SOURCES
'sources'
"""

from typing import Final

SOURCES: Final = "sources"
EXTRACT: Final = "extract"
NORMALIZE: Final = "normalize"
LOAD: Final = "load"
DESTINATION: Final = "destination"

__all__ = ["DESTINATION", "EXTRACT", "LOAD", "NORMALIZE", "SOURCES"]
