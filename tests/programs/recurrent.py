"""Recurrent networks: a classifier of sequences and a writer of text."""

from __future__ import annotations

from typing import Any


def sequence_classifier(torch: Any) -> list:
    """Padded and packed sequences, a bidirectional LSTM of two layers, gradient clipping."""
    nn = torch.nn
    rnn_utils = nn.utils.rnn

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(30, 8, padding_idx=0)
            self.rnn = nn.LSTM(8, 12, 2, batch_first=True, bidirectional=True, dropout=0.2)
            self.out = nn.Linear(24, 3)

        def forward(self, x, lengths):
            packed = rnn_utils.pack_padded_sequence(
                self.embed(x), lengths, batch_first=True, enforce_sorted=False
            )
            out, (h, _) = self.rnn(packed)
            out, _ = rnn_utils.pad_packed_sequence(out, batch_first=True)
            return self.out(torch.cat((h[-2], h[-1]), dim=1)), out

    model = Classifier()
    sequences = [torch.randint(1, 30, (n,)) for n in (7, 3, 5, 6)]
    x = rnn_utils.pad_sequence(sequences, batch_first=True)
    lengths, y = torch.tensor([len(s) for s in sequences]), torch.tensor([0, 1, 2, 1])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    seen = []
    for _ in range(8):
        optimizer.zero_grad()
        logits, out = model(x, lengths)
        loss = nn.CrossEntropyLoss()(logits, y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        seen += [loss.item(), norm.item()]
    return seen + out.sum((1, 2)).tolist()


def character_network(torch: Any) -> list:
    """A GRU whose state goes from one chunk of the text to the next, and that then writes."""
    nn = torch.nn
    text = "hello world, hello nets " * 4
    letters = sorted(set(text))
    data = torch.tensor([letters.index(c) for c in text], dtype=torch.long)
    data = data[: len(data) // 2 * 2].view(2, -1).t().contiguous()

    class Writer(nn.Module):
        def __init__(self, count, hidden):
            super().__init__()
            self.hidden = hidden
            self.embed, self.gru = nn.Embedding(count, 10), nn.GRU(10, hidden)
            self.out = nn.Linear(hidden, count)

        def forward(self, x, h):
            out, h = self.gru(self.embed(x), h)
            return self.out(out), h

        def start(self, batch):
            return next(self.parameters()).new_zeros(1, batch, self.hidden)

    model = Writer(len(letters), 16)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    h, seen = model.start(2), []
    for i in range(0, data.size(0) - 1, 8):
        n = min(8, data.size(0) - 1 - i)
        x, y = data[i : i + n], data[i + 1 : i + 1 + n].reshape(-1)
        out, h = model(x, h.detach())
        loss = nn.functional.cross_entropy(out.view(-1, len(letters)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    letter, h = torch.tensor([[0]]), model.start(1)
    with torch.no_grad():
        for _ in range(20):
            out, h = model(letter, h)
            p = torch.softmax(out.squeeze() / 0.8, -1)
            letter = torch.multinomial(p, 1).view(1, 1)
            seen.append(letter.item())
    return seen


PROGRAMS = (sequence_classifier, character_network)
