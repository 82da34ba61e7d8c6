"""The op table's machinery: rows, the checks they drive, expectations frozen from torch."""
