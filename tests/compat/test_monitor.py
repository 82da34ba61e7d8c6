"""``torch.monitor``: events and statistics, as torch logs them."""

from __future__ import annotations

from tests.compat.test_install import run

PROGRAM = """
import datetime, time
import torch
from torch.monitor import *
from torch.monitor import Aggregation, Event, Stat, TensorboardEventHandler, log_event
from torch.monitor import register_event_handler, unregister_event_handler
seen, hours, A = [], datetime.timedelta(hours=100), Aggregation
handle = register_event_handler(lambda e: seen.append((e.name, sorted(e.data.items()))))
stat = Stat("loss", (A.SUM, A.COUNT, A.MEAN, A.MAX, A.MIN, A.VALUE), hours)
stat.add(3)
stat.add(1.5)
print(stat.name, stat.count, sorted((k.name, v) for k, v in stat.get().items()), seen)
del stat
print(seen.pop())
stat = Stat("few", [A.SUM], hours, 2)
for value in (1, 2, 4):
    stat.add(value)
print(stat.count, stat.get(), seen.pop())
del stat
stat = Stat("often", [A.COUNT], datetime.timedelta(milliseconds=40))
for _ in range(3):
    stat.add(2)
    time.sleep(0.1)
print(stat.count, stat.get(), len(seen), seen.pop())
seen.clear()
del stat
event = Event("mine", datetime.datetime(2020, 1, 2), {"a": 1, "b": 2.5, "c": "x", "d": True})
log_event(event)
print(seen.pop(1), event.timestamp)
unregister_event_handler(handle)
log_event(event)
print(len(seen))
second = datetime.timedelta(seconds=1)
for wrong in (
    lambda: Stat("x", [3], second), lambda: Stat("x", [A.SUM], 3), lambda: Event("a", 3, {}),
    lambda: Event("a", datetime.datetime.now(), {"a": []}), lambda: log_event(3),
    lambda: Stat("x", [A.SUM], second).add("s"),
):
    try:
        wrong()
    except TypeError:
        print("refused", end=" ")
class Writer:
    def add_scalar(self, name, value, walltime=None):
        print(name, value, type(walltime).__name__)
handle = register_event_handler(TensorboardEventHandler(Writer()))
Stat("t", [A.MEAN], hours).add(4)
log_event(event)
print(A.SUM, A.SUM.name, A.SUM.value, int(A.MIN), repr(A.MAX), torch.monitor.STAT_EVENT)
"""
PRINTED = """\
loss 2 [('COUNT', 0.0), ('MAX', 0.0), ('MEAN', 0.0), ('MIN', 0.0), ('SUM', 0.0)] []
('torch.monitor.Stat', [('loss.count', 2.0), ('loss.max', 3.0), ('loss.mean', 2.25), \
('loss.min', 1.5), ('loss.sum', 4.5)])
0 {<Aggregation.SUM: 4>: 3.0} ('torch.monitor.Stat', [('few.sum', 3.0)])
1 {<Aggregation.COUNT: 3>: 1.0} 2 ('torch.monitor.Stat', [('often.count', 1.0)])
('mine', [('a', 1), ('b', 2.5), ('c', 'x'), ('d', 1.0)]) 2020-01-02 00:00:00
1
refused refused refused refused refused refused t.mean 4.0 float
Aggregation.SUM SUM 4 6 <Aggregation.MAX: 5> torch.monitor.Stat
"""


def test_what_is_logged() -> None:
    assert run(PROGRAM) + "\n" == PRINTED
