#!/usr/bin/env bash
# usage: precompile.sh PROGRAMS TARGET SUITES [NETWORK]
#
# Fills the cache of compiled programs (TCC_CACHE_DIR) with all that run.sh wants for the target: of
# its tests, its calibration and the suites (NAME or NAME:MODE, with commas); with NETWORK what
# campaign.sh wants: of tcc-twins, that network, small, its calibration and the suites. PROGRAMS is
# the folder with tcc, tcc-bench, tcc-twins and, for tests, tcc-fuzz.
#
# A kernel that cannot be made (exit 1) is a failure of its step, which run.sh shows; the rest is
# compiled. No NVRTC, or no such suite, is an error.
set -euo pipefail
programs=$1 target=$2 suites=$3 networks=${4:-}

"$programs/tcc-twins" --compile-only "$target"
for suite in ${suites//,/ }; do
  echo "compiling $suite for $target"
  mode=strict
  [[ $suite != *:* ]] || mode=${suite#*:}
  "$programs/tcc-bench" kernels --suite "${suite%%:*}" --target "$target" --numeric "$mode" \
    --compile-only 2>&1 |
    tail -n 1 || [ $? -eq 1 ]
done

# As many points as run.sh has, and the same networks.
if [ -z "$networks" ]; then
  echo "compiling tests for $target"
  "$programs/tcc-fuzz" cuda --compile-only "$target" --points "${TCC_POINTS:-500}" | tail -n 1 ||
    [ $? -eq 1 ]
  networks=$("$programs/tcc" zoo list | awk '{print $1}')
fi
models=$(mktemp -d)
trap 'rm -rf "$models"' EXIT
for network in $networks; do
  "$programs/tcc" zoo export "$network" --small -o "$models/$network.onnx"
  "$programs/tcc" compile "$models/$network.onnx" --target "$target" -o "$models/out.tcc" \
    --progress none || [ $? -eq 1 ]
done
