"""Passes for programs of any operations."""
