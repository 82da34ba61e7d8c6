"""Statements of random programs that run backward, set hooks, and call functions and modules."""

from tests.fuzz.statements import STATEMENTS, kind

__all__ = ["STATEMENTS"]  # those on tensors, and these

kind(
    "backward",
    14,
    """
{g}.sum().backward()
{g}.sum().backward()
{inner}.sum().backward()
{inner}.sum().backward()
{g}.backward(T.ones_like({g}))
{g}.backward()
{g}.sum().backward(retain_graph=True)
{inner}.sum().backward(retain_graph=True)
{g}.sum().backward(create_graph=True)
{inner}.square().sum().backward(create_graph=True)
({g} * {also}).sum().backward()
({g}.sum() * {also}.sum()).backward()
({g}.sum() + {also}.sum()).backward()
{g}.sum().backward(inputs=[{also}])
{g}.sum().backward(inputs=[{also}, {also}])
{g}.sum().backward(inputs={also}, retain_graph=True)
T.autograd.backward([{g}.sum(), {also}.sum()])
{new} = T.autograd.grad({g}.sum(), {also})
{new} = T.autograd.grad({g}.sum(), [{also}, {also}])
{new}, = T.autograd.grad({g}.sum(), [{also}], create_graph=True)
{new}, = T.autograd.grad({g}.square().sum(), [{also}], create_graph=True)
{new} = T.autograd.grad({g}.sum(), [{also}, {other}], allow_unused=True)
{new} = T.autograd.grad({g}.sum(), [{also}, {also}], allow_unused=True, retain_graph=True)
{new} = T.autograd.grad({g}.sum(), [{also}, {also}], materialize_grads=True)
{new} = T.autograd.grad({g}.sum(), {also}, create_graph=True, materialize_grads=True)
{new} = T.autograd.grad({g}, {also}, T.ones_like({g}), retain_graph=True)
{new}, = T.autograd.grad({g}, {also}, T.ones_like({g}), is_grads_batched=False)
{g}.sum().backward(); {g}.sum().backward()
{inner}.square().sum().backward(retain_graph=True); {inner}.square().sum().backward()
{new} = T.autograd.grad({g}.sum(), {also}, create_graph=True)[0].sum()
{new} = {leaf}.grad
{new} = {leaf}.grad * 2
{new} = {leaf}.grad.clone()
T.autograd.backward({g}, T.ones_like({g}), inputs=[{also}])
""",
)
kind(
    "hook",
    7,
    """
h{id} = {g}.register_hook(see('hook {id}'))
h{id} = {g}.register_hook(see('hook {id}'))
h{id} = {g}.register_hook(see('hook {id}', lambda g: g * 2))
once({g}, 'once {id}')
h{id} = {g}.register_hook(see('hook {id}', lambda g: g.mul_(2)))
h{id} = {inner}.grad_fn.register_hook(see('node {id}'))
h{id} = {inner}.grad_fn.register_prehook(see('prehook {id}'))
h{id} = {inner}.grad_fn.register_prehook(see('prehook {id}', twice))
h{id} = {inner}.grad_fn.register_hook(see('node {id}', twice))
h{id} = {leaf}.register_post_accumulate_grad_hook(see('post {id}'))
{h}.remove()
{h}.remove()
{leaf}.register_post_accumulate_grad_hook(lambda t: setattr(t, 'grad', None))
{inner}.retain_grad()
{inner}.retain_grad()
{leaf}.register_post_accumulate_grad_hook(lambda t: t.grad.mul_(2))
n{id} = {leaf}.view_as({leaf}); n{id}.grad_fn.next_functions[0][0].register_hook(see('sum {id}'))
n{id} = {leaf}.view_as({leaf}); n{id}.grad_fn.next_functions[0][0].register_prehook(see('pre {id}'))
h{id} = T.autograd.graph.register_multi_grad_hook(({g}, {also}), see('multi {id}'))
h{id} = T.autograd.graph.register_multi_grad_hook(({g}, {also}), see('any {id}'), mode='any')
{new} = {inner}.grad_fn.next_functions[0][0].name()
{new} = {inner}.grad_fn.metadata
{new} = len({inner}.grad_fn.next_functions)
h{id} = {g}.register_hook(lambda g: None)
{g}.register_hook(lambda g: g[:0])
{new} = {g}.output_nr
{g}.register_hook(see('into {id}', lambda g: g.sum()))
{g}.register_hook(lambda g: 1)
h{id} = {g}.register_hook(see('sets {id}', lambda g: T.set_grad_enabled(False) and None))
h{id} = {g}.register_hook(lambda g: T.set_autocast_enabled('cpu', True))
{leaf}.register_post_accumulate_grad_hook(lambda t: T.set_grad_enabled(True) and None)
with T.no_grad(): {leaf}.set_({same})
with T.no_grad(): {leaf}.set_({leaf}.detach().clone())
{leaf}.data = {leaf}.data.double()
{leaf}.data = {leaf}.data.bfloat16()
T.utils.swap_tensors({leaf}, {also})
with T.autograd.graph.save_on_cpu(): {new} = {f} * {f}
h{id} = {leaf}.register_hook(see('leaf {id}'))
with keep('pack {id}'): {new} = {f} * {f}
with keep('pack {id}', lambda x: x * 2): {new} = {f}.exp()
with keep('pack {id}'): {new} = {f}.sin().square()
with T.autograd.graph.disable_saved_tensors_hooks('no'): {new} = {f} * {f}
with T.autograd.graph.disable_saved_tensors_hooks('no'), keep('pack'): {new} = {f} * {f}
""",
)
kind(
    "function",
    6,
    """
{new} = Square.apply({f})
{new} = Exp.apply({f})
{new} = Dirty.apply({f})
Dirty.apply({t})
{new}, {new} = Signs.apply({f})
{new}, {new} = Both.apply({f}, {same}, 2)
{new} = Nothing.apply({f}, {same})
{new} = Same.apply({t})
{new} = Flat.apply({t})
{new}, {new} = Best.apply({f})
{new} = Miscounted.apply({f})
{new} = Sum.apply({f}, 3)
{new} = Sum.apply({f})
{new}, _ = Both.apply({f}, {n}, None)
{new} = checkpoint(lambda t: {body}, {f}, use_reentrant=False)
{new} = checkpoint(lambda t: {body}, {f}, use_reentrant=False)
{new} = checkpoint(lambda t: {body}, {f}, use_reentrant=True)
{new} = checkpoint(lambda t: ({body}).sum(), {f}, use_reentrant=True)
{new} = checkpoint(lambda t, u: (t * u, u + 1), {f}, {same}, use_reentrant=False)[0]
{new} = checkpoint(lambda t: T.nn.functional.dropout(t), {f}, use_reentrant=False)
{new} = checkpoint(Square.apply, {f}, use_reentrant=False)
{new} = T.utils.checkpoint.checkpoint_sequential([T.sin, T.exp], 2, {f}, use_reentrant=False)
""",
)
kind(
    "transform",
    5,
    """
{new} = {nested}({f})
{new} = {nested}({f})
{new} = {nested}({f})
{new} = {nested}({g})
{new} = {nested}({g})
{new} = T.autograd.functional.jacobian(lambda t: {body}, {f})
{new} = T.autograd.functional.hessian(lambda t: {scalar}, {f})
{new} = T.autograd.functional.jacobian(lambda t: {body}, {g}, create_graph=True)
{new} = T.autograd.functional.vjp(lambda t: {scalar}, {f})
{new} = T.autograd.functional.jvp(lambda t: {body}, {f}, T.ones_like({f}))
{new} = T.autograd.functional.hvp(lambda t: {scalar}, {f}, T.ones_like({f}))
{new} = T.autograd.functional.vhp(lambda t: {scalar}, {f}, T.ones_like({f}))
{new} = T.func.vmap(lambda t, u: t * u, (0, None))({f}, {other})
{new} = T.func.vmap(lambda t: t.sum(), in_dims=-1)({f})
{new} = T.func.vmap(T.func.grad(lambda t: t.square().sum()))({f})
{new} = T.func.vmap(lambda t: t * 2, out_dims=-1)({f})
{new} = T.func.grad(lambda t, u: (t * u).sum(), argnums=(0, 1))({f}, {same})
{new} = T.func.grad(lambda t: (t * t).sum(), has_aux=False)({f})
{new} = T.func.functional_call({m}, dict(), {row2})
{new} = T.func.vmap(lambda t: T.func.functional_call({m}, dict(), (t,)))({row2})
{new} = T.func.vmap(T.func.grad(lambda t: {m}(t).square().sum()))({row2})
{new} = T.func.vmap(T.func.grad(lambda t: Cube.apply(t).sum()))({f})
{new} = T.func.vmap(lambda t: t.view(-1)[:1] * t.sum(), in_dims=-1, out_dims=-1)({f})
{new} = T.func.vmap(lambda t: {body}, chunk_size=1)({f})
{new} = T.func.vmap(lambda t: t + T.randn(1), randomness='same')({f})
""",
)
kind(
    "module",
    6,
    """
m{id} = T.nn.Linear(2, 2)
m{id} = T.nn.Sequential(T.nn.Linear(2, 3), T.nn.ReLU(), T.nn.Linear(3, 1))
m{id} = T.nn.BatchNorm1d(2)
m{id} = T.nn.Sequential(T.nn.Linear(2, 2), T.nn.BatchNorm1d(2), T.nn.Dropout(0.5))
m{id} = T.nn.LayerNorm(2)
m{id} = T.nn.GRUCell(2, 2)
m{id} = T.nn.Sequential(T.nn.Linear(2, 2), T.nn.ReLU(inplace=True))
{new} = {m}({row2})
{new} = {m}({row2})
{new} = {m}({row2})
{new} = {m}({f})
{m}({row2}).sum().backward()
{m}({row2}).square().mean().backward()
{m}.eval()
{m}.train()
{m}.zero_grad()
{m}.zero_grad(set_to_none=False)
{m}.requires_grad_(False)
{m}.requires_grad_()
{m}.double()
{m}.float()
{parameter}.data.fill_(0.5)
with T.no_grad(): {parameter}.add_(1)
with T.no_grad(): {parameter}.copy_({other})
{parameter}.add_(1)
{parameter}.grad = None
{m}.load_state_dict({m}.state_dict())
m{id} = copy.deepcopy({m})
m{id} = copy.copy({m})
{new} = {parameter}
{new} = {parameter}.grad
h{id} = {m}.register_forward_hook(lambda m, i, o: log.append(('forward {id}', [o])))
h{id} = {m}.register_forward_hook(lambda m, i, o: o * 2)
h{id} = {m}.register_forward_pre_hook(lambda m, i: i[0] * 2)
h{id} = {m}.register_full_backward_hook(lambda m, i, o: log.append(('backward {id}', list(i + o))))
h{id} = {m}.register_full_backward_pre_hook(lambda m, o: (o[0] * 2,))
h{id} = {m}.register_full_backward_hook(lambda m, i, o: twice(i))
{new} = T.nn.functional.linear({row2}, {parameter})
{new} = T.nn.functional.batch_norm({row2}, T.zeros(2), T.ones(2), training=True)
m{id} = T.nn.Conv2d(2, 2, 2)
{new} = T.nn.functional.conv2d({images}, T.ones(1, 2, 2, 2, requires_grad=True))
{new} = {m}({images})
{new} = T.nn.GRU(2, 2)({row2})[0]
{new} = T.nn.functional.batch_norm({images}, None, None, training=True)
{new} = T.nn.functional.group_norm({images}, 1)
{new} = T.nn.utils.clip_grad_norm_({m}.parameters(), 0.5)
{new} = T.nn.functional.cross_entropy({m}({row2}), T.zeros(2, dtype=T.int64))
{new} = T.nn.utils.parameters_to_vector({m}.parameters())
T.nn.utils.clip_grad_value_({m}.parameters(), 0.25)
T.nn.utils.vector_to_parameters({f}, {m}.parameters())
T.nn.utils.clip_grad_norm_([{leaf}], 0.5)
{new} = list({m}.state_dict())
{new} = [name for name, _ in {m}.named_modules()]
T.nn.utils.parametrizations.weight_norm({m})
T.nn.init.ones_({parameter})
T.nn.init.normal_({parameter})
T.nn.init.constant_({t}, 0.5)
{m}.weight = T.nn.Parameter({f}.detach())
{m}.weight = {other}
{m}.register_buffer('extra', {other})
del {m}.bias
{new} = {m}.weight.T
""",
)
kind(
    "optimize",
    4,
    """
o{id} = T.optim.SGD([{leaf}], lr=0.25, momentum=0.5)
o{id} = T.optim.SGD({m}.parameters(), lr=0.5)
o{id} = T.optim.Adam([{leaf}], lr=0.1)
o{id} = T.optim.Adam({m}.parameters(), lr=0.1)
o{id} = T.optim.SGD([{leaf}, {also}], lr=0.25, nesterov=True, momentum=0.5)
o{id} = T.optim.AdamW([{leaf}])
{o}.step()
{o}.step()
{o}.step()
{o}.zero_grad()
{o}.zero_grad(set_to_none=False)
o{id} = T.optim.SGD([{t}], lr=0.25, weight_decay=0.5)
{leaf}.sum().backward(); {o}.step()
{leaf}.square().sum().backward(); {o}.step(); {o}.zero_grad()
o{id} = T.optim.RMSprop([{leaf}])
o{id} = T.optim.Adagrad([{leaf}])
{o}.param_groups[0]['lr'] = 0.5
{o}.load_state_dict({o}.state_dict())
{o}.add_param_group(dict(params=[{leaf}]))
{new} = sorted({o}.state_dict()['state'])
s{id} = T.optim.lr_scheduler.StepLR({o}, 1, 0.5)
s{id} = T.optim.lr_scheduler.ExponentialLR({o}, 0.5)
s{id} = T.optim.lr_scheduler.CosineAnnealingLR({o}, 4)
s{id} = T.optim.lr_scheduler.ReduceLROnPlateau({o}, patience=0)
{leaf}.sum().backward(); {o}.step(); {s}.step()
{s}.step()
{s}.step({f}.sum())
{new} = {s}.get_last_lr()
o{id} = T.optim.Adam([{leaf}], lr=0.1, amsgrad=True, weight_decay=0.1)
with T.no_grad(): for p in {o}.param_groups[0]['params']:     p.sub_(p.grad)
""",
)
kind(
    "copy",
    3,
    """
{new} = copy.deepcopy({t})
{new} = copy.copy({t})
{new} = copy.deepcopy([{t}, {t}])
{new} = copy.deepcopy({leaf})
{new} = pickle.loads(pickle.dumps({t}))
{new} = copy.deepcopy({t}.detach())
{new} = {t}.clone()
{new} = T.tensor({t})
{new} = T.as_tensor({t})
{new} = T.asarray({t})
{new} = {t}.numpy().tolist()
{new} = T.from_numpy({t}.numpy())
{new} = T.equal({t}, {same})
{new} = T.allclose({t}, {same})
{new} = {t}.is_contiguous()
{new} = {t}.storage_offset()
{new} = {t} is {other}
{new} = bool({t})
{new} = len({t})
{new} = float({t})
{new} = int({t})
{new} = {t}.is_set_to({other})
{new} = {t}._version > 0
{new} = str({t}.shape == {other}.shape)
{new} = {t}.data_ptr() == {other}.data_ptr()
{new} = {t}.untyped_storage().nbytes()
{new} = {t} in [{other}]
{new} = T.is_grad_enabled()
{new} = T.is_inference_mode_enabled()
{new} = T.result_type({t}, {other}) == T.float32
{new} = T.can_cast({t}.dtype, {dtype})
{new} = {t}.element_size()
{new} = list(T.broadcast_shapes({t}.shape, {other}.shape))
{new} = hash({t}) == hash({t})
""",
)
