#!/usr/bin/env bash
# usage: scripts/fresh.sh [--ccache DIR] [--keep] [--mirror URL] [COMMAND...]
# The README's promise, kept on a bare machine: makes a Debian 12 of nothing but its base packages in
# a temporary folder (debootstrap; root), clones the last commit into it, and runs there, by chroot
# and with an empty environment, scripts/quickstart.sh and scripts/test.sh, or the commands that are
# given. Ends with the last lines of each; the exit code is 0 only if all of them passed.
#   --ccache DIR   a ccache of this machine's that the builds share
#   --keep         leaves the folder and says where it is
#   --mirror URL   Debian's packages, else those of deb.debian.org
# What the machine says about reaching registries goes along: resolv.conf, apt's and pip's settings,
# certificates of its own. An hour and a half on 2 cores, half of that with a filled ccache.
set -euo pipefail
cd "$(dirname "$0")/.."

ccache= keep= mirror=http://deb.debian.org/debian commands=()
while [ $# -gt 0 ]; do
  case "$1" in
    --ccache) ccache=$(realpath "$2"); shift ;;
    --keep) keep=1 ;;
    --mirror) mirror=$2; shift ;;
    -*) sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2 ;;
    *) commands+=("$1") ;;
  esac
  shift
done
[ ${#commands[@]} -gt 0 ] || commands=(scripts/quickstart.sh scripts/test.sh)
[ "$(id -u)" -eq 0 ] || { echo "fresh: expected root, for debootstrap and chroot" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "fresh: install debootstrap" >&2; exit 2; }

root=$(mktemp -d "${TMPDIR:-/tmp}/tcc-fresh-XXXXXX")
# Mounts are seen by the programs inside only (unshare), so that nothing of this machine is removed.
remove() {
  rm -f "$root.log"
  if [ -n "$keep" ]; then echo "fresh: kept in $root"; else rm -rf --one-file-system "$root"; fi
}
trap remove EXIT

echo "fresh: Debian 12 in $root"
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 || {
  tail -n 20 "$root.log"
  exit 1
}
echo "deb $mirror bookworm-updates main" >>"$root/etc/apt/sources.list"
cp -L /etc/resolv.conf "$root/etc/"
apt-config dump | grep '^Acquire::' >"$root/etc/apt/apt.conf.d/99fresh" || true
[ ! -f /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/"
mkdir -p "$root/usr/local/share/ca-certificates" "$root/root/.cache/ccache"
find /usr/local/share/ca-certificates -name '*.crt' \
  -exec cp {} "$root/usr/local/share/ca-certificates/" \; 2>/dev/null || true
git clone --quiet --no-local . "$root/root/tcc"

# Runs the words inside.
inside() {
  unshare --mount --pid --fork --kill-child bash -ec '
    root=$1 ccache=$2
    shift 2
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    [ -z "$ccache" ] || mount --bind "$ccache" "$root/root/.cache/ccache"
    exec chroot "$root" env -i HOME=/root TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
  ' fresh "$root" "$ccache" "$@"
}

for tool in git g++ make cmake nvcc; do
  ! inside sh -c "command -v $tool" || { echo "fresh: $tool is there already" >&2; exit 1; }
done

failed=0
lines=()
for command in "${commands[@]}"; do
  echo "fresh: $command"
  SECONDS=0
  log=$root/root/$(basename "${command%% *}").log
  status=0
  inside sh -c "cd /root/tcc && $command" </dev/null >"$log" 2>&1 || status=$?
  [ $status -eq 0 ] || { failed=1; tail -n 60 "$log"; }
  lines+=("$command (exit $status, $((SECONDS / 60)) minutes): $(tail -n 1 "$log")")
done
printf '%s\n' "${lines[@]}"
exit $failed
