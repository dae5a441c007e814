#include "cli/npz.h"

#include <filesystem>

#include "cli/zip_archive.h"
#include "support/file.h"
#include "support/npy.h"
#include "support/printable.h"

namespace tcc {
namespace {

constexpr std::string_view kSuffix = ".npy";

StatusOr<NamedTensors> ParseNpz(std::span<const uint8_t> file) {
  TCC_ASSIGN_OR_RETURN(std::vector<ZipMember> members, ReadZip(file));
  NamedTensors tensors;
  for (ZipMember& member : members) {
    StatusOr<Tensor> tensor = ParseNpy(member.bytes);
    if (!tensor.ok()) {
      return Annotate(tensor.status(), fmt::format("member '{}'", Printable(member.name)));
    }
    std::string name = std::move(member.name);
    if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
    tensors.emplace_back(std::move(name), *std::move(tensor));
  }
  return tensors;
}

}  // namespace

bool IsNpz(const std::string& path) {
  return path.ends_with(".npz");
}

bool IsNpzAlone(const std::string& text) {
  std::error_code ignored;
  return IsNpz(text) && (text.find('=') == text.npos || std::filesystem::exists(text, ignored));
}

StatusOr<NamedTensors> ReadNpz(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(SharedBytes file, MapFile(path));
  StatusOr<NamedTensors> tensors = ParseNpz(file.bytes);
  if (!tensors.ok()) return Annotate(tensors.status(), path);
  return tensors;
}

Status WriteNpz(const NamedTensors& tensors, const std::string& path) {
  std::vector<ZipMember> members;
  for (const auto& [name, tensor] : tensors) {
    StatusOr<std::vector<uint8_t>> bytes = NpyBytes(tensor);
    if (!bytes.ok()) return Annotate(bytes.status(), fmt::format("'{}'", name));
    members.push_back({name + std::string(kSuffix), *std::move(bytes)});
  }
  StatusOr<std::vector<uint8_t>> file = ZipBytes(members);
  if (!file.ok()) return Annotate(file.status(), path);
  std::span<const uint8_t> piece(*file);
  return WriteFileAtomically(path, {&piece, 1});
}

}  // namespace tcc
