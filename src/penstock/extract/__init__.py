"""Extraction: the items of resources are written as files of a package.

Takes:   resources.
Gives:   Parquet part files, with rows as JSON text and frames typed, on storage as they are read.
Touches: package, interfaces, errors.
"""
