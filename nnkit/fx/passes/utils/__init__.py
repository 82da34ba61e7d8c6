"""What passes share: places of patterns, and operations made modules."""
