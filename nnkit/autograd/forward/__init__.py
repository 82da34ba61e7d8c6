"""Forward mode: tangents carried through the rules of the ops."""
