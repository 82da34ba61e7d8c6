#!/usr/bin/env bash
# Runs the tests of the compiled kernels under GCC's sanitizers.
#
#   tools/sanitize.sh KIND [pytest's arguments]
#   tools/sanitize.sh KIND --fuzz geometry|calls [--seconds N] [--seed S] ...
#
# The second form runs tests/fuzz/<name>.py without torch, which has sanitizers of its own.
# KIND `address` finds wrong reads and writes, `undefined` undefined behaviour, `address,undefined`
# both, compiled in twice the time; `thread` finds data races. The kernels are compiled once more,
# in a folder of their own under build/: the ones in use stay.
# LEVEL=-O0 in the environment compiles them in half the time, for few tests.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

case "${1:-}" in
    address | address,undefined) runtime=asan ;;
    undefined) runtime=ubsan ;;
    thread) runtime=tsan ;;
    *) sed -n '2,12p' "$0" >&2; exit 2 ;;
esac
kind=$1
shift
if [ "${1:-}" = --fuzz ]; then
    set -- -m "tests.fuzz.$2" --no-torch "${@:3}"
else
    set -- -m pytest -q -p no:cacheprovider "$@"
    [[ "$*" == *tests/* ]] || set -- "$@" tests/backend  # where no tests are named
    # Those programs fork, and their Python threads hand each other the GIL, which is not instrumented.
    [ $kind != thread ] || set -- "$@" --ignore=tests/backend/test_native_faults.py
fi

# A copy of the sources, so that the extension lies beside its Python modules.
copy=$root/build/sanitize-$kind
mkdir -p "$copy"
rm -rf "$copy/nnkit" "$copy/tests" "$copy/benchmarks"
tar -c --exclude='*.so' --exclude=__pycache__ nnkit tests benchmarks setup.py setup.cfg pyproject.toml \
    README.md LICENSE | tar -x -C "$copy"

cd "$copy"
export NNKIT_TARGETS=baseline
# -O1 keeps the stacks readable; other instruction sets have the same sources.
NNKIT_FLAGS="${LEVEL:--O1} -g1 -fno-omit-frame-pointer -fsanitize=$kind" python setup.py -q build_ext --inplace
ls nnkit/backend/cpu/native/*.so  # a file that does not compile leaves none

# Leaks are looked for by tests that count references: CPython itself keeps much until the end.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS="suppressions=$root/tools/sanitize_thread.txt \
ignore_noninstrumented_modules=1 allocator_may_return_null=1 log_path=$copy/report"
rm -f "$copy"/report*
status=0
LD_PRELOAD="$(gcc -print-file-name=lib$runtime.so) $(gcc -print-file-name=libstdc++.so)" \
    NNKIT_NATIVE=baseline OMP_NUM_THREADS=1 python "$@" || status=$?
# pytest keeps what passing tests print: the reports of races lie in files.
if ls "$copy"/report* > /dev/null 2>&1; then cat "$copy"/report*; exit 1; fi
exit $status
