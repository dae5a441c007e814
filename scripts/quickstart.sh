#!/usr/bin/env bash
# usage: scripts/quickstart.sh [--bundle FILE]
# From a bare checkout to a checked ResNet-50: installs what the build needs, builds tcc, exports the
# network, compiles it for this CPU, runs it, times it, and compares its outputs with the
# interpreter's; where build/venv has ONNX Runtime (scripts/setup.sh), with its outputs first. The
# first line says how many minutes that takes, the last one is '... max abs error ...'; the exit code
# is 0 only if the error is within the tolerance. TCC_JOBS sets how many compilers run at once, by
# default one for each CPU and GiB of free memory.
# With --bundle FILE, an archive of scripts/bundle.sh, the same is done by the tcc in it: nothing is
# installed or built, and it takes seconds.
set -euo pipefail
bundle=''
case "$*" in
  "") ;;
  "--bundle "?*) bundle=$(realpath "$2") ;;
  *) echo "quickstart: unexpected '$*'; usage: scripts/quickstart.sh [--bundle FILE]" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
build=build/release
work=build/quickstart
tcc=$build/bin/tcc
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1

# What building tcc (580 steps) took in CPU seconds: two idle cores of an AMD EPYC, and two cores of
# another machine that others used too, both on 2026-11-26 with an empty ccache.
least_cpu_seconds=690
most_cpu_seconds=1520
setup_seconds=60  # with mirrors nearby

step() { printf '\n+ %s\n' "$*"; "$@"; }

# Installs what the build needs and builds tcc; says first how many minutes that takes.
build_tcc() {
  least() { printf '%s\n' "$@" | sort -n | head -n 1; }
  minutes() { echo $((($1 / parallel + setup_seconds + 30) / 60)); }
  cpus=$(nproc)
  gib=$(awk '/^MemAvailable/ {print int($2 / 2 ^ 20) + 1}' /proc/meminfo)
  jobs=${TCC_JOBS:-$(least "$cpus" "$gib")}
  parallel=$(least "$jobs" "$cpus")
  echo "quickstart: $(minutes $least_cpu_seconds) to $(minutes $most_cpu_seconds) minutes" \
    "on $cpus CPUs with $jobs compilers at once; seconds where $build is built already"

  scripts/setup.sh --only build
  cmake --preset release -DTCC_TESTS=OFF >"$build.configure.log" 2>&1 ||
    { cat "$build.configure.log"; exit 1; }
  ninja -C "$build" -j "$jobs" tcc
}

mkdir -p "$work"
if [ -z "$bundle" ]; then
  build_tcc
else
  rm -rf "$work/bundle"
  mkdir "$work/bundle"
  tar -xzf "$bundle" -C "$work/bundle" --strip-components=1
  tcc=$work/bundle/bin/tcc
fi

step "$tcc" zoo export resnet50 -o "$work/resnet50.onnx"
step "$tcc" compile "$work/resnet50.onnx" --target native -o "$work/resnet50.tcc"
step "$tcc" run "$work/resnet50.tcc" --random 1 --output-dir "$work"
step "$tcc" bench "$work/resnet50.tcc"
if build/venv/bin/python -c 'import onnxruntime' 2>/dev/null; then
  step build/venv/bin/python scripts/golden.py "$work/resnet50.onnx" "$work/golden"
  step "$tcc" check "$work/resnet50.onnx" "$work/resnet50.tcc" --golden "$work/golden" \
    --rtol 1e-3 --atol 1e-4
fi
step "$tcc" check "$work/resnet50.onnx" "$work/resnet50.tcc"
