"""Convolutions, and the plan that their kernels are given."""
