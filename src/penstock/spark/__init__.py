"""The only room that knows Spark's quirks.

Takes:   a session that the user gave, or settings to build one.
Gives:   sessions of our own, presets, paths as Spark sees them, guarded observation.
Touches: interfaces, schema, config, errors.
"""
