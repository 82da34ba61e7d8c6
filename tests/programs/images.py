"""Networks that see or make images: residual, variational, adversarial."""

from __future__ import annotations

from typing import Any


def residual_network(torch: Any) -> list:
    """Blocks with a shortcut, in-place ReLU and in-place sum, batch norm, AdamW."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, i, o, stride=1):
            super().__init__()
            self.conv1 = nn.Conv2d(i, o, 3, stride=stride, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(o)
            self.relu = nn.ReLU(inplace=True)
            self.conv2 = nn.Conv2d(o, o, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(o)
            self.downsample = None
            if stride != 1 or i != o:
                shortcut = nn.Conv2d(i, o, 1, stride=stride, bias=False)
                self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(o))

        def forward(self, x):
            identity = x if self.downsample is None else self.downsample(x)
            out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            out += identity
            return self.relu(out)

    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1), Block(8, 8), Block(8, 16, 2), nn.AdaptiveAvgPool2d((1, 1)),
        nn.Flatten(), nn.Linear(16, 4),
    )  # fmt: skip
    for m in net.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(m, nn.BatchNorm2d):
            nn.init.constant_(m.weight, 1)
            nn.init.constant_(m.bias, 0)
    x, y = torch.randn(6, 3, 16, 16), torch.tensor([0, 1, 2, 3, 0, 1])
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.1)
    seen = []
    for _ in range(6):
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    net.eval()
    with torch.no_grad():
        return seen + net(x).sum(0).tolist()


def variational_autoencoder(torch: Any) -> list:
    """Noise through the reparameterisation, convolutions down and transposed ones up."""
    nn, F = torch.nn, torch.nn.functional

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Conv2d(1, 4, 3, stride=2, padding=1)
            self.mu, self.logvar = nn.Linear(36, 4), nn.Linear(36, 4)
            self.wide = nn.Linear(4, 36)
            self.up = nn.ConvTranspose2d(4, 1, 4, stride=2, padding=1)

        def forward(self, x):
            h = F.relu(self.down(x)).flatten(1)
            mu, logvar = self.mu(h), self.logvar(h)
            std = torch.exp(0.5 * logvar)
            z = mu + torch.randn_like(std) * std
            h = F.elu(self.wide(z)).view(-1, 4, 3, 3)
            return torch.sigmoid(self.up(h)), mu, logvar

    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x = torch.rand(32, 1, 6, 6).round()
    seen = []
    for _ in range(12):
        optimizer.zero_grad()
        image, mu, logvar = model(x)
        fit = F.binary_cross_entropy(image, x, reduction="sum")
        divergence = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        (fit + divergence).backward()
        optimizer.step()
        seen += [fit.item(), divergence.item()]
    return seen


def adversarial_networks(torch: Any) -> list:
    """Two networks in turn, `detach`, `Module.apply`, labels overwritten in place."""
    nn = torch.nn
    generator = nn.Sequential(
        nn.Linear(5, 16), nn.BatchNorm1d(16), nn.ReLU(True), nn.Linear(16, 2), nn.Tanh()
    )
    critic = nn.Sequential(
        nn.Linear(2, 16), nn.LeakyReLU(0.2, inplace=True), nn.Dropout(0.3), nn.Linear(16, 1),
        nn.Sigmoid(),
    )  # fmt: skip

    def initialize(m):
        if m.__class__.__name__.find("Linear") != -1:
            m.weight.data.normal_(0.0, 0.2)
        elif m.__class__.__name__.find("BatchNorm") != -1:
            m.weight.data.normal_(1.0, 0.02)
            m.bias.data.fill_(0)

    generator.apply(initialize)
    critic.apply(initialize)
    criterion = nn.BCELoss()
    settings = {"lr": 2e-3, "betas": (0.5, 0.999)}
    of_critic = torch.optim.Adam(critic.parameters(), **settings)
    of_generator = torch.optim.Adam(generator.parameters(), **settings)
    seen = []
    for _ in range(12):
        real = torch.randn(32, 2) * 0.1 + 0.5
        critic.zero_grad()
        label = torch.full((32,), 1.0, dtype=torch.float)
        on_real = criterion(critic(real).view(-1), label)
        on_real.backward()
        fake = generator(torch.randn(32, 5))
        on_fake = criterion(critic(fake.detach()).view(-1), label.fill_(0.0))
        on_fake.backward()
        of_critic.step()
        generator.zero_grad()
        deceit = criterion(critic(fake).view(-1), label.fill_(1.0))
        deceit.backward()
        of_generator.step()
        seen += [on_real.item(), on_fake.item(), deceit.item()]
    return seen


PROGRAMS = (residual_network, variational_autoencoder, adversarial_networks)
