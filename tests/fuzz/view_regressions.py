"""Short programs about views that once differed from torch."""

REGRESSIONS = {
    "a view without history says so before a later item of an index": """
x0 = T.tensor([2.0]).expand(2, 2).requires_grad_()
x1 = T.cov(x0)
x2 = x1.split(1)[-1]
x1.bernoulli_(0.5)
x3 = x2[:-1, 2]
""",
    "a view whose base was written is one step from it": """
log = []
def see(*given):
    log.append(("node", [t.detach().clone() for g in given for t in g]))
x0 = T.ones(2, 3, requires_grad=True)
x1 = x0 * x0
x2 = x1.unsqueeze(0).squeeze(0)
x2.index_fill_(0, T.tensor([1]), -1.5)
x2.grad_fn.register_hook(see)
x2.sum().backward()
""",
    "an empty view begins where its index begins": """
x0 = T.arange(12.0).view(3, 4)
x1 = x0[1:1]
x2 = x1.as_strided((2,), (1,))
x3 = x0[:, 2:2].as_strided((2,), (4,))
x4 = x0[-1, 3:1].as_strided((1,), (1,))
x0[2:2].as_strided((9,), (1,))
""",
    "conjugates are views, and so are parts of them": """
x0 = T.tensor([[1 + 2j, 3 - 1j]])
x1 = x0.conj()
x2 = x1.mH
x3 = x1.imag
x4 = x2.real
x5 = x1.conj()
x1.mul_(2j)
x3.add_(1)
with T.inference_mode():
    x6 = x0.conj()
    x7 = T.ones(2, dtype=T.complex64).conj()
""",
    "a write through a part of complex numbers leaves the other part its gradient": """
x0 = T.tensor([1 + 2j, 3 - 1j], requires_grad=True)
x1 = x0 * 1
x1.real.mul_(2)
x1.imag.mul_(3)
T.view_as_real(x1)[..., 0].mul_(2)
x1.conj().imag.mul_(2)
(x1.real * x1.imag).sum().backward()
""",
    "elements that lie in one place share their gradient": """
x0 = T.tensor([[[-2.0, 1.75, -0.25]]]).requires_grad_()
x1 = x0.as_strided((2, 2), (1, 1)).as_strided((2,), (1,))
x1.sum().backward()
""",
    "steps along dimensions of size 1 decide what a view of another type may be": """
x0 = T.arange(6.)
x0.unsqueeze_(0)
x1 = T.zeros(0).unsqueeze(0).view(T.complex64)
x2 = T.tensor(1.).expand((1,))
x2.view(T.bfloat16)
x3 = T.eye(3)[None, -1].stride()
x4 = T.ones(2, 1, 3).transpose(1, 0).view(1, 1, 2, 3).stride()
x5 = T.ones(2, 3)[:, None, 1].stride()
x6 = T.ones(3, 0).unsqueeze(1).expand(2, 3, 1, 0).diagonal().stride()
x7 = T.ones(1, 2, 2, 1).transpose(1, 3).reshape(1, 4).stride()
x8 = T.ones(3, 1)[::2].mT.unsqueeze(0).stride()
""",
}
