"""Losses: one node from the prediction to the reduced loss."""
