"""Where the water enters: what a user hands over becomes resources.

Takes:   lists, iterators, generators and generator functions.
Gives:   `Resource` records; nothing is read until extract asks for rows.
Touches: interfaces, errors.
"""

from penstock.sources.wrap import as_resource

__all__ = ["as_resource"]
