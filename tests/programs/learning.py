"""From regression by hand to reinforcement."""

from __future__ import annotations

from typing import Any


def softmax_regression(torch: Any) -> list:
    """Every formula by hand: log-softmax, indexing by the labels, and the update."""
    x = torch.randn(200, 10)
    y = (x @ torch.randn(10, 3)).argmax(dim=1)
    w = torch.zeros(10, 3, requires_grad=True)
    b = torch.zeros(3, requires_grad=True)
    seen = []
    for _ in range(20):
        logits = x @ w + b
        log_p = logits - logits.exp().sum(-1).log().unsqueeze(-1)
        loss = -log_p[range(y.shape[0]), y].mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.5 * w.grad
            b -= 0.5 * b.grad
            w.grad.zero_()
            b.grad.zero_()
        seen += [loss.item(), (logits.argmax(1) == y).float().mean().item()]
    return seen


def deep_q_learning(torch: Any) -> list:
    """A target network, `gather`, a boolean mask, AMSGrad, and gradients cut in place."""
    nn = torch.nn

    class Q(nn.Module):
        def __init__(self):
            super().__init__()
            self.l1 = nn.Linear(4, 16)
            self.l2 = nn.Linear(16, 2)

        def forward(self, x):
            return self.l2(nn.functional.relu(self.l1(x)))

    policy, target = Q(), Q()
    target.load_state_dict(policy.state_dict())
    target.eval()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-2, amsgrad=True)
    seen = []
    for _ in range(15):
        states, actions = torch.randn(16, 4), torch.randint(0, 2, (16, 1))
        rewards, alive = torch.rand(16), torch.rand(16) > 0.1
        following = torch.randn(int(alive.sum()), 4)
        values = policy(states).gather(1, actions)
        expected = torch.zeros(16)
        with torch.no_grad():
            expected[alive] = target(following).max(1).values
        loss = nn.SmoothL1Loss()(values, (expected * 0.99 + rewards).unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        for p in policy.parameters():
            p.grad.data.clamp_(-1, 1)
        optimizer.step()
        seen.append(loss.item())
        mixed = target.state_dict()
        for key, value in policy.state_dict().items():
            mixed[key] = value * 0.1 + mixed[key] * 0.9
        target.load_state_dict(mixed)
    return seen + target.l1.bias.tolist()


def policy_gradient(torch: Any) -> list:
    """REINFORCE: sampled actions, discounted returns made into a tensor."""
    nn = torch.nn
    policy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 4))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.02)
    seen = []
    for _ in range(10):
        p = policy(torch.randn(10, 3)).softmax(dim=-1)
        actions = p.multinomial(1).squeeze(-1)
        log_p = torch.log(p.gather(1, actions[:, None])).squeeze(1)
        returns, total = [], 0.0
        for action in reversed(actions.tolist()):
            total = (1.0 if action == 2 else -0.1) + 0.9 * total
            returns.insert(0, total)
        r = torch.tensor(returns)
        r = (r - r.mean()) / (r.std() + 1e-8)
        loss = torch.cat([(-a * b).reshape(1) for a, b in zip(log_p, r)]).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(log_p.mean().item())  # the loss itself is what is left of a cancellation
    return seen


PROGRAMS = (softmax_regression, deep_q_learning, policy_gradient)
