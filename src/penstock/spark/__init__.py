"""Spark sessions and everything specific to Spark.

Input:   a session of the user, or settings to build one.
Output:  separate sessions for penstock, presets, paths in Spark's form, guarded observation.
Imports: interfaces, schema, config, errors.
"""
