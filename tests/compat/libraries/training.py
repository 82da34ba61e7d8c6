"""Loops of training, and what is measured and explained in them."""

from __future__ import annotations

from typing import Any


def lightning__fit_and_resume() -> list[float]:
    import tempfile
    import warnings

    import lightning
    import torch

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)
            self.losses = []

        def training_step(self, batch, index):
            loss = self.layer(batch).square().mean()
            self.losses.append(float(loss.detach()))
            self.log("loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), 0.01)

    warnings.simplefilter("ignore")
    lightning.seed_everything(0, verbose=False)
    samples: Any = torch.rand(16, 4)
    data = torch.utils.data.DataLoader(samples, 4)
    options = {
        "accelerator": "cpu",
        "logger": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    with tempfile.TemporaryDirectory() as folder:
        model = Model()
        trainer = lightning.Trainer(max_epochs=2, default_root_dir=folder, **options)
        trainer.fit(model, data)
        trainer.save_checkpoint(folder + "/a.ckpt")
        trainer = lightning.Trainer(max_epochs=3, default_root_dir=folder, **options)
        trainer.fit(model, data, ckpt_path=folder + "/a.ckpt", weights_only=False)
    return model.losses


def fastai__learner() -> list[float]:
    import torch
    from fastai.data.core import DataLoaders
    from fastai.data.load import DataLoader
    from fastai.learner import Learner

    torch.manual_seed(0)
    data = [(torch.rand(4), torch.tensor(float(i))) for i in range(16)]
    loaders = DataLoaders(DataLoader(data, bs=4), DataLoader(data, bs=4))
    learner = Learner(
        loaders,
        torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Flatten(0)),
        loss_func=torch.nn.functional.mse_loss,
    )
    with learner.no_bar(), learner.no_logging():
        learner.fit_one_cycle(2, 0.05)
    return [float(v) for row in learner.recorder.values for v in row]


def accelerate__step() -> list[float]:
    import torch
    from accelerate import Accelerator, init_empty_weights

    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True)
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.AdamW(model.parameters(), 0.1)
    samples: Any = torch.rand(8, 4)
    loader = torch.utils.data.DataLoader(samples, 4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    losses = []
    for batch in loader:
        with accelerator.accumulate(model):
            loss = model(batch).square().mean()
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(float(loss.detach()))
    with init_empty_weights():
        empty = torch.nn.Linear(1000, 1000)
    return [*losses, float(empty.weight.is_meta)]


def skorch__classifier() -> list[float]:
    import numpy as np
    import torch
    from skorch import NeuralNetClassifier

    torch.manual_seed(0)
    x = np.random.RandomState(0).rand(40, 4).astype("float32")
    y = (x.sum(1) > 2).astype("int64")
    net = NeuralNetClassifier(
        torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2), torch.nn.Softmax(-1)
        ),
        max_epochs=3,
        lr=0.1,
        verbose=0,
        train_split=None,
    )
    net.fit(x, y)
    return [*net.history[:, "train_loss"], *net.predict_proba(x[:3]).flatten().tolist()]


def captum__attributions() -> list[float]:
    import torch
    from captum.attr import DeepLift, FeatureAblation, GradientShap, IntegratedGradients, Saliency

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    x = torch.rand(2, 3, requires_grad=True)
    numbers = []
    for kind in (IntegratedGradients, Saliency, DeepLift, FeatureAblation):
        numbers += kind(model).attribute(x, target=1).flatten().tolist()
    shap = GradientShap(model).attribute(x, baselines=torch.zeros(2, 3), target=0)
    return numbers + [float(shap.shape[1])]


def stable_baselines3__ppo() -> list[float]:
    import stable_baselines3
    import torch

    torch.manual_seed(0)
    agent = stable_baselines3.PPO(
        "MlpPolicy", "CartPole-v1", n_steps=64, batch_size=32, seed=0, device="cpu"
    )
    agent.learn(128)
    return [float(sum(p.detach().double().sum() for p in agent.policy.parameters()))]


def stable_baselines3__dqn() -> list[float]:
    import stable_baselines3

    agent = stable_baselines3.DQN(
        "MlpPolicy", "CartPole-v1", learning_starts=20, seed=0, batch_size=8, device="cpu"
    )
    agent.learn(60)
    return [float(sum(p.detach().double().sum() for p in agent.policy.parameters()))]


def torchmetrics__classification() -> list[float]:
    import torch
    import torchmetrics
    from torchmetrics import classification as c

    torch.manual_seed(0)
    scores, target = torch.rand(40, 3).softmax(-1), torch.randint(0, 3, (40,))
    kinds = (
        c.MulticlassAccuracy,
        c.MulticlassF1Score,
        c.MulticlassAUROC,
        c.MulticlassConfusionMatrix,
        c.MulticlassAveragePrecision,
        c.MulticlassCohenKappa,
    )
    numbers = []
    for kind in kinds:
        metric = kind(num_classes=3)
        metric.update(scores, target)
        numbers += metric.compute().flatten().tolist()
    numbers.append(float(torchmetrics.MeanSquaredError()(scores[:, 0], target.float())))
    numbers.append(float(torchmetrics.R2Score()(scores[:, 0], target.float())))
    numbers.append(float(torchmetrics.SpearmanCorrCoef()(scores[:, 0], target.float())))
    return numbers


def torchmetrics__images() -> list[float]:
    import torch
    from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure

    torch.manual_seed(0)
    a, b = torch.rand(2, 3, 32, 32), torch.rand(2, 3, 32, 32)
    return [
        float(PeakSignalNoiseRatio(data_range=1.0)(a, b)),
        float(StructuralSimilarityIndexMeasure(data_range=1.0)(a, b)),
    ]


def pytorch_optimizer__optimizers() -> list[float]:
    import pytorch_optimizer
    import torch

    numbers = []
    for name in ("adamp", "lamb", "lion", "ranger", "radam", "shampoo", "sophiah", "adan"):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        optimizer = pytorch_optimizer.load_optimizer(name)(model.parameters(), lr=0.01)
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(torch.rand(8, 4)).square().mean()
            loss.backward(create_graph=name == "sophiah")
            optimizer.step()
        numbers.append(float(loss.detach()))
    return numbers
