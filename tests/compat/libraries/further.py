"""Private training, training on preferences, pipelines of diffusion, and libraries around torch."""

from __future__ import annotations

import tempfile
from copy import deepcopy
from typing import Any

from tests.compat.libraries.numbers import gradients, step


def opacus__private() -> list[float]:
    """Gradients of each sample, clipped, with noise: three steps, and the privacy spent."""
    import torch
    from opacus import PrivacyEngine
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    model: Any = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)
    )
    optimizer: Any = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    data = TensorDataset(torch.randn(24, 1, 8, 8), torch.randint(0, 3, (24,)))
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=optimizer, data_loader=DataLoader(data, 8), noise_multiplier=1.0,
        max_grad_norm=0.5, noise_generator=torch.Generator().manual_seed(3),
        poisson_sampling=False,
    )  # fmt: skip
    numbers = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        numbers += [float(p.grad_sample.norm()) for p in model.parameters()]
        optimizer.step()
        numbers += [float(loss.detach()), *gradients(model)]
    return [*numbers, engine.get_epsilon(1e-5)]


def opacus__layers() -> list[float]:
    """Gradients of each sample of recurrent layers, attention and embeddings."""
    import torch
    from opacus.grad_sample import GradSampleModule
    from opacus.layers import DPLSTM, DPMultiheadAttention

    torch.manual_seed(0)
    x, numbers = torch.randn(3, 4, 6), []
    for layer, inputs in (
        (DPLSTM(6, 5, batch_first=True), (x,)),
        (DPMultiheadAttention(6, 2, batch_first=True), (x, x, x)),
        (torch.nn.Embedding(7, 4), (torch.randint(0, 7, (3, 4)),)),
        (torch.nn.LayerNorm(6), (x,)),
    ):
        model = GradSampleModule(layer, batch_first=True)
        numbers += step(model, *inputs)
        numbers += [float(p.grad_sample.norm()) for p in model.parameters()]
    return numbers


