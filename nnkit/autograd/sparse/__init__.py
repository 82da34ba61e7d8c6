"""Sparse tensors: pairs of ordinary Tensors, indices and values.

All their functions are composed of ops on strided tensors: a product with a sparse matrix is a
gather, a multiplication and an `index_add`. So they have derivatives of every order and work on
any device. `nnkit.sparse` has the public functions; this package is imported when a sparse tensor
is first made.
"""

from nnkit.autograd.sparse import conversions as conversions  # and all that stands below it
