"""How an op is made of a primitive and its rules, and offered to users."""
