"""Passes for programs of certain operations."""
