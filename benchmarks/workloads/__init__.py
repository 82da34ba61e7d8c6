"""The workloads, each written once against the API that nnkit and PyTorch share.

A workload is a function of the framework's module and a device; it draws the data and the model
from seed 0 and returns a function that runs one step and returns what was computed.
"""

from __future__ import annotations

from benchmarks.workloads import classifiers, convolutions, sequences, vision
from benchmarks.workloads.training import Workload

WORKLOADS: dict[str, Workload] = {
    "softmax 4-2, batch 3, SGD": classifiers.softmax_small,
    "softmax 64-10, batch 64, SGD": classifiers.softmax_digits,
    "MLP 784-256-128-10, batch 64, Adam": classifiers.mlp_adam,
    "MLP 1024-1024-1024-10, batch 256, SGD": classifiers.mlp_wide,
    "MLP 784-256-10, batch 1, inference": classifiers.mlp_inference,
    "chain of 10 small ops": classifiers.op_chain,
    "CNN 28x28, batch 64, Adam": vision.cnn,
    "ResNet 32x32, batch 16, SGD": vision.resnet,
    "GPT 4 layers, T 64, batch 16, AdamW": sequences.gpt,
    "LSTM 32-256, T 64, batch 32, Adam": sequences.lstm,
    **convolutions.WORKLOADS,
}
