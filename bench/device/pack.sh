#!/usr/bin/env bash
# usage: pack.sh [--target sm_90a] [--out DIR] [--suites A,B,...] [--programs DIR]
#
# What a machine with a GPU needs, in one folder (default: build/device_pack) and one archive beside
# it: programs of the preset portable, which is built here (--programs: another build's, as they
# are), run.sh, and the machine code of all kernels that run.sh wants for the target
# (precompile.sh). Says how large it is; fails if the archive has more than 64 MiB or a program more
# than 30 MB. NVRTC is needed here (docs/building.md), a GPU is not; on the device the driver is
# enough.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=sm_90a out=build/device_pack
suites='' programs=''
while [ $# -gt 0 ]; do
  case $1 in
    --target) target=$2; shift ;;
    --out) out=$2; shift ;;
    --suites) suites=$2; shift ;;
    --programs) programs=$2; shift ;;
    *) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2 ;;
  esac
  shift
done

suites=${suites:-smoke,$(bench/device/run.sh --list-suites "$target")}

if [ -z "$programs" ]; then
  programs=build/portable/bin
  mkdir -p build
  cmake --preset portable >build/portable.configure.log 2>&1 || { cat build/portable.configure.log; exit 1; }
  cmake --build --preset portable -- -j "${TCC_JOBS:-2}"
fi
rm -rf "$out" "$out.tar.gz"
mkdir -p "$out/bin" "$out/cache"
for program in tcc tcc-bench tcc-fuzz; do
  cp "$programs/$program" "$out/bin/"
  bytes=$(stat -c %s "$out/bin/$program")
  needs=$(objdump -T "$out/bin/$program" | grep -o 'GLIBC_2[.0-9]*' | sort -uV | tail -n 1)
  echo "$program: $((bytes / 1000000)) MB, needs $needs"
  [ "$bytes" -le 30000000 ] || { echo "pack.sh: $program is too large" >&2; exit 1; }
done
cp bench/device/run.sh bench/device/steps.sh "$out/"

export TCC_CACHE_DIR=$PWD/$out/cache
[ "${out#/}" = "$out" ] || export TCC_CACHE_DIR=$out/cache
bench/device/precompile.sh "$out/bin" "$target" "$suites"
tar -czf "$out.tar.gz" -C "$(dirname "$out")" "$(basename "$out")"
kib=$(du -sk "$out" | cut -f 1)
packed=$(du -sk "$out.tar.gz" | cut -f 1)
echo "$out: $((kib / 1024)) MiB, of which $(ls "$out/cache/nvrtc" | grep -cv compiler-) programs $(du -sk "$out/cache" | cut -f 1) KiB; $out.tar.gz: $((packed / 1024)) MiB"
[ "$packed" -le 65536 ] || { echo "pack.sh: more than 64 MiB" >&2; exit 1; }
