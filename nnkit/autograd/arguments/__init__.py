"""What public functions are given, checked and brought into the form that ops take."""
