"""The package of torch's launcher; `nnkit.distributed.run` is the one here."""
