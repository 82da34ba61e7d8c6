"""Language models: a small GPT written out, and word vectors by negative sampling."""

from __future__ import annotations

import math
from typing import Any


def word_vectors(torch: Any) -> list:
    """Skip-grams: two embeddings, negatives drawn by frequency, batched dot products."""
    nn, F = torch.nn, torch.nn.functional
    centre, context = nn.Embedding(20, 6), nn.Embedding(20, 6)
    centre.weight.data.uniform_(-0.5 / 6, 0.5 / 6)
    nn.init.zeros_(context.weight)
    frequency = torch.tensor([1.0 / (i + 1) for i in range(20)]) ** 0.75
    optimizer = torch.optim.SGD([*centre.parameters(), *context.parameters()], lr=0.5)
    seen = []
    for _ in range(12):
        u, v = torch.randint(0, 20, (16,)), torch.randint(0, 20, (16,))
        negative = torch.multinomial(frequency, 16 * 3, replacement=True).view(16, 3)
        score = torch.clamp(torch.sum(torch.mul(centre(u), context(v)), dim=1), -10, 10)
        against = torch.bmm(context(negative), centre(u).unsqueeze(2)).squeeze()
        loss = (-F.logsigmoid(score) - F.logsigmoid(-against).sum(1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    vectors = centre.weight.detach()
    likeness = F.cosine_similarity(vectors[0].unsqueeze(0), vectors)
    return seen + likeness.topk(5).values.tolist() + likeness.argsort(descending=True)[:3].tolist()


def small_gpt(torch: Any) -> list:
    """Causal self-attention by hand, tied weights, decay in groups, top-k sampling."""
    nn, F = torch.nn, torch.nn.functional
    tokens, width, time, heads = 20, 16, 8, 4

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(width, 3 * width, bias=False)
            self.proj = nn.Linear(width, width)
            self.drop = nn.Dropout(0.1)
            self.register_buffer("mask", torch.tril(torch.ones(time, time)).view(1, 1, time, time))

        def forward(self, x):
            b, t, c = x.size()
            split = self.qkv(x).split(c, dim=2)
            q, k, v = (s.view(b, t, heads, c // heads).transpose(1, 2) for s in split)
            scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
            y = self.drop(F.softmax(scores, dim=-1)) @ v
            return self.proj(y.transpose(1, 2).contiguous().view(b, t, c))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln1, self.ln2, self.attention = (
                nn.LayerNorm(width),
                nn.LayerNorm(width),
                Attention(),
            )
            self.mlp = nn.ModuleDict(
                {"wide": nn.Linear(width, 4 * width), "proj": nn.Linear(4 * width, width)}
            )

        def forward(self, x):
            x = x + self.attention(self.ln1(x))
            return x + self.mlp.proj(F.gelu(self.mlp.wide(self.ln2(x)), approximate="tanh"))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(tokens, width), nn.Embedding(time, width)
            self.blocks = nn.ModuleList([Block() for _ in range(2)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)
            self.token.weight = self.head.weight
            self.apply(self.initialize)
            for name, p in self.named_parameters():
                if name.endswith("proj.weight"):
                    nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(4))

        def initialize(self, m):
            if isinstance(m, (nn.Linear, nn.Embedding)):
                nn.init.normal_(m.weight, mean=0.0, std=0.02)

        def forward(self, tokens):
            x = self.token(tokens) + self.place(torch.arange(tokens.size(1)))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

        @torch.no_grad()
        def generate(self, tokens, count, top):
            for _ in range(count):
                logits = self(tokens[:, -time:])[:, -1, :] / 0.9
                best, _ = torch.topk(logits, top)
                logits[logits < best[:, [-1]]] = -float("inf")
                drawn = torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)
                tokens = torch.cat((tokens, drawn), dim=1)
            return tokens

    model = GPT()
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": 0.1},
        {"params": others, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1e-2, betas=(0.9, 0.95))
    data, seen = torch.randint(tokens, (100,)), []
    for step in range(10):
        for group in optimizer.param_groups:
            group["lr"] = 1e-2 * min(1, (step + 1) / 4)
        starts = torch.randint(len(data) - time, (4,))
        x = torch.stack([data[i : i + time] for i in starts])
        y = torch.stack([data[i + 1 : i + 1 + time] for i in starts])
        loss = F.cross_entropy(model(x).view(-1, tokens), y.view(-1), ignore_index=-1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        seen += [loss.item(), norm.item()]
    model.eval()
    written = model.generate(torch.zeros((2, 1), dtype=torch.long), 10, 5)
    return seen + written.flatten().tolist()


PROGRAMS = (word_vectors, small_gpt)
