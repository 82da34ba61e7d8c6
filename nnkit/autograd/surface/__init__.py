"""The properties and methods of Tensor besides ops: its memory, sizes, text, copies, operators."""
