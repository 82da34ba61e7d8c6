"""What the libraries are used for: each use returns the numbers by which two runs are compared.

Each function's name is that of its library, two underscores, and what it does. A use seeds the
generator itself and imports what it needs, so that a library that is missing spoils its own alone.
"""
