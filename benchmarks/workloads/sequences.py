"""Sequences: a GPT and an LSTM."""

from __future__ import annotations

from typing import Any

from benchmarks.workloads.training import Step, training_step


def transformer(fw: Any, vocabulary: int, length: int, layers: int, width: int, heads: int) -> Any:
    """A decoder as GPT-2's: norms first, biases everywhere, the output tied to the embedding."""
    nn = fw.nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Linear(width, 3 * width)
            self.out = nn.Linear(width, width)

        def forward(self, x: Any) -> Any:
            batch, steps, _ = x.shape
            parts = self.qkv(x).split(width, dim=2)
            q, k, v = (p.view(batch, steps, heads, width // heads).transpose(1, 2) for p in parts)
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(y.transpose(1, 2).reshape(batch, steps, width))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1 = nn.LayerNorm(width)
            self.attention = Attention()
            self.norm2 = nn.LayerNorm(width)
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
            )

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token = nn.Embedding(vocabulary, width)
            self.position = nn.Embedding(length, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, vocabulary, bias=False)
            self.head.weight = self.token.weight
            for name, parameter in self.named_parameters():
                if parameter.dim() == 2:
                    nn.init.normal_(parameter, std=0.02)
                elif name.endswith("bias"):
                    nn.init.zeros_(parameter)

        def forward(self, tokens: Any) -> Any:
            places = fw.arange(tokens.shape[1], device=tokens.device)
            x = self.token(tokens) + self.position(places)
            return self.head(self.norm(self.blocks(x)))

    return Transformer()


def gpt(fw: Any, device: str = "cpu") -> Step:
    """GPT with 4 layers, width 128, 4 heads; 64 tokens of 65 kinds, batch 16, AdamW."""
    fw.manual_seed(0)
    tokens = fw.randint(0, 65, (16, 65)).to(device)
    model = transformer(fw, vocabulary=65, length=64, layers=4, width=128, heads=4).to(device)
    optimizer = fw.optim.AdamW(model.parameters(), lr=1e-3)
    return training_step(fw, model, optimizer, tokens[:, :-1], tokens[:, 1:], flatten=True)


def lstm(fw: Any, device: str = "cpu") -> Step:
    """LSTM with 32 features and 256 units over 64 time steps, a linear head; batch 32, Adam."""
    fw.manual_seed(0)
    x, y = fw.randn(64, 32, 32).to(device), fw.randint(0, 10, (32,)).to(device)
    nn = fw.nn

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(32, 256)
            self.head = nn.Linear(256, 10)

        def forward(self, x: Any) -> Any:
            outputs, _ = self.lstm(x)
            return self.head(outputs[-1])

    model = Classifier().to(device)
    return training_step(fw, model, fw.optim.Adam(model.parameters()), x, y)
