"""Writes torch's answers to ``tests/expected/ops``: ``python -m tests.harness.frozen [name]``."""

from __future__ import annotations

import sys

from tests.harness.cases import PARITY
from tests.harness.expectations import ask, freeze, torch_answers
from tests.harness.table import ROWS, SUBJECT


def main(subjects: list[str]) -> None:
    known = sorted(set(SUBJECT.values()))
    if unknown := set(subjects).difference(known):
        raise SystemExit(f"no subject {', '.join(unknown)}; there are {', '.join(known)}")
    for subject in subjects or known:
        if not torch_answers(subject):
            print(f"{subject}: this processor draws other random numbers, its file is kept")
            continue
        rows = [row for row in ROWS.values() if SUBJECT[row.name] == subject]
        results = {
            case.key: ask(case).thinned() for row in rows for cases in PARITY for case in cases(row)
        }
        path = freeze(subject, results)
        print(f"{path.name}: {len(results)} results, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
