"""Networks of language, diffusion, and their files."""

from __future__ import annotations

from typing import Any

from tests.compat.libraries.numbers import gradients, step


def _config(kind: Any, **named: Any) -> Any:
    return kind(vocab_size=100, **named)


def transformers__gpt2() -> list[float]:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    model = GPT2LMHeadModel(_config(GPT2Config, n_embd=32, n_layer=2, n_head=4, n_positions=64))
    ids = torch.randint(0, 100, (2, 12))
    model.eval()
    loss = model(ids, labels=ids).loss
    loss.backward()
    numbers = [float(loss.detach()), *gradients(model)]
    options = {"max_new_tokens": 8, "pad_token_id": 0}
    numbers += model.generate(ids, do_sample=False, **options).flatten().tolist()
    numbers += model.generate(ids, num_beams=3, do_sample=False, **options).flatten().tolist()
    torch.manual_seed(1)
    numbers += model.generate(ids, do_sample=True, top_k=20, **options).flatten().tolist()
    return numbers


def transformers__bert() -> list[float]:
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    model = BertForSequenceClassification(
        _config(
            BertConfig,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
        )
    ).eval()
    out = model(torch.randint(0, 100, (2, 12)), labels=torch.tensor([0, 1]))
    out.loss.backward()
    return [float(out.loss.detach()), *gradients(model)]


def transformers__llama() -> list[float]:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    model = LlamaForCausalLM(
        _config(
            LlamaConfig,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            num_key_value_heads=2,
        )
    ).eval()
    ids = torch.randint(0, 100, (2, 12))
    loss = model(ids, labels=ids).loss
    loss.backward()
    out = model.generate(ids, max_new_tokens=6, do_sample=False, pad_token_id=0)
    return [float(loss.detach()), *gradients(model), *out.flatten().tolist()]


def transformers__t5() -> list[float]:
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    model = T5ForConditionalGeneration(
        _config(
            T5Config,
            d_model=32,
            num_layers=2,
            num_heads=4,
            d_kv=8,
            d_ff=64,
            decoder_start_token_id=0,
        )
    ).eval()
    ids = torch.randint(1, 100, (2, 12))
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    out = model.generate(ids, max_new_tokens=6, do_sample=False)
    return [float(loss.detach()), *gradients(model), *out.flatten().tolist()]


def transformers__vit() -> list[float]:
    import torch
    from transformers import ViTConfig, ViTForImageClassification

    torch.manual_seed(0)
    model = ViTForImageClassification(
        ViTConfig(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            image_size=32,
            intermediate_size=64,
            patch_size=8,
        )
    ).eval()
    return step(model, torch.rand(2, 3, 32, 32))


def transformers__whisper() -> list[float]:
    import torch
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    torch.manual_seed(0)
    model = WhisperForConditionalGeneration(
        WhisperConfig(
            vocab_size=100,
            d_model=32,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=64,
            decoder_ffn_dim=64,
            num_mel_bins=8,
            max_source_positions=20,
            max_target_positions=30,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=1,
        )
    ).eval()
    ids = torch.randint(3, 100, (2, 6))
    loss = model(input_features=torch.rand(2, 8, 40), labels=ids).loss
    loss.backward()
    return [float(loss.detach()), *gradients(model)]


def transformers__mamba() -> list[float]:
    import torch
    from transformers import MambaConfig, MambaForCausalLM

    torch.manual_seed(0)
    model = MambaForCausalLM(
        _config(MambaConfig, hidden_size=32, num_hidden_layers=2, state_size=4)
    ).eval()
    ids = torch.randint(0, 100, (2, 12))
    loss = model(ids, labels=ids).loss
    loss.backward()
    return [float(loss.detach()), *gradients(model)]


def transformers__save_and_load() -> list[float]:
    import tempfile

    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    model = GPT2LMHeadModel(_config(GPT2Config, n_embd=32, n_layer=2, n_head=4)).eval()
    ids = torch.randint(0, 100, (2, 12))
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = GPT2LMHeadModel.from_pretrained(folder).eval()
    return [
        float((model(ids).logits - again(ids).logits).detach().abs().max()),
        float(again(ids).logits.detach().mean()),
    ]


def transformers__trainer() -> list[float]:
    import tempfile

    import torch
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    torch.manual_seed(0)
    model = BertForSequenceClassification(
        _config(
            BertConfig,
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=4,
            intermediate_size=64,
            hidden_dropout_prob=0,
            attention_probs_dropout_prob=0,
        )
    )
    data = [{"input_ids": torch.randint(0, 100, (8,)), "labels": i % 2} for i in range(16)]
    with tempfile.TemporaryDirectory() as folder:
        options = TrainingArguments(
            folder,
            num_train_epochs=1,
            per_device_train_batch_size=4,
            report_to=[],
            use_cpu=True,
            save_strategy="no",
            disable_tqdm=True,
            seed=3,
        )
        trainer = Trainer(model, options, train_dataset=data)
        result = trainer.train()
    return [result.training_loss, result.global_step]


def diffusers__unet() -> list[float]:
    import torch
    from diffusers import DDIMScheduler, DDPMScheduler, UNet2DModel

    torch.manual_seed(0)
    model = UNet2DModel(
        sample_size=16,
        block_out_channels=(32, 64),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    ).eval()
    x = torch.rand(1, 3, 16, 16)
    numbers = step(model, x, 3)
    for kind in (DDPMScheduler, DDIMScheduler):
        schedule = kind(num_train_timesteps=100)
        schedule.set_timesteps(4)
        torch.manual_seed(1)
        noise = torch.randn(1, 3, 16, 16)
        with torch.no_grad():
            for t in schedule.timesteps:
                noise = schedule.step(model(noise, t).sample, t, noise).prev_sample
        numbers.append(float(noise.std()))
    return numbers


def diffusers__autoencoder() -> list[float]:
    import torch
    from diffusers import AutoencoderKL

    torch.manual_seed(0)
    model = AutoencoderKL(block_out_channels=(32,), norm_num_groups=8).eval()
    return step(model, torch.rand(1, 3, 16, 16))


def x_transformers__model() -> list[float]:
    import torch
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    torch.manual_seed(0)
    model = AutoregressiveWrapper(
        TransformerWrapper(
            num_tokens=50,
            max_seq_len=32,
            attn_layers=Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True),
        )
    )
    loss = model(torch.randint(0, 50, (2, 16)))
    loss.backward()
    return [float(loss.detach()), *gradients(model)]


def safetensors__files() -> list[float]:
    import tempfile

    import torch
    from safetensors import safe_open
    from safetensors.torch import load_file, save_file

    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/a.safetensors"
        save_file(
            {"a": torch.rand(3, 4), "b": torch.arange(4), "c": torch.ones(2).bfloat16()}, path
        )
        loaded = load_file(path)
        with safe_open(path, framework="pt") as file:
            part = file.get_slice("a")[1:, :2]
    return [
        float(loaded["a"].sum()),
        float(loaded["b"].sum()),
        float(part.sum()),
        float(loaded["c"].float().sum()),
    ]
