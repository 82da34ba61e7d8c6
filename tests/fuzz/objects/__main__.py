"""Wrong constructions and uses of everything that is no op, compared with torch.

``python -m tests.fuzz.objects --seconds 60 --seed 0`` is to modules, optimizers, schedulers, data,
distributions and transforms what `tests.fuzz.calls` is to ops, with the same options. Where both
succeed, what can be seen of the results must agree in its values too.
"""

from __future__ import annotations

import sys

from tests.fuzz.calls import main
from tests.fuzz.objects.compare import seen
from tests.fuzz.objects.table import table

if __name__ == "__main__":
    sys.exit(main(__doc__ or "", table, seen=seen))
