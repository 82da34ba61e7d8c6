"""What a Tensor offers besides ops: its memory, sizes, text, copies, operators."""
