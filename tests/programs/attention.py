"""Attention: transformers of the library's own, and a translator that attends by hand."""

from __future__ import annotations

import math
from typing import Any


def transformer(torch: Any) -> list:
    """Sines for positions, an encoder under a causal mask; an encoder and decoder with padding."""
    nn = torch.nn
    place = torch.arange(6).unsqueeze(1)
    speed = torch.exp(torch.arange(0, 12, 2) * (-math.log(10000.0) / 12))
    waves = torch.zeros(6, 1, 12)
    waves[:, 0, 0::2] = torch.sin(place * speed)
    waves[:, 0, 1::2] = torch.cos(place * speed)
    embed, out = nn.Embedding(15, 12), nn.Linear(12, 15)
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(12, 3, 24, 0.1), 2, enable_nested_tensor=False
    )
    model = nn.ModuleList([embed, encoder, out])
    mask = nn.Transformer.generate_square_subsequent_mask(6)
    x, y = torch.randint(15, (6, 3)), torch.randint(15, (18,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    seen = []
    for _ in range(6):
        logits = out(encoder(embed(x) * math.sqrt(12) + waves, mask))
        loss = nn.functional.cross_entropy(logits.view(-1, 15), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    both = nn.Transformer(8, 2, 1, 1, 16, 0.0, batch_first=True, activation="gelu")
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    translated = both(
        torch.randn(2, 5, 8), torch.randn(2, 4, 8),
        tgt_mask=both.generate_square_subsequent_mask(4),
        src_key_padding_mask=padding, memory_key_padding_mask=padding,
    )  # fmt: skip
    translated.pow(2).mean().backward()
    gradient = both.encoder.layers[0].self_attn.in_proj_weight.grad
    return seen + [translated.abs().sum().item(), gradient.abs().sum().item()]


def multi_head_attention(torch: Any) -> list:
    """`MultiheadAttention`, `scaled_dot_product_attention` and `einsum` agree with each other."""
    nn, F = torch.nn, torch.nn.functional
    attention = nn.MultiheadAttention(8, 2, dropout=0.1, batch_first=True)
    x = torch.randn(2, 5, 8, requires_grad=True)
    later = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    out, weights = attention(x, x, x, attn_mask=later, average_attn_weights=False)
    (out.sum() + weights[..., 0].sum()).backward()
    q, k, v = torch.randn(3, 2, 2, 5, 4, requires_grad=True)
    fused = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    scores = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(4)
    p = scores.masked_fill(later, float("-inf")).softmax(-1)
    by_hand = torch.einsum("bhij,bhjd->bhid", p, v)
    assert torch.allclose(fused, by_hand, atol=1e-6)
    return [
        out.abs().sum().item(), weights.square().sum().item(), x.grad.abs().sum().item(),
        *fused.sum((0, 1, 3)).tolist(),
    ]  # fmt: skip


def translator(torch: Any) -> list:
    """GRUs that read and write word by word; the writer attends to what was read."""
    nn, F = torch.nn, torch.nn.functional
    source, target = (
        torch.tensor([3, 5, 7, 2, 1]).view(-1, 1),
        torch.tensor([4, 6, 8, 1]).view(-1, 1),
    )
    reader = nn.ModuleDict({"embed": nn.Embedding(12, 10), "gru": nn.GRU(10, 10)})
    writer = nn.ModuleDict(
        {
            "embed": nn.Embedding(12, 10), "score": nn.Linear(20, 6), "mix": nn.Linear(20, 10),
            "gru": nn.GRU(10, 10), "out": nn.Linear(10, 12),
        }
    )  # fmt: skip
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.05) for m in (reader, writer)]
    criterion, seen = nn.NLLLoss(), []
    for _ in range(8):
        for optimizer in optimizers:
            optimizer.zero_grad()
        h, read = torch.zeros(1, 1, 10), torch.zeros(6, 10)
        loss: Any = 0
        for i in range(5):
            out, h = reader.gru(reader.embed(source[i]).view(1, 1, -1), h)
            read[i] = out[0, 0]
        word = torch.tensor([[0]])
        for i in range(4):
            embedded = writer.embed(word).view(1, 1, -1)
            weights = F.softmax(writer.score(torch.cat((embedded[0], h[0]), 1)), dim=1)
            seen_now = torch.bmm(weights.unsqueeze(0), read.unsqueeze(0))
            mixed = writer.mix(torch.cat((embedded[0], seen_now[0]), 1)).unsqueeze(0)
            out, h = writer.gru(F.relu(mixed), h)
            log_p = F.log_softmax(writer.out(out[0]), dim=1)
            word = log_p.topk(1).indices.squeeze().detach()
            loss += criterion(log_p, target[i])
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        seen.append(loss.item())
    return seen + weights[0].tolist()


PROGRAMS = (transformer, multi_head_attention, translator)
