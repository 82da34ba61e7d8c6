"""Reference bodies: composite primitives, defined over the algebra itself."""
