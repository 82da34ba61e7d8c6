"""One number from many, along dimensions."""
