#!/usr/bin/env bash
# Runs the tests of the compiled kernels under GCC's sanitizers.
#
#   tools/sanitize.sh address|thread [pytest's arguments]
#
# `address` finds wrong reads and writes, and undefined behaviour; `thread` finds data races. The
# kernels are compiled once more, in a folder of their own under build/: the ones in use stay.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

case "${1:-}" in
    address) flags="-fsanitize=address,undefined -fno-sanitize-recover=undefined" runtime=asan ;;
    thread) flags="-fsanitize=thread" runtime=tsan ;;
    *) sed -n '2,7p' "$0" >&2; exit 2 ;;
esac
kind=$1
shift
[ $# -gt 0 ] || set -- tests/backend

# A copy of the sources by links, so that the extension lies beside its Python modules.
copy=$root/build/sanitize-$kind
mkdir -p "$copy"
for entry in setup.py setup.cfg pyproject.toml README.md LICENSE; do ln -sfn "$root/$entry" "$copy/$entry"; done
rsync -a --delete --exclude '*.so' --exclude __pycache__ nnkit tests "$copy/"

cd "$copy"
export NNKIT_TARGETS=baseline
# -O1 keeps the stacks readable; the vector code of the other targets is the same source.
NNKIT_FLAGS="-O1 -g -fno-omit-frame-pointer $flags" python setup.py -q build_ext --inplace

# Leaks are looked for by tests that count references: CPython itself keeps much until the end.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=suppressions=$root/tools/sanitize_thread.txt:ignore_noninstrumented_modules=1
LD_PRELOAD="$(gcc -print-file-name=lib$runtime.so) $(gcc -print-file-name=libstdc++.so)" \
    NNKIT_NATIVE=baseline OMP_NUM_THREADS=1 python -m pytest -q -p no:cacheprovider "$@"
