"""Whole experiments: load data, fit several models, print a table, draw a plot.

They stand at the top of the library and use only its public face, so each one
is also an example of how to use it.
"""
