"""What data pipes share: streams of files, checks of functions, decoders."""
