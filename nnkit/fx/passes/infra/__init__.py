"""The frame of passes: what a pass is, passes in order, and parts that a backend has."""
