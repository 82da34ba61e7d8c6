"""``python -m nnkit`` prints the configuration."""

from nnkit.config import show_config

print(show_config())
