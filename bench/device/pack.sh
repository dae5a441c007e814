#!/usr/bin/env bash
# usage: pack.sh [--target sm_90a] [--out DIR] [--suites A,B,...] [--programs DIR]
#        pack.sh --campaign [--candidates 2500] [--networks A,B,...] ...
#
# What a machine with a GPU needs, in one folder (default: build/device_pack) and one archive beside
# it: programs without LLVM, which need glibc alone and are linked here in build/release (--programs:
# another build's, as they are), run.sh, and the machine code of all kernels that run.sh wants for
# the target (precompile.sh). Says how large it is; fails if the archive has more than 64 MiB or a
# program more than 30 MB. NVRTC is needed here (docs/building.md), a GPU is not; on the device the
# driver is enough.
#
# --campaign packs campaign.sh instead, and batches of candidates (tcc tune --emit) of the networks
# of `tcc zoo`, strict, of three of them in fp16 too. Each batch gets an equal share of --candidates,
# and more where it has many kernels. More than 44 MiB fail: a source tree travels beside them.
set -euo pipefail
cd "$(dirname "$0")/../.."

target=sm_90a out=build/device_pack
suites='' programs='' campaign='' candidates=2500 networks=''
while [ $# -gt 0 ]; do
  case $1 in
    --target) target=$2; shift ;;
    --out) out=$2; shift ;;
    --suites) suites=$2; shift ;;
    --programs) programs=$2; shift ;;
    --campaign) campaign=1 ;;
    --candidates) candidates=$2; shift ;;
    --networks) networks=$2; shift ;;
    *) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2 ;;
  esac
  shift
done

if [ -n "$campaign" ]; then
  carried='tcc tcc-bench tcc-twins tcc-worker' scripts='campaign.sh torch_networks.py'
  most_mib=44 suffix=tar.xz
  suites=${suites:-resnet50,matmul}
else
  carried='tcc tcc-bench tcc-fuzz tcc-twins' scripts=run.sh
  most_mib=64 suffix=tar.gz
  suites=${suites:-smoke,$(bench/device/run.sh --list-suites "$target")}
fi

if [ -z "$programs" ]; then
  programs=build/release/portable
  mkdir -p build
  cmake --preset release >build/release.configure.log 2>&1 || { cat build/release.configure.log; exit 1; }
  ninja -C build/release -j "${TCC_JOBS:-2}" $(printf '%s_portable ' $carried)
fi
rm -rf "$out" "$out.$suffix"
mkdir -p "$out/bin" "$out/cache"
for program in $carried; do
  cp "$programs/$program" "$out/bin/"
  bytes=$(stat -c %s "$out/bin/$program")
  needs=$(objdump -T "$out/bin/$program" | grep -o 'GLIBC_2[.0-9]*' | sort -uV | tail -n 1)
  echo "$program: $((bytes / 1000000)) MB, needs $needs"
  [ "$bytes" -le 30000000 ] || { echo "pack.sh: $program is too large" >&2; exit 1; }
done
for script in steps.sh $scripts; do cp "bench/device/$script" "$out/"; done

export TCC_CACHE_DIR=$PWD/$out/cache
[ "${out#/}" = "$out" ] || export TCC_CACHE_DIR=$out/cache
if [ -z "$campaign" ]; then
  bench/device/precompile.sh "$out/bin" "$target" "$suites"
else
  bench/device/precompile.sh "$out/bin" "$target" "$suites" dqn
  # Machine code of candidates is in their batches.
  models=$(mktemp -d)
  trap 'rm -rf "$models"' EXIT
  export TCC_CACHE_DIR=$models/cache
  mkdir "$out/batches"
  names=${networks:-$("$programs/tcc" zoo list | awk '{print $1}')}
  pairs=''
  for network in ${names//,/ }; do
    pairs="$pairs $network:strict"
    [[ ! $network =~ ^(resnet50|bert_base|vit_b_16)$ ]] || pairs="$pairs $network:fp16"
  done
  trials=$((candidates / $(wc -w <<<"$pairs")))
  for pair in $pairs; do
    network=${pair%:*} batch=$out/batches/${pair/:/.}.tccb
    "$programs/tcc" zoo export "$network" -o "$models/$network.onnx"
    "$programs/tcc" tune "$models/$network.onnx" --target "$target" --numeric "${pair#*:}" \
      --emit "$batch" --trials $((trials >= 1 ? trials : 1)) --progress none
    rm -r "$models/$network.onnx"*
  done
  echo "$out/batches: $(du -sk "$out/batches" | cut -f 1) KiB"
fi
tar -caf "$out.$suffix" -C "$(dirname "$out")" "$(basename "$out")"
kib=$(du -sk "$out" | cut -f 1)
packed=$(du -sk "$out.$suffix" | cut -f 1)
echo "$out: $((kib / 1024)) MiB, of which $(ls "$out/cache/nvrtc" | grep -cv compiler-) programs $(du -sk "$out/cache" | cut -f 1) KiB; $out.$suffix: $((packed / 1024)) MiB"
[ "$packed" -le $((most_mib * 1024)) ] || { echo "pack.sh: more than $most_mib MiB" >&2; exit 1; }
