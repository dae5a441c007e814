#!/usr/bin/env bash
# usage: scripts/arm64_sysroot.sh
# Makes build/arm64-sysroot: what the runtime links, for aarch64, so that the preset arm64 builds
# tcc-worker on another machine. Installs qemu-user, which runs the worker, and the C++ library for
# it. What is there is left alone.
set -euo pipefail
cd "$(dirname "$0")/.."

host_packages=(qemu-user libstdc++-12-dev-arm64-cross)
packages=(
  libabsl-dev libabsl20220623 libfmt-dev libfmt9 libssl-dev libssl3 nlohmann-json3-dev
)

missing=()
for package in "${host_packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
    missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "arm64_sysroot: installing ${missing[*]}"
  sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null
fi

scripts/arm64_packages.sh build/arm64-sysroot "${packages[@]}"
echo "arm64_sysroot: ready"
