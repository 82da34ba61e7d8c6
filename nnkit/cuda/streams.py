"""Streams of work on a GPU, and events that mark a place in them."""

from __future__ import annotations

from typing import Any

from nnkit.cuda.device import index_of, runtime


class Stream:
    """A queue of kernels and copies that runs in order, beside other streams.

    Args:
        device: the GPU; the current one unless given.
        priority: a lower number goes first.

    Raises:
        RuntimeError: there is no GPU.
    """

    def __init__(self, device: Any = None, priority: int = 0, *, _of: Any = None) -> None:
        cupy = runtime("Stream").require()
        self.device_index = index_of(device, "Stream")
        if _of is None:
            with cupy.cuda.Device(self.device_index):
                _of = cupy.cuda.Stream(non_blocking=True, priority=priority)
        self.backend = _of

    @property
    def cuda_stream(self) -> int:
        """The handle that CUDA's own functions take."""
        return self.backend.ptr

    def synchronize(self) -> None:
        """Wait until all work given to the stream is done; raise what its kernels found wrong."""
        self.backend.synchronize()
        from nnkit.backend.cuda import failures

        failures.check()

    def query(self) -> bool:
        """Whether all work given to the stream is done."""
        return self.backend.done

    def record_event(self, event: Event | None = None) -> Event:
        """Mark this place in the stream."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let what comes next in the stream wait for an event."""
        self.backend.wait_event(event.backend)

    def wait_stream(self, stream: Stream) -> None:
        """Let what comes next wait for all that was given to another stream so far."""
        self.wait_event(stream.record_event())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.cuda_stream == other.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __repr__(self) -> str:
        return f"<nnkit.cuda.Stream device=cuda:{self.device_index} {self.cuda_stream:#x}>"


class Event:
    """A place in a stream that others can wait for, or take the time between two of.

    Args:
        enable_timing: whether `elapsed_time` may be asked.
        blocking: whether waiting sleeps instead of spinning.

    Raises:
        RuntimeError: there is no GPU.
    """

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        cupy = runtime("Event").require()
        self.backend = cupy.cuda.Event(block=blocking, disable_timing=not enable_timing)

    def record(self, stream: Stream | None = None) -> None:
        """Mark this place in a stream, the current one unless given."""
        self.backend.record(None if stream is None else stream.backend)

    def wait(self, stream: Stream | None = None) -> None:
        """Let a stream, the current one unless given, wait for this event."""
        (stream or current_stream()).wait_event(self)

    def query(self) -> bool:
        """Whether the work before the event is done."""
        return self.backend.done

    def synchronize(self) -> None:
        """Wait for the event; raise what the kernels before it found wrong."""
        self.backend.synchronize()
        from nnkit.backend.cuda import failures

        failures.check()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to a later one; both must have been reached."""
        return runtime().require().cuda.get_elapsed_time(self.backend, end_event.backend)


def current_stream(device: Any = None) -> Stream:
    """The stream that operations of this thread are given to."""
    index = index_of(device, "current_stream")
    return Stream(index, _of=runtime().require().cuda.get_current_stream(index))


def default_stream(device: Any = None) -> Stream:
    """The stream that operations are given to unless another was chosen."""
    return Stream(device, _of=runtime().require().cuda.Stream.null)


class StreamContext:
    """Within it operations go to a stream; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.backend.__enter__()

    def __exit__(self, *error: Any) -> None:
        if self.stream is not None:
            self.stream.backend.__exit__(*error)


def stream(stream: Stream | None) -> StreamContext:
    """Let operations go to a stream: ``with nnkit.cuda.stream(s): ...``; None changes nothing."""
    return StreamContext(stream)
