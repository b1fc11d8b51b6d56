"""The import paths of the reference pages: re-exports of other packages, and no code.

Input:   none.
Output:  the paths `common.storages.load_package` and `common.destination.reference` of the pages.
Imports: package, interfaces.
"""
