"""The import paths of the reference pages, and nothing else: each module re-exports names of other packages.

Input:   none.
Output:  the paths `common.storages.load_package` and `common.destination.reference` of the pages.
Imports: package, interfaces.
"""
