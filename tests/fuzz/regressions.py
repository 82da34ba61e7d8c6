"""Short programs that once differed from torch, made of what random programs found."""

REGRESSIONS = {
    "the gradient of a sum is one number, expanded": """
x0 = T.ones(2, 3, requires_grad=True)
x1 = T.autograd.grad(x0.sum(), x0)
x2 = T.autograd.grad(x0.sum(0).sum(), x0)
x3 = T.autograd.grad(x0.mean(), x0)
x0.mT.sum().backward()
""",
}
