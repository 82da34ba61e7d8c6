"""Fourier transforms, and spectra of signals."""