def _words() -> Any:
    """A tokenizer of 99 words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    names = ["[PAD]", "[BOS]", "[EOS]", "[UNK]", *(f"w{n}" for n in range(95))]
    numbers = {name: n for n, name in enumerate(names)}
    made = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()  # pyright: ignore[reportAttributeAccessIssue]
    special = {"pad_token": "[PAD]", "bos_token": "[BOS]", "eos_token": "[EOS]"}
    found = PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]", **special)
    found.chat_template = "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    return found


def _preferring(trainer: Any, config: Any, rows: dict[str, list]) -> list[float]:
    """What three steps of a trainer log."""
    import torch
    from datasets import Dataset
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=99, num_attention_heads=4, **sizes))
    with tempfile.TemporaryDirectory() as folder:
        options = config(
            output_dir=folder, per_device_train_batch_size=2, max_steps=3, report_to=[],
            disable_tqdm=True, logging_steps=1, use_cpu=True, save_strategy="no", bf16=False,
            learning_rate=1e-3,
        )  # fmt: skip
        training = trainer(
            model,
            ref_model=deepcopy(model),
            args=options,
            train_dataset=Dataset.from_dict(rows),
            processing_class=_words(),
        )
        training.train()
    logged = [float(h[key]) for h in training.state.log_history for key in ("loss", "grad_norm")
              if key in h]  # fmt: skip
    return [*logged, float(sum(p.detach().double().square().sum() for p in model.parameters()))]


def trl__dpo() -> list[float]:
    from trl import DPOConfig, DPOTrainer

    rows = {
        "prompt": [f"w{n} w{n + 1}" for n in range(8)],
        "chosen": [f" w{n + 2} w{n + 3}" for n in range(8)],
        "rejected": [f" w{n + 9} w{n + 8}" for n in range(8)],
    }
    return _preferring(DPOTrainer, DPOConfig, rows)


def trl__kto() -> list[float]:
    from trl import KTOConfig, KTOTrainer

    rows = {
        "prompt": [f"w{n} w{n + 1}" for n in range(8)],
        "completion": [f" w{n + 2} w{n + 3}" for n in range(8)],
        "label": [n % 2 == 0 for n in range(8)],
    }
    return _preferring(KTOTrainer, KTOConfig, rows)


def _drawn(pipeline: Any, **options: Any) -> list[float]:
    """The mean and the deviation of the images that a pipeline makes from noise."""
    import torch

    pipeline.set_progress_bar_config(disable=True)
    generator = torch.Generator().manual_seed(0)
    images = pipeline(generator=generator, num_inference_steps=3, output_type="np", **options)
    return [float(images[0].mean()), float(images[0].std())]


def diffusers__pipelines() -> list[float]:
    """Images from noise alone, and from a class: a denoiser in pixels, one of transformers."""
    import torch
    from diffusers import (
        AutoencoderKL,
        DDIMPipeline,
        DDIMScheduler,
        DDPMPipeline,
        DDPMScheduler,
        DiTPipeline,
        DiTTransformer2DModel,
        UNet2DModel,
    )

    torch.manual_seed(0)
    blocks = {"down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
              "up_block_types": ("AttnUpBlock2D", "UpBlock2D")}  # fmt: skip
    net = UNet2DModel(
        sample_size=16, block_out_channels=(32, 64), layers_per_block=1, norm_num_groups=8, **blocks
    )
    numbers = _drawn(DDPMPipeline(net, DDPMScheduler()))
    numbers += _drawn(DDIMPipeline(net, DDIMScheduler()), eta=0.5)
    net = DiTTransformer2DModel(
        num_attention_heads=2, attention_head_dim=8, in_channels=4, num_layers=2, sample_size=8,
        patch_size=2, norm_num_groups=8, num_embeds_ada_norm=1000, out_channels=8,
    )  # fmt: skip
    coder = AutoencoderKL(block_out_channels=(16,), norm_num_groups=8, latent_channels=4)
    made = DiTPipeline(net, coder, DDIMScheduler())
    return numbers + _drawn(made, class_labels=[1, 3], guidance_scale=2.0)


def diffusers__conditioned() -> list[float]:
    """Images from embeddings of text, by noise schedules of several kinds; one beside a sketch."""
    import torch
    from diffusers import (
        AutoencoderKL,
        ControlNetModel,
        DPMSolverMultistepScheduler,
        EulerAncestralDiscreteScheduler,
        StableDiffusionControlNetPipeline,
        StableDiffusionPipeline,
        UNet2DConditionModel,
        UniPCMultistepScheduler,
    )

    torch.manual_seed(0)
    blocks = {"down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D")}
    sizes = {"block_out_channels": (16, 32), "layers_per_block": 1, "norm_num_groups": 8,
             "cross_attention_dim": 32, "attention_head_dim": 4}  # fmt: skip
    net = UNet2DConditionModel(
        sample_size=8, up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), **blocks, **sizes
    )
    sketch = ControlNetModel(
        conditioning_embedding_out_channels=(8,),
        **blocks,
        **sizes,  # pyright: ignore
    )
    coder = AutoencoderKL(block_out_channels=(16,), norm_num_groups=8, latent_channels=4)
    nobody: Any = {"text_encoder": None, "tokenizer": None, "safety_checker": None,
                   "feature_extractor": None, "requires_safety_checker": False}  # fmt: skip
    texts = {
        "prompt_embeds": torch.randn(1, 7, 32),
        "negative_prompt_embeds": torch.randn(1, 7, 32),
    }
    numbers = []
    for kind in (
        DPMSolverMultistepScheduler, EulerAncestralDiscreteScheduler, UniPCMultistepScheduler,
    ):  # fmt: skip
        made = StableDiffusionPipeline(vae=coder, unet=net, scheduler=kind(), **nobody)
        numbers += _drawn(made, **texts)
    made = StableDiffusionControlNetPipeline(
        vae=coder, unet=net, controlnet=sketch, scheduler=DPMSolverMultistepScheduler(), **nobody
    )
    return numbers + _drawn(made, image=torch.rand(1, 3, 8, 8), **texts)


def torchinfo__summary() -> list[float]:
    import torch
    from torchinfo import summary

    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 5)
    )
    found = summary(model, (2, 3, 8, 8), verbose=0)
    counts = [found.total_params, found.trainable_params, found.total_mult_adds]
    return [*map(float, counts), float(found.total_output_bytes), float(len(str(found)))]


def torcheval__metrics() -> list[float]:
    import torch
    from torcheval import metrics as M
    from torcheval.metrics import functional as F

    torch.manual_seed(0)
    scores, labels = torch.rand(40, 3), torch.randint(0, 3, (40,))
    marks, truth = torch.rand(40), torch.randint(0, 2, (40,))
    numbers = []
    for metric in (
        M.MulticlassAccuracy(num_classes=3, average="macro"),
        M.MulticlassAUROC(num_classes=3),
        M.MulticlassF1Score(num_classes=3),
        M.MulticlassConfusionMatrix(3),
    ):
        for part in range(2):
            metric.update(scores[part::2], labels[part::2])
        numbers += metric.compute().float().flatten().tolist()
    for metric in (M.BinaryAUROC(), M.BinaryAUPRC(), M.BinaryNormalizedEntropy()):
        metric.update(marks.double(), truth.double())
        numbers += metric.compute().flatten().tolist()
    numbers.append(float(F.r2_score(marks, scores[:, 0])))
    numbers.append(float(F.peak_signal_noise_ratio(marks, scores[:, 0])))
    return numbers


def pycox__survival() -> list[float]:
    """Hazards of survival: a Cox model and one of discrete times, two epochs each."""
    import numpy as np
    import torch
    import torchtuples
    from pycox.models import CoxPH, LogisticHazard

    draw = np.random.default_rng(0)
    x = draw.normal(size=(32, 4)).astype("float32")
    times, events = draw.uniform(1, 9, 32).astype("float32"), draw.integers(0, 2, 32)
    numbers = []
    for number, kind in enumerate((CoxPH, LogisticHazard)):
        torch.manual_seed(number)
        np.random.seed(0)
        net = torchtuples.practical.MLPVanilla(4, [8], 5 if number else 1, dropout=0.1)
        model = kind(net, torchtuples.optim.Adam(0.01))
        target = (times.astype("int64") // 2, events.astype("float32")) if number else (
            times, events.astype("float32"))  # fmt: skip
        log = model.fit(x, target, batch_size=8, epochs=2, verbose=False)
        numbers += log.to_pandas()["train_loss"].tolist()
        numbers.append(float(model.predict(x).std()))
    return numbers


def deepinv__reconstruction() -> list[float]:
    """An image out of a blurred one, by a network and by steps of a proximal method."""
    import deepinv
    import torch

    torch.manual_seed(0)
    x = torch.rand(1, 1, 16, 16)
    blur = deepinv.physics.Blur(deepinv.physics.blur.gaussian_blur(sigma=1.0), padding="circular")
    y = blur(x)
    numbers = [float(y.std()), float(blur.A_adjoint(y).std())]
    numbers.append(float(blur.A_dagger(y).std()))
    net = deepinv.models.DnCNN(1, 1, depth=3, nf=8, pretrained=None)
    numbers += step(net, y, 0.1)
    prior = deepinv.optim.prior.TVPrior(n_it_max=5)
    method = deepinv.optim.optim_builder(
        "PGD", prior=prior, data_fidelity=deepinv.optim.data_fidelity.L2(), max_iter=4,
        params_algo={"stepsize": 0.5, "lambda": 0.1},
    )  # fmt: skip
    return [*numbers, float(method(y, blur).std())]


def d3rlpy__offline() -> list[float]:
    """Offline agents on made-up episodes: five updates each."""
    import d3rlpy
    import numpy as np
    import torch

    draw = np.random.default_rng(0)
    n = 60
    observations, rewards = draw.normal(size=(n, 3)).astype("float32"), draw.normal(size=n)
    ends = np.arange(n) % 20 == 19
    numbers = []
    for number, config in enumerate(
        (d3rlpy.algos.DiscreteCQLConfig, d3rlpy.algos.IQLConfig, d3rlpy.algos.TD3PlusBCConfig)
    ):
        actions = draw.uniform(-1, 1, (n, 2)).astype("float32") if number else draw.integers(
            0, 2, (n, 1))  # fmt: skip
        data = d3rlpy.dataset.MDPDataset(observations, actions, rewards.astype("float32"), ends)
        torch.manual_seed(number)
        np.random.seed(number)
        agent = config(batch_size=8).create(device=False)
        agent.build_with_dataset(data)
        for _ in range(5):
            numbers += map(float, agent.update(data.sample_transition_batch(8)).values())
        numbers += np.asarray(agent.predict(observations[:4]), "float64").flatten().tolist()
    return numbers
