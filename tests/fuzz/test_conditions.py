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
    Tensor.random_ adaptive_avg_pool1d addbmm addr aminmax block_diag bucketize complex
    cosine_similarity cummax cummin embedding_renorm_ feature_alpha_dropout_ feature_dropout_
    fft.hfft2 fft.hfftn fft.ihfft2 fft.ihfftn fft.irfft2 fft.irfftn from_dlpack gru gru_cell
    histc index_add index_copy index_fill index_put index_reduce inner instance_norm kthvalue
    ldexp linalg.cholesky_ex linalg.cond linalg.inv_ex linalg.lstsq linalg.lu
    linalg.lu_factor linalg.lu_factor_ex linalg.lu_solve linalg.solve linalg.solve_ex
    linalg.solve_triangular logsumexp lstm lstm_cell lu_solve lu_unpack mode narrow_copy
    F.adaptive_avg_pool3d F.binary_cross_entropy F.binary_cross_entropy_with_logits
    F.cosine_embedding_loss F.cosine_similarity F.cross_entropy F.embedding_bag F.fold
    F.gaussian_nll_loss F.grid_sample F.gumbel_softmax F.hinge_embedding_loss F.huber_loss
    F.instance_norm F.kl_div F.l1_loss F.multi_head_attention_forward F.multi_margin_loss
    F.multilabel_margin_loss F.multilabel_soft_margin_loss F.nll_loss F.poisson_nll_loss
    F.scaled_dot_product_attention F.soft_margin_loss F.unfold normal orgqr ormqr renorm
    repeat_interleave rnn_tanh rnn_tanh_cell special.i0e tensordot unique unique_consecutive
""".replace("F.", "nn.functional.").split()


@pytest.mark.filterwarnings("ignore")
def test_what_is_refused_first(torch: ModuleType) -> None:
    """Of each seventh op the type of error, or the result, under every condition in every dtype."""
    clean = [re.escape(name) for name in ROWS if name not in DIFFERENT]
    table = itertools.islice(calls(f"^({'|'.join(clean[::7])})$"), 0, None, 23)
    found = [examine(*call, [torch, nnkit]) for call in table]
    assert [finding for finding in found if finding is not None] == []
