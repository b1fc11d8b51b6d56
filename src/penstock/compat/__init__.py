"""Names that only programs written for dlt import: small implementations without a use in penstock itself.

Input:   values of programs written for dlt.
Output:  the functions, classes and types that `common` re-exports by dlt's import paths.
Imports: pipeline and below.
"""
