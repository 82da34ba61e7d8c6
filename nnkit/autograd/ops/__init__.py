"""The differentiable ops, by subject: each file holds rules and public functions together."""
