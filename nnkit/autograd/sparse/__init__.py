"""Tensors that hold only some of their elements: pairs of ordinary Tensors, indices and values.

They stand above the ops, of which everything that is done with them is made: a product with a
sparse matrix is a gather, a multiplication and an `index_add`. So they have derivatives of every
order, and live on any device. `nnkit.sparse` has the public functions; this room is read when a
sparse tensor is first made.
"""

from nnkit.autograd.sparse import conversions as conversions  # and all that stands below it
