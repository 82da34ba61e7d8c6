"""A character-level GPT on one process or on many.

    python examples/gpt_ranks.py
    python -m nnkit.distributed.run --nproc-per-node 2 examples/gpt_ranks.py --mode sharded

With ``--folder`` the state is saved there every ``--save-every`` steps, and the next run, on any
number of ranks and in either mode, goes on from it.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from tqdm import tqdm

import nnkit
import nnkit.distributed as dist
from nnkit import nn, optim
from nnkit.distributed import checkpoint
from nnkit.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from nnkit.distributed.fsdp import fully_shard
from nnkit.nn import functional as F
from nnkit.nn.parallel import DistributedDataParallel

TEXT = Path(__file__).parent.parent / "docs" / "design.md"


class Block(nn.Module):
    """Attention to what came before, then a perceptron, each beside a shortcut."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.before_perceptron = nn.LayerNorm(width)
        self.attention = nn.Linear(width, 3 * width)
        self.joined = nn.Linear(width, width)
        self.perceptron = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: nnkit.Tensor) -> nnkit.Tensor:
        batch, length, width = x.shape
        parts = self.attention(self.before_attention(x)).chunk(3, -1)
        q, k, v = (p.view(batch, length, self.heads, -1).transpose(1, 2) for p in parts)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.joined(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.perceptron(self.before_perceptron(x))


class Gpt(nn.Module):
    """Blocks between an embedding and its transpose: first and last weight are one."""

    def __init__(self, symbols: int, length: int, width: int, heads: int, blocks: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols, width)
        self.places = nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(blocks)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, symbols, bias=False)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.head.weight = self.embedding.weight

    def forward(self, x: nnkit.Tensor) -> nnkit.Tensor:
        x = self.embedding(x) + self.places(nnkit.arange(x.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a character-level GPT on many ranks.")
    parser.add_argument("--mode", choices=("parallel", "sharded"), default="parallel")
    parser.add_argument("--text", type=Path, default=TEXT, help="the file to learn from")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=24, help="of all ranks together")
    parser.add_argument("--length", type=int, default=64, help="characters that are seen at once")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where the state is saved and looked for")
    parser.add_argument("--save-every", type=int, default=100)
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser.parse_args()


def divided(model: Gpt, mode: str) -> nn.Module:
    """The model on all ranks: copied, or in shards."""
    if mode == "parallel":
        return DistributedDataParallel(model)
    for block in model.blocks:
        fully_shard(block)
    return fully_shard(model)


def batch_of(text: nnkit.Tensor, step: int, options: argparse.Namespace) -> tuple:
    """This rank's part of a batch, which depends on the step alone: so a run that goes on sees
    what it would have seen."""
    draw = nnkit.Generator().manual_seed(1_000_003 * options.seed + step)
    starts = nnkit.randint(len(text) - options.length, (options.batch,), generator=draw)
    own = starts[dist.get_rank() :: dist.get_world_size()].tolist()
    x = nnkit.stack([text[s : s + options.length] for s in own])
    y = nnkit.stack([text[s + 1 : s + options.length + 1] for s in own])
    return x, y


def main() -> None:
    options = arguments()
    dist.init_process_group()
    ranks, is_first = dist.get_world_size(), dist.get_rank() == 0
    if options.batch % ranks:
        raise SystemExit(f"--batch must be divisible by the {ranks} ranks, got {options.batch}")
    content = options.text.read_text()
    symbols = sorted(set(content))
    numbers = {symbol: number for number, symbol in enumerate(symbols)}
    text = nnkit.tensor([numbers[symbol] for symbol in content])
    nnkit.manual_seed(options.seed)  # all ranks begin with the same weights
    model = divided(
        Gpt(len(symbols), options.length, options.width, options.heads, options.blocks),
        options.mode,
    )
    optimizer = optim.AdamW(model.parameters(), options.rate)

    def state(step: int) -> dict:
        of_model, of_optimizer = get_state_dict(model, optimizer)
        return {"model": of_model, "optimizer": of_optimizer, "step": step}

    first = 0
    if options.folder is not None and (options.folder / ".metadata").exists():
        saved = state(0)
        checkpoint.load(saved, checkpoint_id=options.folder)
        set_state_dict(
            model, optimizer,
            model_state_dict=saved["model"], optim_state_dict=saved["optimizer"],
        )  # fmt: skip
        first = saved["step"]
    steps = range(first, options.steps)
    silent = options.quiet or not is_first or None  # None: no bar where the output is no terminal
    mean = math.nan
    with tqdm(
        steps, desc=f"{ranks} ranks", initial=first, total=options.steps, disable=silent
    ) as bar:
        for step in bar:
            x, y = batch_of(text, step, options)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 10 == 9 or step == options.steps - 1:
                total = loss.detach()
                dist.all_reduce(total, dist.ReduceOp.AVG)
                mean = total.item()
                bar.set_postfix(loss=f"{mean:.4f}")
            if options.folder is not None and (step + 1) % options.save_every == 0:
                checkpoint.save(state(step + 1), checkpoint_id=options.folder)
    if is_first:
        print(f"steps {first} to {options.steps}: loss {mean:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
