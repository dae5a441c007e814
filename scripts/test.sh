#!/usr/bin/env bash
# usage: scripts/test.sh [CTEST OPTIONS...]     e.g. scripts/test.sh -R ir
# Sets up, builds the release preset, runs every test, prints the size report and ends with the line
# 'N passed, N failed'. A target that does not build fails its tests; the others still run.
# TCC_JOBS sets how many compilers run at once (default 2: some need 1 GiB each).
set -uo pipefail
cd "$(dirname "$0")/.."
build=build/release
jobs=${TCC_JOBS:-2}
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1

scripts/setup.sh || { echo "0 passed, 1 failed"; exit 1; }

# Kernels for another CPU are tested in a worker that qemu runs.
if scripts/arm64_sysroot.sh && cmake --preset arm64 >build/arm64.configure.log 2>&1 &&
  ninja -C build/arm64 -j "$jobs" tcc-worker; then :; else
  echo "test: no worker for aarch64: tests of its kernels are skipped"
fi

echo "test: configuring and building in $build"
cmake --preset release >"$build.configure.log" 2>&1 || {
  cat "$build.configure.log"
  echo "0 passed, 1 failed"
  exit 1
}
# Everything is built even if something fails, so that one run tells all.
NINJA_STATUS='[%f/%t %es] ' ninja -C "$build" -j "$jobs" -k 0
build_status=$?

echo "test: running"
rm -f "$build/tests.xml"
ctest --test-dir "$build" -j "$jobs" --output-on-failure --no-tests=error \
  --test-output-size-passed 1000000 --test-output-size-failed 1000000 \
  --output-junit tests.xml "$@" </dev/null

echo
scripts/size_report.py
size_status=$?
echo
scripts/count_tests.py "$build/tests.xml" "build=$build_status" "size=$size_status"
