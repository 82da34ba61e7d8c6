"""The arguments of public functions: their checks, and conversion to the form that ops take."""
