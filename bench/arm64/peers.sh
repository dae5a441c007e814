#!/usr/bin/env bash
# usage: bench/arm64/peers.sh
# Makes build/arm64-peers: OpenBLAS, XNNPACK, the Arm Compute Library and oneDNN for aarch64, and
# the program of each (PEER.cc here) in its folder bin. Packages that are there are left alone.
set -euo pipefail
cd "$(dirname "$0")/../.."

scripts/arm64_sysroot.sh
packages=(
  libopenblas0-serial libopenblas-serial-dev libgfortran5
  libxnnpack0 libxnnpack-dev libpthreadpool0 libpthreadpool-dev libcpuinfo0
  libarm-compute20 libarm-compute-dev
  libdnnl2 libdnnl-dev libgomp1
)

root=build/arm64-peers
scripts/arm64_packages.sh "$root" "${packages[@]}"

# What the guest finds under qemu-aarch64 -L: the C library, and in place of the host's files those
# of a machine with one Neoverse N1, by which XNNPACK chooses kernels.
ln -sfn /usr/aarch64-linux-gnu/lib "$root/lib"
mkdir -p "$root/bin" "$root/proc" "$root/sys/devices/system/cpu"
cat >"$root/proc/cpuinfo" <<'END'
processor	: 0
BogoMIPS	: 50.00
Features	: fp asimd aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc asimddp
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x3
CPU part	: 0xd0c
CPU revision	: 1
END
for list in possible present online; do echo 0 >"$root/sys/devices/system/cpu/$list"; done

clang=$(command -v clang++-19 || command -v clang++)
libraries=$root/usr/lib/aarch64-linux-gnu
headers=$root/usr/include
options=(--target=aarch64-linux-gnu -fuse-ld=lld -std=c++20 -O2 -Wall -I. -isystem "$headers"
         -isystem "$headers/aarch64-linux-gnu" -L "$libraries" -Xlinker --allow-shlib-undefined)
failed=0
# Links the program of bench/arm64/$1.cc, with the options behind.
build() {
  local program="$root/bin/$1" source="bench/arm64/$1.cc"
  if [ -n "$(find "$source" bench/arm64/count_peer.cc bench/arm64/peer.h "$root/installed" \
               bench/arm64/peers.sh -newer "$program" 2>&1)" ]; then
    echo "arm64 peers: $program"
    "$clang" "${options[@]}" "$source" bench/arm64/count_peer.cc "${@:2}" -o "$program" || failed=1
  fi
}
build openblas -isystem "$headers/aarch64-linux-gnu/openblas-serial" \
  -L "$libraries/openblas-serial" -lopenblas -Xlinker -rpath \
  -Xlinker /usr/lib/aarch64-linux-gnu/openblas-serial
build xnnpack -lXNNPACK
build arm_compute -std=c++17 -larm_compute -larm_compute_core  # has a namespace `requires`
build onednn -ldnnl
[ $failed -eq 0 ] && echo "arm64 peers: ready"
exit $failed
