"""Intervals, paired tests, power and verdicts: pure functions on counts and arrays.

Import the module that holds what you need (`from memaudit.stats.intervals import wilson_interval`);
nothing is re-exported here, so that a caller who needs one closed formula does not load the rest.
"""
