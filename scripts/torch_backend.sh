#!/usr/bin/env bash
# usage: scripts/torch_backend.sh [--build DIR]
# Runs the tests of torch.compile's backend on PyTorch, with the programs of --build, by default
# build/release. Installs PyTorch and its exporter into build/torch_venv, which takes gigabytes: for
# Linux, PyPI has the build for CUDA alone.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/release
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$2; shift ;;
    *) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2 ;;
  esac
  shift
done

venv=build/torch_venv
if [ ! -e "$venv/installed" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check 'torch>=2.6' onnx onnxscript numpy
  touch "$venv/installed"
fi
"$venv/bin/python" tests/python/tcc_package.py "$build/bin/tcc" "$build/lib/libtcc_runtime.so" \
  "$build/bin/gpu_artefacts" "$build/lib/libtcc_emulated_cuda.so" torch_test
