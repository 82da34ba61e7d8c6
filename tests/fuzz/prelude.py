"""What random programs may use besides the framework: hooks that record, Functions of one's own.

Each definition is text, so that a failing program prints as a script with what it needs.
"""

from __future__ import annotations

import re

DEFINITIONS = {
    "copy": "import copy",
    "pickle": "import pickle",
    "log": "log = []",
    "see": """
def see(name, change=None):
    def hook(*given):
        shown = [t for g in given for t in (g if isinstance(g, (tuple, list)) else (g,))]
        log.append((name, [t if t is None else t.detach().clone() for t in shown]))
        return None if change is None else change(*given)
    return hook
""",
    "twice": """
def twice(gradients, *_):
    return tuple(g if g is None else g * 2 for g in gradients)
""",
    "once": """
def once(tensor, name):
    def hook(grad):
        log.append((name, [grad.detach().clone()]))
        handle.remove()
    handle = tensor.register_hook(hook)
""",
    "keep": """
def keep(name, change=lambda x: x):
    def pack(x):
        log.append((name, [x.detach().clone()]))
        return x
    return T.autograd.graph.saved_tensors_hooks(pack, change)
""",
    "checkpoint": "checkpoint = T.utils.checkpoint.checkpoint",
    "Square": """
class Square(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 2 * x
""",
    "Exp": """
class Exp(T.autograd.Function):
    @staticmethod
    def forward(x):
        return x.exp()
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]
""",
    "Cube": """
class Cube(T.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x):
        return x ** 3
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 3 * x * x
""",
    "Dirty": """
class Dirty(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)
    @staticmethod
    def backward(ctx, g):
        return g * 2
""",
    "Signs": """
class Signs(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        sign = x.sign()
        ctx.mark_non_differentiable(sign)
        return x * 2, sign
    @staticmethod
    def backward(ctx, g, g_sign):
        log.append(("Signs", [g.clone(), g_sign.clone()]))
        return g * 2
""",
    "Both": """
class Both(T.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, factor):
        ctx.save_for_backward(x, y)
        ctx.set_materialize_grads(False)
        return x * y, x + y
    @staticmethod
    def backward(ctx, g, h):
        log.append(("Both", [t if t is None else t.clone() for t in (g, h)]))
        x, y = ctx.saved_tensors
        if g is None:
            return h, None, None
        return g * y, g * x if ctx.needs_input_grad[1] else None, None
""",
    "Nothing": """
class Nothing(T.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y
    @staticmethod
    def backward(ctx, g):
        return None, g
""",
    "Same": """
class Same(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, g):
        return g * 3
""",
    "Flat": """
class Flat(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.view(-1)
    @staticmethod
    def backward(ctx, g):
        return g.view(ctx.shape)
""",
    "Best": """
class Best(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x.argmax()
    @staticmethod
    def backward(ctx, g, h):
        log.append(("Best", [g.clone(), h.clone()]))
        return g * 2
""",
    "Miscounted": """
class Miscounted(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g, g
""",
    "Sum": """
class Sum(T.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight=2):
        ctx.weight = weight
        return x.sum() * weight
    @staticmethod
    def backward(ctx, g):
        return g * ctx.weight, None
""",
}  # fmt: skip

SOURCE = "\n".join(text.strip("\n") for text in DEFINITIONS.values())


def needed(source: str) -> list[str]:
    """The definitions that a program names, in order, and those that they name."""
    names: set[str] = set()
    texts = [source]
    while texts:
        words = set(re.findall(r"\w+", texts.pop()))
        new = words & DEFINITIONS.keys() - names
        names |= new
        texts += [DEFINITIONS[name] for name in new]
    return [text.strip("\n") for name, text in DEFINITIONS.items() if name in names]
