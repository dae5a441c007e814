#!/usr/bin/env bash
# usage: scripts/arm64_packages.sh FOLDER PACKAGE...
# Unpacks Debian's packages for aarch64 in the folder, without telling apt of the architecture, and
# lists their versions in FOLDER/versions. A folder that has just these packages is left alone.
set -euo pipefail
folder=$1 packages=("${@:2}")

[ "$(cat "$folder/installed" 2>/dev/null)" != "${packages[*]}" ] || exit 0
echo "arm64_packages: fetching ${packages[*]} into $folder"
rm -rf "$folder"
mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial"
full=$(cd "$folder" && pwd)
apt=(-qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64
     -o Dir::State::status=/dev/null -o "Dir::State::lists=$full/apt/lists"
     -o "Dir::Cache=$full/apt" -o APT::Sandbox::User=)
apt-get "${apt[@]}" update
(cd "$folder/apt/archives" && apt-get "${apt[@]}" download "${packages[@]}")
for package in "$folder"/apt/archives/*.deb; do
  dpkg -x "$package" "$folder"
  echo "$(dpkg-deb -f "$package" Package) $(dpkg-deb -f "$package" Version)" >>"$folder/versions"
done
rm -rf "$folder/apt"
echo "${packages[*]}" >"$folder/installed"
