"""Analyses and changes of graphs."""
