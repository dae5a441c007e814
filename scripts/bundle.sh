#!/usr/bin/env bash
# usage: scripts/bundle.sh [--out DIR] [--build DIR] [--folder]
# Makes tensor-tcc-VERSION-linux-x86_64.tar.gz in DIR, by default build/bundle: tcc and tcc-worker,
# which need glibc 2.35 alone, their manual and completion, libtcc_runtime.so with its C header and
# Abseil's libraries in lib/tcc, and the licences of what is linked in (THIRD_PARTY). They are linked
# from the objects of --build, by default build/release, which is built as far as they need it. Says
# for each file how large it is and what it needs; fails if all of them have more than 80 MB, need a
# newer glibc or another library. --folder leaves them unpacked and makes no archive.
set -euo pipefail
cd "$(dirname "$0")/.."
most_bytes=80000000 newest_glibc=2.35

out=build/bundle build=build/release archive=1
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift ;;
    --build) build=$2; shift ;;
    --folder) archive='' ;;
    *) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2 ;;
  esac
  shift
done

# What is linked in, the package it comes from, and its licence.
third_party() {
  local runtime
  runtime=$(dpkg-query -S "$(realpath "$(clang++-19 -print-file-name=libstdc++.a)")" | cut -d: -f1)
  cat <<EOF
LLVM|llvm-19-dev|Apache-2.0 with LLVM exception
LLD|liblld-19-dev|Apache-2.0 with LLVM exception
Abseil|libabsl-dev|Apache-2.0
Protocol Buffers|libprotobuf-dev|BSD-3-Clause
OpenSSL|libssl-dev|Apache-2.0
SQLite|libsqlite3-dev|public domain
zlib|zlib1g-dev|Zlib
Zstandard|libzstd-dev|BSD-3-Clause
liblzma|liblzma-dev|public domain
fmt|libfmt-dev|MIT
JSON for Modern C++|nlohmann-json3-dev|MIT
CLI11|libcli11-dev|BSD-3-Clause
Eigen|libeigen3-dev|MPL-2.0
libstdc++, libgcc|$runtime|GPL-3 with GCC runtime library exception
EOF
}

# Writes names, versions and licences, then what each package says of its copyright and the texts
# that those refer to.
write_third_party() {
  local part package licence texts=()
  echo "Linked into the programs and the library of this folder, from packages of $(. /etc/os-release; echo "$PRETTY_NAME"):"
  echo
  while IFS='|' read -r part package licence; do
    printf '%-20s %-36s %s\n' "$part" \
      "$(dpkg-query -W -f '${source:Package} ${Version}' "$package")" "$licence"
    texts+=("/usr/share/doc/$package/copyright")
  done < <(third_party)
  mapfile -t -O ${#texts[@]} texts < <(
    cat "${texts[@]}" | grep -oh '/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]' | sort -u)
  for text in "${texts[@]}"; do
    printf '\n%s\n%s\n\n' "$(printf '=%.0s' {1..80})" "$text"
    cat "$text"
  done
}

# Prints the size of a file, the glibc it needs and the libraries; fails unless each library matches
# the pattern and the glibc is old enough.
check() {
  local libraries glibc
  libraries=$(objdump -p "$1" | awk '/NEEDED/ {print $2}' | sort)
  glibc=$(objdump -T "$1" | { grep -o 'GLIBC_[.0-9]*' || true; } | sort -uV | tail -n 1)
  echo "${1##*/}: $(stat -Lc %s "$1") bytes, needs ${glibc:-no glibc}," $libraries
  if ! printf '%s\n' "$glibc" "GLIBC_$newest_glibc" | sort -VC; then
    echo "bundle.sh: $1 needs $glibc; expected GLIBC_$newest_glibc at most" >&2
    exit 1
  fi
  if grep -Evx "$2" <<<"$libraries" >&2; then
    echo "bundle.sh: $1 needs these libraries; expected none but $2" >&2
    exit 1
  fi
}

[ -e "$build/CMakeCache.txt" ] || cmake --preset release -DTCC_TESTS=OFF >/dev/null
cmake --build "$build" -j "${TCC_JOBS:-2}" \
  --target tcc_static tcc-worker_static tcc_runtime_static >"$build/bundle.log" 2>&1 ||
  { tail -n 40 "$build/bundle.log" >&2; exit 1; }

version=$(sed -n 's/.*kVersion.*"\(.*\)".*/\1/p' support/version.h)
name=tensor-tcc-$version-linux-x86_64
root=$out/$name
rm -rf "$root"
mkdir -p "$root/bin" "$root/lib/tcc"
cp "$build/static/tcc" "$build/static/tcc-worker" "$root/bin/"
cp -P "$build"/static/libtcc_runtime.so* "$root/lib/"
for library in $(ldd "$build/static/libtcc_runtime.so" | awk '/libabsl_/ {print $3}'); do
  cp -L "$library" "$root/lib/tcc/"
done
mkdir -p "$root/include/tcc" "$root/lib/pkgconfig"
cp api/tcc_c.h "$root/include/tcc/"
cat >"$root/lib/pkgconfig/tcc-c.pc" <<EOF
prefix=\${pcfiledir}/../..
Name: tcc-c
Description: Runs networks that tcc compiled, from C
Version: $version
Cflags: -I\${prefix}/include
Libs: -L\${prefix}/lib -ltcc_runtime -Wl,-rpath-link,\${prefix}/lib/tcc
EOF
mkdir -p "$root"/share/{bash-completion/completions,zsh/site-functions}
"$root/bin/tcc" --help-man "$root/share/man/man1"
"$root/bin/tcc" completion bash >"$root/share/bash-completion/completions/tcc"
"$root/bin/tcc" completion zsh >"$root/share/zsh/site-functions/_tcc"
cp LICENSE NOTICE "$root/"
write_third_party >"$root/THIRD_PARTY"
sed '/^$/q' < <(tail -n +3 "$root/THIRD_PARTY")

of_glibc='lib(c|m|dl|pthread)\.so\.[0-9]+|ld-linux-x86-64\.so\.2'
of_manylinux="$of_glibc|libstdc\+\+\.so\.6|libgcc_s\.so\.1|libabsl_.*"
for program in "$root"/bin/*; do check "$program" "$of_glibc"; done
check "$root/lib/libtcc_runtime.so" "$of_manylinux"
for library in "$root"/lib/tcc/*; do check "$library" "$of_manylinux" >/dev/null; done
bytes=$(find "$root" -type f -printf '%s\n' | awk '{sum += $1} END {print sum}')
echo "$root: $bytes bytes, $(ls "$root/lib/tcc" | wc -l) libraries in lib/tcc among them"
[ "$bytes" -le $most_bytes ] || { echo "bundle.sh: expected $most_bytes at most" >&2; exit 1; }

if [ -n "$archive" ]; then
  # Equal files make an equal archive. gzip is there on machines that have neither xz nor zstd.
  time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
  tar --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    -C "$out" -cf - "$name" | gzip -9n >"$root.tar.gz"
  echo "$root.tar.gz: $(stat -c %s "$root.tar.gz") bytes"
fi
