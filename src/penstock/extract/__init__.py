"""Extraction: the items of resources are written as files of a package.

Input:   resources.
Output:  Parquet part files, with rows as JSON text and frames typed, on storage as they are read.
Imports: package, interfaces, errors.
"""
