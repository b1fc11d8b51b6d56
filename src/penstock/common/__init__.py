"""The import paths of the reference pages and of dlt: re-exports of other packages, and no code.

Input:   none.
Output:  the paths of the pages and of dlt, such as `common.typing`.
Imports: every package below.
"""
