"""Models of many kinds: codebooks, flows, speech, caches, scans, boxes, rays, sets, values."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any


def vector_quantization(torch: Any) -> list:
    """A VQ-VAE: a straight-through gradient, a codebook of running means, one cycle of rates."""
    nn, F = torch.nn, torch.nn.functional
    encoder = nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1), nn.ReLU(inplace=True), nn.Conv2d(8, 4, 1))
    decoder = nn.Sequential(nn.ConvTranspose2d(4, 8, 4, 2, 1), nn.ReLU(True), nn.Conv2d(8, 3, 1))
    codes, used = torch.randn(12, 4), torch.ones(12)
    sums = codes.clone()
    model = nn.ModuleDict({"encoder": encoder, "decoder": decoder})
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=7)
    seen = []
    for _ in range(5):
        x = torch.rand(4, 3, 6, 6)
        z = encoder(x).permute(0, 2, 3, 1)
        flat = z.reshape(-1, 4)
        distance = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ codes.T + codes.pow(2).sum(1)
        chosen = distance.argmin(1)
        hot = F.one_hot(chosen, 12).type(flat.dtype)
        quantized = F.embedding(chosen, codes).view_as(z)
        with torch.no_grad():
            used.mul_(0.9).add_(hot.sum(0), alpha=0.1)
            sums.mul_(0.9).add_(hot.T @ flat, alpha=0.1)
            codes.copy_(sums / used.add(1e-5).unsqueeze(1))
        through = z + (quantized - z).detach()
        loss = F.l1_loss(decoder(through.permute(0, 3, 1, 2)), x)
        loss = loss + 0.25 * (quantized.detach() - z).pow(2).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        share = hot.mean(0)
        seen += [loss.item(), torch.exp(-(share * (share + 1e-10).log()).sum()).item()]
        seen += [*schedule.get_last_lr(), optimizer.param_groups[0]["betas"][0]]
    return seen + codes.flatten().tolist()


def normalizing_flow(torch: Any) -> list:
    """Affine couplings trained by likelihood and run backwards; transforms of distributions."""
    dist, nn = import_module(torch.__name__ + ".distributions"), torch.nn

    class Coupling(nn.Module):
        def __init__(self, flip):
            super().__init__()
            self.flip = flip
            self.net = nn.Sequential(nn.Linear(1, 8), nn.LeakyReLU(0.2), nn.Linear(8, 2))

        def forward(self, x, back=False):
            kept, other = (x.flip(-1) if self.flip else x).chunk(2, -1)
            scale, shift = self.net(kept).chunk(2, -1)
            scale = scale.tanh()
            moved = (other - shift) * (-scale).exp() if back else other * scale.exp() + shift
            out = torch.cat([kept, moved], -1)
            return (out.flip(-1) if self.flip else out), scale.sum(-1)

    flow = nn.ModuleList([Coupling(i % 2 == 1) for i in range(4)])
    prior = dist.MultivariateNormal(torch.zeros(2), torch.eye(2))
    optimizer, seen = torch.optim.Adamax(flow.parameters(), lr=1e-2), []
    for _ in range(5):
        angle = torch.rand(32) * math.pi
        x = torch.stack([angle.cos(), angle.sin()], -1) + 0.1 * torch.randn(32, 2)
        z, volume = x, 0
        for layer in flow:
            z, part = layer(z)
            volume = volume + part
        loss = -(prior.log_prob(z) + volume).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    with torch.no_grad():
        y = prior.sample((3,))
        for layer in reversed(flow):
            y, _ = layer(y, back=True)
    scale = torch.tensor([1.0, 2.0])
    steps = [dist.AffineTransform(1.0, scale), dist.SigmoidTransform(), dist.PowerTransform(2.0)]
    bent = dist.TransformedDistribution(dist.Normal(torch.zeros(2), torch.ones(2)), steps)
    drawn = bent.rsample((2,))
    found = (y, drawn, bent.log_prob(drawn), bent.cdf(drawn), bent.icdf(torch.tensor(0.3)))
    return seen + [n for t in found for n in t.flatten().tolist()]


def speech(torch: Any) -> list:
    """Spectrograms in mel bands, a packed recurrent network, CTC, the best path."""
    nn, F, rnn = torch.nn, torch.nn.functional, torch.nn.utils.rnn
    edges = 700 * (10 ** (torch.linspace(0, 2146, 10) / 2595) - 1)
    slopes = edges[None] - torch.linspace(0, 4000, 33)[:, None]
    widths = edges.diff()
    bands = torch.minimum(-slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:]).clamp(min=0)
    sounds, window = [torch.randn(n) for n in (640, 480, 800)], torch.hann_window(64)
    spectra = [torch.stft(s, 64, 32, window=window, return_complex=True).abs() for s in sounds]
    features = [torch.log1p(s.pow(2).T @ bands) for s in spectra]
    lengths = torch.tensor([len(f) for f in features])
    x = rnn.pad_sequence(features, batch_first=True, padding_value=-1.0)
    conv = nn.Conv1d(8, 10, 3, stride=2, padding=1)
    gru = nn.GRU(10, 8, batch_first=True, bidirectional=True)
    out = nn.Linear(16, 6)
    parameters = [*conv.parameters(), *gru.parameters(), *out.parameters()]
    optimizer = torch.optim.ASGD(parameters, lr=0.05)
    targets, sizes = torch.tensor([1, 2, 3, 1, 5, 4, 2]), torch.tensor([3, 2, 2])
    seen = []
    for _ in range(4):
        h = F.gelu(conv(x.mT), approximate="tanh").mT
        halves = (lengths + 1) // 2
        packed = rnn.pack_padded_sequence(h, halves, batch_first=True, enforce_sorted=False)
        h, back = rnn.pad_packed_sequence(gru(packed)[0], batch_first=True)
        logs = out(h).log_softmax(-1)
        loss = F.ctc_loss(logs.transpose(0, 1), targets, back, sizes, zero_infinity=True)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(parameters, 0.1)
        optimizer.step()
        seen.append(loss.item())
    for best, n in zip(logs.argmax(-1), back):
        symbols = torch.unique_consecutive(best[:n])
        seen += symbols[symbols != 0].tolist()
    return seen


def cached_decoding(torch: Any) -> list:
    """A llama: rotated positions, grouped keys, a cache that agrees with the whole, top p."""
    nn, F = torch.nn, torch.nn.functional
    heads, groups, size, width = 4, 2, 4, 16
    angle = torch.outer(torch.arange(12), 10000 ** (-torch.arange(0, size, 2) / size))
    turns = torch.polar(torch.ones_like(angle), angle)

    def turned(x, at):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turns[at : at + x.size(1), None]).flatten(3).type_as(x)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(width, (heads + 2 * groups) * size, bias=False)
            self.out, self.up = nn.Linear(width, width), nn.Linear(width, 4 * width, bias=False)
            self.down = nn.Linear(2 * width, width, bias=False)
            self.norms = nn.ModuleList([nn.RMSNorm(width) for _ in range(2)])
            self.cache: Any = None

        def forward(self, x, at=0):
            parts = self.qkv(self.norms[0](x)).view(*x.shape[:2], -1, size)
            q, k, v = parts.split([heads, groups, groups], 2)
            q, k = turned(q, at), turned(k, at)
            if at:
                k, v = (torch.cat(pair, 1) for pair in zip(self.cache, (k, v)))
            self.cache = k, v
            k, v = (t.repeat_interleave(heads // groups, 2).transpose(1, 2) for t in (k, v))
            y = F.scaled_dot_product_attention(q.transpose(1, 2), k, v, is_causal=not at)
            x = x + self.out(y.transpose(1, 2).flatten(2))
            gate, value = self.up(self.norms[1](x)).chunk(2, -1)
            return x + self.down(F.silu(gate) * value)

    words, layers = nn.Embedding(20, width), nn.ModuleList([Layer(), Layer()])
    optimizer = torch.optim.AdamW([*words.parameters(), *layers.parameters()], 3e-3, amsgrad=True)

    def run(tokens, at=0):
        x = words(tokens)
        for layer in layers:
            x = layer(x, at)
        return x @ words.weight.T

    seen = []
    for _ in range(4):
        tokens = torch.randint(20, (3, 9))
        loss = F.cross_entropy(run(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    with torch.inference_mode():
        whole = run(tokens[:, :6])
        run(tokens[:, :5])
        scores = run(tokens[:, 5:6], 5)
        assert torch.allclose(whole[:, -1:], scores, atol=1e-5)
        for at in range(6, 11):
            ranked, index = (scores[:, -1] / 0.7).softmax(-1).sort(-1, descending=True)
            ranked[ranked.cumsum(-1) - ranked > 0.8] = 0
            new = index.gather(-1, torch.multinomial(ranked, 1))
            scores = run(new, at)
            seen += new.flatten().tolist()
    return seen


def selective_scan(torch: Any) -> list:
    """Mamba's recurrence, step by step and by doubling; attention in blocks with running sums."""
    nn, F = torch.nn, torch.nn.functional
    project, conv, out = nn.Linear(4, 16), nn.Conv1d(8, 8, 3, groups=8, padding=2), nn.Linear(8, 4)
    select = nn.Linear(8, 8 + 2 * 3)
    decay = nn.Parameter(torch.log(torch.arange(1.0, 4.0).repeat(8, 1)))
    parameters = [p for m in (project, conv, out, select) for p in m.parameters()]
    groups = [{"params": parameters}, {"params": [decay], "weight_decay": 0.0}]
    optimizer, x, seen = torch.optim.AdamW(groups, lr=1e-2), torch.randn(2, 6, 4), []

    def scanned(a, b):
        reach = 1
        while reach < a.shape[1]:
            b = torch.cat([b[:, :reach], b[:, reach:] + a[:, reach:] * b[:, :-reach]], 1)
            a = torch.cat([a[:, :reach], a[:, reach:] * a[:, :-reach]], 1)
            reach *= 2
        return b

    for _ in range(4):
        h, gate = project(x).chunk(2, -1)
        h = F.silu(conv(h.mT)[..., :6].mT)
        step, B, C = select(h).split([8, 3, 3], -1)
        step = F.softplus(step)
        a = torch.exp(torch.einsum("bld,dn->bldn", step, -decay.exp()))
        b = torch.einsum("bld,bln,bld->bldn", step, B, h)
        state, states = torch.zeros(2, 8, 3), []
        for k in range(6):
            state = a[:, k] * state + b[:, k]
            states.append(state)
        assert torch.allclose(scanned(a, b), torch.stack(states, 1), atol=1e-6)
        y = out(torch.einsum("bldn,bln->bld", scanned(a, b), C) * F.silu(gate))
        loss = F.mse_loss(y[:, :-1], x[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += [loss.item(), decay.grad.norm().item()]
    q, k, v = torch.randn(3, 1, 2, 8, 4)
    top, total, y = torch.full((1, 2, 8, 1), -torch.inf), torch.zeros(1, 2, 8, 1), 0
    for j in range(0, 8, 3):
        scores = q @ k[..., j : j + 3, :].mT / 2
        later = torch.arange(8)[:, None] < torch.arange(j, min(j + 3, 8))
        new = torch.maximum(top, scores.masked_fill_(later, -torch.inf).amax(-1, keepdim=True))
        part, fade = torch.exp(scores - new), torch.exp(top - new)
        total, y = fade * total + part.sum(-1, keepdim=True), fade * y + part @ v[..., j : j + 3, :]
        top = new
    assert torch.allclose(
        y / total, F.scaled_dot_product_attention(q, k, v, is_causal=True), atol=1e-6
    )
    return seen + (top + total.log()).flatten().tolist()


def detection(torch: Any) -> list:
    """Boxes on a grid: anchors matched by shape, overlaps in the loss, suppression by hand."""
    nn, F = torch.nn, torch.nn.functional
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1),
        nn.BatchNorm2d(8),
        nn.SiLU(inplace=True),
        nn.Conv2d(8, 14, 3, 2, 1),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, nesterov=True)
    anchors, side = torch.tensor([[1.0, 1.0], [2.0, 1.5]]), 4
    truth = torch.tensor(
        [[0, 1, 1.2, 1.6, 1.2, 0.8], [0, 0, 2.8, 2.4, 1.6, 2.0], [1, 1, 2, 2, 3, 3.5]]
    )

    def overlap(a, b):
        low = torch.max(a[..., :2] - a[..., 2:] / 2, b[..., :2] - b[..., 2:] / 2)
        high = torch.min(a[..., :2] + a[..., 2:] / 2, b[..., :2] + b[..., 2:] / 2)
        both = (high - low).clamp(min=0).prod(-1)
        return both / (a[..., 2:].prod(-1) + b[..., 2:].prod(-1) - both)

    def boxes(raw, shape):
        return torch.cat(
            [raw[..., :2].sigmoid() * 2 - 0.5, (raw[..., 2:4].sigmoid() * 2) ** 2 * shape], -1
        )

    seen = []
    for _ in range(4):
        raw = model(torch.rand(2, 3, 16, 16)).view(2, 2, 7, side, side).permute(0, 1, 3, 4, 2)
        ratio = truth[:, None, 4:] / anchors
        row, anchor = (torch.max(ratio, 1 / ratio).amax(2) < 2.5).nonzero().T
        image, kind = truth[row, :2].long().T
        column, line = truth[row, 2:4].long().T
        own = raw[image, anchor, line, column]
        place = torch.stack([column, line], 1)
        wanted = torch.cat([truth[row, 2:4] - place, truth[row, 4:]], 1)
        fit = overlap(boxes(own, anchors[anchor]), wanted)
        there = torch.zeros_like(raw[..., 4])
        there[image, anchor, line, column] = fit.detach()
        kinds = torch.full_like(own[:, 5:], 0.05)
        kinds[torch.arange(len(row)), kind] = 0.95
        binary = F.binary_cross_entropy_with_logits
        loss = (1 - fit).mean() + binary(raw[..., 4], there) + binary(own[:, 5:], kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += [loss.item(), *fit.tolist()]
    with torch.no_grad():
        found = boxes(raw, anchors[:, None, None]).flatten(1, 3)[0]
        order, kept = raw[0, ..., 4].flatten().argsort(descending=True), []
        while len(order):
            kept.append(order[0].item())
            order = order[1:][overlap(found[order[0]], found[order[1:]]) <= 0.3]
    return seen + kept


def radiance_field(torch: Any) -> list:
    """A small NeRF: rays, coded positions, colours summed along them, samples where it is dense."""
    nn, F = torch.nn, torch.nn.functional

    def coded(x):
        parts = [f(2.0**k * x) for k in range(3) for f in (torch.sin, torch.cos)]
        return torch.cat([x, *parts], -1)

    def rendered(raw, z):
        gaps = torch.cat([z.diff(dim=-1), torch.full_like(z[:, :1], 1e10)], -1)
        opaque = 1 - torch.exp(-F.relu(raw[..., 3] + 0.1 * torch.randn(raw.shape[:-1])) * gaps)
        clear = torch.cat([torch.ones(len(z), 1), 1 - opaque + 1e-10], -1).cumprod(-1)[:, :-1]
        weights = opaque * clear
        return (weights[..., None] * raw[..., :3].sigmoid()).sum(-2), weights

    def denser(edges, weights, count):
        steps = (weights + 1e-5) / (weights + 1e-5).sum(-1, keepdim=True)
        totals = F.pad(steps.cumsum(-1), (1, 0))
        u = torch.rand(len(edges), count)
        above = torch.searchsorted(totals, u, right=True).clamp(max=totals.shape[-1] - 1)
        pair = torch.stack([(above - 1).clamp(min=0), above], -1).flatten(1)
        low, high = totals.gather(1, pair).view(*u.shape, 2).unbind(-1)
        begin, end = edges.gather(1, pair).view(*u.shape, 2).unbind(-1)
        whole = torch.where(high - low < 1e-5, 1.0, high - low)
        return begin + (u - low) / whole * (end - begin)

    model = nn.Sequential(
        nn.Linear(21, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)
    )
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    rows, columns = torch.meshgrid(torch.arange(4.0), torch.arange(5.0), indexing="ij")
    rays = torch.stack([(columns - 2.5) / 5, -(rows - 2) / 5, -torch.ones(4, 5)], -1).view(-1, 3)
    picture, seen = torch.rand(20, 3), []
    for _ in range(4):
        chosen = torch.randperm(20)[:8]
        z = torch.linspace(2, 6, 6).expand(8, 6) + torch.rand(8, 6) * 0.6
        colour, weights = rendered(model(coded(rays[chosen, None] * z[..., None])), z)
        middles = 0.5 * (z[:, 1:] + z[:, :-1])
        z = torch.cat([z, denser(middles, weights[:, 1:-1].detach(), 4)], -1).sort(-1).values
        finer, _ = rendered(model(coded(rays[chosen, None] * z[..., None])), z)
        loss = F.mse_loss(colour, picture[chosen]) + F.mse_loss(finer, picture[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += [loss.item(), -10 * math.log10(loss.item()), *z[0].tolist()]
    return seen


def distributional_values(torch: Any) -> list:
    """Rainbow: noisy layers, a distribution of returns projected on its atoms, a slow target."""
    nn, F = torch.nn, torch.nn.functional
    atoms = torch.linspace(-2, 2, 5)

    class Noisy(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.mean = nn.Parameter(torch.empty(outputs, inputs).uniform_(-0.4, 0.4))
            self.spread = nn.Parameter(torch.full((outputs, inputs), 0.2))
            self.register_buffer("noise", torch.zeros(outputs, inputs))

        def renew(self):
            a, b = (x.sign() * x.abs().sqrt() for x in map(torch.randn, self.noise.shape))
            self.noise.copy_(torch.outer(a, b))

        def forward(self, x):
            return F.linear(x, self.mean + self.spread * self.noise if self.training else self.mean)

    def network():
        return nn.ModuleDict({"body": Noisy(4, 12), "value": Noisy(12, 5), "gain": Noisy(12, 15)})

    def chances(net, x):
        h = net["body"](x).relu()
        value, gain = net["value"](h).view(-1, 1, 5), net["gain"](h).view(-1, 3, 5)
        return (value + gain - gain.mean(1, keepdim=True)).softmax(-1).clamp(min=1e-3)

    net, slow = network(), network()
    slow.load_state_dict(net.state_dict())
    slow.eval()
    optimizer, seen, every = torch.optim.AdamW(net.parameters(), 1e-2), [], torch.arange(6)
    for _ in range(5):
        state, following = torch.randn(2, 6, 4)
        action, reward, ends = torch.randint(3, (6,)), torch.rand(6), torch.rand(6) < 0.2
        with torch.no_grad():
            best = (chances(net, following) * atoms).sum(2).argmax(1)
            ahead = chances(slow, following)[every, best]
            place = (reward[:, None] + 0.9 * ~ends[:, None] * atoms).clamp(-2, 2) + 2
            low, high = place.floor().long(), place.ceil().long()
            low[(high > 0) & (low == high)] -= 1
            high[(low < 4) & (low == high)] += 1
            wanted, first = torch.zeros(6, 5), 5 * every[:, None]
            wanted.view(-1).index_add_(0, (low + first).view(-1), (ahead * (high - place)).view(-1))
            wanted.view(-1).index_add_(0, (high + first).view(-1), (ahead * (place - low)).view(-1))
        losses = -(wanted * chances(net, state)[every, action].log()).sum(1)
        optimizer.zero_grad()
        losses.mean().backward()
        nn.utils.clip_grad_value_(net.parameters(), 0.5)
        optimizer.step()
        for layer in net.values():
            layer.renew()
        mixed = {k: 0.95 * v + 0.05 * net.state_dict()[k] for k, v in slow.state_dict().items()}
        slow.load_state_dict(mixed)
        seen += [*losses.tolist(), *losses.detach().topk(2).indices.tolist()]
    return [*seen, slow["body"].noise.sum().item()]


def sets(torch: Any) -> list:
    """A set transformer, whose result is the same in any order; a variational recurrent network."""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.seeds = nn.Parameter(torch.empty(1, 3, width))
            nn.init.xavier_uniform_(self.seeds)
            self.inner, self.outer = (
                nn.MultiheadAttention(width, 2, batch_first=True) for _ in "ab"
            )
            self.norm = nn.LayerNorm(width, bias=False)

        def forward(self, x):
            h, _ = self.inner(self.seeds.expand(len(x), -1, -1), x, x, need_weights=False)
            return self.norm(x + self.outer(x, h, h)[0])

    model = nn.Sequential(nn.Linear(2, 8), Block(8), nn.Mish(), Block(8))
    head = nn.Bilinear(8, 8, 2)
    optimizer = torch.optim.RAdam([*model.parameters(), *head.parameters()], 1e-2)
    seen = []
    for _ in range(4):
        x = torch.randn(5, 6, 2)
        h = model(x)
        loss = F.smooth_l1_loss(head(h.mean(1), h.amax(1)), x.amax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    mixed = torch.randperm(6)
    assert torch.allclose(model(x)[:, mixed], model(x[:, mixed]), atol=1e-5)
    encode, prior, decode = nn.Linear(9, 4), nn.Linear(6, 4), nn.Linear(8, 3)
    cell = nn.GRUCell(5, 6)
    modules = nn.ModuleList([encode, prior, decode, cell])
    optimizer = torch.optim.NAdam(modules.parameters(), 1e-2)
    for _ in range(3):
        h, total = torch.zeros(4, 6), torch.zeros(())
        for x in torch.rand(5, 4, 3).round():
            mean, log = encode(torch.cat([x, h], 1)).chunk(2, -1)
            wanted, wanted_log = prior(h).chunk(2, -1)
            z = mean + torch.randn_like(mean) * log.exp()
            gap = (2 * log - 2 * wanted_log).exp() + (mean - wanted) ** 2 / (2 * wanted_log).exp()
            total = total + 0.5 * (gap - 1 - 2 * log + 2 * wanted_log).sum()
            scores = decode(torch.cat([z, h], 1))
            total = total + F.binary_cross_entropy_with_logits(scores, x, reduction="sum")
            h = cell(torch.cat([x, z], 1), h)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        seen.append(total.item())
    return seen


PROGRAMS = (
    *(vector_quantization, normalizing_flow, speech, cached_decoding, selective_scan, detection),
    *(radiance_field, distributional_values, sets),
)
