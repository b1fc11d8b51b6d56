"""For people who test with penstock or write plug-ins for it.

Takes:   nothing.
Gives:   deterministic nested rows of any number.
Touches: nothing.
"""

from penstock.testing.rows import nested_rows

__all__ = ["nested_rows"]
