"""The only room that knows Spark's quirks.

Input:   a session that the user gave, or settings to build one.
Output:  sessions of our own, presets, paths as Spark sees them, guarded observation.
Imports: interfaces, schema, config, errors.
"""
