"""The settings of a thread that a backward pass restores after it has called code of users."""

from __future__ import annotations

import threading
from collections.abc import Callable

from nnkit.autograd.arguments.casting import CASTING, enable
from nnkit.autograd.engine.saved import STACK
from nnkit.autograd.grad_mode import MODE


def thread_settings() -> tuple:
    """The grad modes, what autocast casts, and the saved-tensor hooks, as they are now."""
    return (
        (MODE.enabled, MODE.inference, MODE.grad_in_inference, MODE.bars_grad, MODE.carries),
        MODE.threads, CASTING.enabled, CASTING.dtypes, tuple(STACK.pairs), STACK.refusal,
    )  # fmt: skip


def restore(settings: tuple | None) -> None:
    """Go back to settings that `thread_settings` has returned, if there are any."""
    if settings is None or thread_settings() == settings:
        return
    modes, MODE.threads, enabled, CASTING.dtypes, pairs, refusal = settings
    MODE.enabled, MODE.inference, MODE.grad_in_inference, MODE.bars_grad, MODE.carries = modes
    for kind in {*CASTING.enabled, *enabled}:
        enable(kind, kind in enabled)
    STACK.reset([*pairs], refusal)


def in_another_thread(function: Callable[[], None]) -> None:
    """Call a function in a thread that is made for it, with the settings of this one, and raise
    here what it raises."""
    settings, raised = thread_settings(), []

    def call() -> None:
        fresh = thread_settings()
        restore(settings)
        try:
            function()
        except BaseException as error:
            raised.append(error)
        finally:
            restore(fresh)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    if raised:
        raise raised.pop()
