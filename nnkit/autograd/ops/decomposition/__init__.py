"""Inverses, determinants, factorizations and functions of matrices."""
