#!/usr/bin/env bash
# usage: scripts/quickstart.sh
# From a bare checkout to a checked ResNet-50: sets up, builds tcc, exports the network, compiles it
# for this CPU, runs it, and compares its outputs with ONNX Runtime's. The last line is
# 'max abs error ...'; the exit code is 0 only if the error is within the tolerance.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/release
work=build/quickstart
tcc=$build/bin/tcc
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1

step() { printf '\n+ %s\n' "$*"; "$@"; }

scripts/setup.sh
mkdir -p "$work"
cmake --preset release >"$build.configure.log" 2>&1 || { cat "$build.configure.log"; exit 1; }
ninja -C "$build" -j "${TCC_JOBS:-2}" tcc

step "$tcc" zoo export resnet50 -o "$work/resnet50.onnx"
step "$tcc" compile "$work/resnet50.onnx" --target native -o "$work/resnet50.tcc"
step "$tcc" run "$work/resnet50.tcc" --random 1 --output-dir "$work"
step build/venv/bin/python scripts/golden.py "$work/resnet50.onnx" "$work/golden"
printf '\n+ %s\n' "$tcc check $work/resnet50.onnx $work/resnet50.tcc --golden $work/golden --rtol 1e-3 --atol 1e-4"
status=0
"$tcc" check "$work/resnet50.onnx" "$work/resnet50.tcc" --golden "$work/golden" \
  --rtol 1e-3 --atol 1e-4 2>&1 | tee "$work/check.log" || status=$?

# The figure comes last, whatever else the check had to say.
grep -o 'max abs error.*' "$work/check.log" | tail -n 1 || {
  echo "quickstart: tcc check printed no 'max abs error'" >&2
  status=1
}
exit "$status"
