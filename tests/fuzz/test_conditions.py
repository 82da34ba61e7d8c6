"""Some seconds of `tests.fuzz.conditions`, on the ops for which all of it finds nothing."""

from __future__ import annotations

import itertools
import re
from types import ModuleType

import pytest

import nnkit
from tests.fuzz.conditions import calls, examine
from tests.harness.table import ROWS

# Where something differs still, mostly which of two mistakes is found first; F is nn.functional.
DIFFERENT = """
    Tensor.random_ adaptive_avg_pool1d addbmm addr aminmax baddbmm batch_norm bincount
    block_diag bmm bucketize complex conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d cosine_similarity cross cummax cummin cumulative_trapezoid diff einsum
    embedding_renorm_ feature_alpha_dropout_ feature_dropout_ from_dlpack group_norm gru
    gru_cell histc histogram index_add index_copy index_fill index_put index_reduce inner
    instance_norm kthvalue layer_norm ldexp linalg.cond linalg.cross linalg.lstsq
    linalg.multi_dot linalg.solve linalg.solve_triangular logsumexp lstm lstm_cell mode mv
    narrow_copy F.adaptive_avg_pool2d F.adaptive_max_pool2d F.adaptive_max_pool2d_with_indices
    F.avg_pool3d F.batch_norm F.bilinear F.binary_cross_entropy
    F.binary_cross_entropy_with_logits F.cosine_embedding_loss F.cosine_similarity
    F.cross_entropy F.embedding_bag F.fold F.fractional_max_pool2d
    F.fractional_max_pool2d_with_indices F.gaussian_nll_loss F.grid_sample F.group_norm
    F.gumbel_softmax F.hinge_embedding_loss F.huber_loss F.instance_norm F.kl_div F.l1_loss
    F.layer_norm F.local_response_norm F.max_unpool1d F.max_unpool2d F.max_unpool3d
    F.multi_head_attention_forward F.multi_margin_loss F.multilabel_margin_loss
    F.multilabel_soft_margin_loss F.nll_loss F.poisson_nll_loss F.rms_norm
    F.scaled_dot_product_attention F.soft_margin_loss F.unfold normal orgqr ormqr renorm
    repeat_interleave rms_norm rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell rrelu rrelu_
    tensordot trapezoid unflatten unique unique_consecutive
""".replace("F.", "nn.functional.").split()


@pytest.mark.filterwarnings("ignore")
def test_what_is_refused_first(torch: ModuleType) -> None:
    """Of each seventh op the type of error, or the result, under every condition in every dtype."""
    clean = [re.escape(name) for name in ROWS if name not in DIFFERENT]
    table = itertools.islice(calls(f"^({'|'.join(clean[::7])})$"), 0, None, 23)
    found = [examine(*call, [torch, nnkit]) for call in table]
    assert [finding for finding in found if finding is not None] == []
