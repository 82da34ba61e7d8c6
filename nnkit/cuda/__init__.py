"""NVIDIA GPUs: which there are, their streams, memory, random numbers and graphs; ``torch.cuda``.

Nothing here needs CuPy or a driver to be imported, and `is_available` never raises.
"""

from __future__ import annotations

from nnkit.backend.errors import OutOfMemoryError as OutOfMemoryError
from nnkit.cuda.device import current_device as current_device
from nnkit.cuda.device import device as device
from nnkit.cuda.device import device_count as device_count
from nnkit.cuda.device import get_device_capability as get_device_capability
from nnkit.cuda.device import get_device_name as get_device_name
from nnkit.cuda.device import get_device_properties as get_device_properties
from nnkit.cuda.device import is_available as is_available
from nnkit.cuda.device import is_bf16_supported as is_bf16_supported
from nnkit.cuda.device import is_initialized as is_initialized
from nnkit.cuda.device import set_device as set_device
from nnkit.cuda.device import synchronize as synchronize
from nnkit.cuda.graphs import CUDAGraph as CUDAGraph
from nnkit.cuda.graphs import graph as graph
from nnkit.cuda.graphs import is_current_stream_capturing as is_current_stream_capturing
from nnkit.cuda.memory import empty_cache as empty_cache
from nnkit.cuda.memory import max_memory_allocated as max_memory_allocated
from nnkit.cuda.memory import max_memory_reserved as max_memory_reserved
from nnkit.cuda.memory import mem_get_info as mem_get_info
from nnkit.cuda.memory import memory_allocated as memory_allocated
from nnkit.cuda.memory import memory_reserved as memory_reserved
from nnkit.cuda.memory import memory_summary as memory_summary
from nnkit.cuda.memory import reset_peak_memory_stats as reset_peak_memory_stats
from nnkit.cuda.random import get_rng_state as get_rng_state
from nnkit.cuda.random import get_rng_state_all as get_rng_state_all
from nnkit.cuda.random import initial_seed as initial_seed
from nnkit.cuda.random import manual_seed as manual_seed
from nnkit.cuda.random import manual_seed_all as manual_seed_all
from nnkit.cuda.random import seed as seed
from nnkit.cuda.random import seed_all as seed_all
from nnkit.cuda.random import set_rng_state as set_rng_state
from nnkit.cuda.random import set_rng_state_all as set_rng_state_all
from nnkit.cuda.streams import Event as Event
from nnkit.cuda.streams import Stream as Stream
from nnkit.cuda.streams import StreamContext as StreamContext
from nnkit.cuda.streams import current_stream as current_stream
from nnkit.cuda.streams import default_stream as default_stream
from nnkit.cuda.streams import stream as stream
