#!/usr/bin/env bash
# usage: scripts/arm64_sysroot.sh
# Makes build/arm64-sysroot: what the runtime links, for aarch64, so that the preset arm64 builds
# tcc-worker on another machine. Takes Debian's packages without telling apt of the architecture, and
# installs qemu-user, which runs the worker, and the C++ library for it. What is there is left alone.
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

root=build/arm64-sysroot
stamp="$root/installed"
if [ "$(cat "$stamp" 2>/dev/null)" != "${packages[*]}" ]; then
  echo "arm64_sysroot: fetching ${packages[*]} into $root"
  rm -rf "$root"
  mkdir -p "$root/apt/lists/partial" "$root/apt/archives/partial"
  apt=(-qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64
       -o Dir::State::status=/dev/null -o "Dir::State::lists=$PWD/$root/apt/lists"
       -o "Dir::Cache=$PWD/$root/apt" -o APT::Sandbox::User=)
  apt-get "${apt[@]}" update
  (cd "$root/apt/archives" && apt-get "${apt[@]}" download "${packages[@]}")
  for package in "$root"/apt/archives/*.deb; do dpkg -x "$package" "$root"; done
  rm -rf "$root/apt"
  echo "${packages[*]}" >"$stamp"
fi
echo "arm64_sysroot: ready"
