"""torch.utils.data: see `nnkit.utils.data`."""

from nnkit.compat.foreign import stand_in

IterDataPipe, DFIterDataPipe, MapDataPipe = (
    stand_in("torch.utils.data.datapipes.datapipe", name)
    for name in ("IterDataPipe", "DFIterDataPipe", "MapDataPipe")
)
