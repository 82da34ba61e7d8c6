"""The package of `errors`, whose `record` programs import."""
