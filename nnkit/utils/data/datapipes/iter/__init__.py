"""Streams of samples that are made of others, each by a method of data pipes or by its class."""

from __future__ import annotations

from nnkit.utils.data.datapipes.iter.callable import (
    CollatorIterDataPipe,
    FilterIterDataPipe,
    MapperIterDataPipe,
)
from nnkit.utils.data.datapipes.iter.combinatorics import (
    SamplerIterDataPipe,
    ShufflerIterDataPipe,
)
from nnkit.utils.data.datapipes.iter.combining import (
    ConcaterIterDataPipe,
    MultiplexerIterDataPipe,
    ZipperIterDataPipe,
)
from nnkit.utils.data.datapipes.iter.files import (
    FileListerIterDataPipe,
    FileOpenerIterDataPipe,
    RoutedDecoderIterDataPipe,
    StreamReaderIterDataPipe,
)
from nnkit.utils.data.datapipes.iter.grouping import (
    BatcherIterDataPipe,
    GrouperIterDataPipe,
    UnBatcherIterDataPipe,
)
from nnkit.utils.data.datapipes.iter.sharding import ShardingFilterIterDataPipe
from nnkit.utils.data.datapipes.iter.splitting import (
    DemultiplexerIterDataPipe,
    ForkerIterDataPipe,
)
from nnkit.utils.data.datapipes.iter.wrapping import (
    IterableWrapperIterDataPipe,
)

__all__ = [
    "Batcher",
    "Collator",
    "Concater",
    "Demultiplexer",
    "FileLister",
    "FileOpener",
    "Filter",
    "Forker",
    "Grouper",
    "IterableWrapper",
    "Mapper",
    "Multiplexer",
    "RoutedDecoder",
    "Sampler",
    "ShardingFilter",
    "Shuffler",
    "StreamReader",
    "UnBatcher",
    "Zipper",
]

Batcher = BatcherIterDataPipe
Collator = CollatorIterDataPipe
Concater = ConcaterIterDataPipe
Demultiplexer = DemultiplexerIterDataPipe
FileLister = FileListerIterDataPipe
FileOpener = FileOpenerIterDataPipe
Filter = FilterIterDataPipe
Forker = ForkerIterDataPipe
Grouper = GrouperIterDataPipe
IterableWrapper = IterableWrapperIterDataPipe
Mapper = MapperIterDataPipe
Multiplexer = MultiplexerIterDataPipe
RoutedDecoder = RoutedDecoderIterDataPipe
Sampler = SamplerIterDataPipe
ShardingFilter = ShardingFilterIterDataPipe
Shuffler = ShufflerIterDataPipe
StreamReader = StreamReaderIterDataPipe
UnBatcher = UnBatcherIterDataPipe
Zipper = ZipperIterDataPipe
