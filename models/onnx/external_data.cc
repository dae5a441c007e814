#include "models/onnx/external_data.h"

#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "support/file_kind.h"
#include "support/printable.h"
#include "support/wanted_option.h"

namespace tcc {
namespace {

StatusOr<std::vector<std::string>> SplitLocation(const std::string& location) {
  bool plain = IsPlainText(location);
  auto refuse = [&](const char* why) {
    return InvalidInput("external data location '{}' {}", plain ? location : Printable(location),
                        why);
  };
  if (location.empty()) return InvalidInput("external data has no location");
  if (location.find('\0') != std::string::npos) return refuse("holds a NUL");
  if (!plain) return refuse("is not UTF-8 or holds control characters");
  if (location[0] == '/') return refuse("is absolute; expected a path inside the model's folder");
  // ONNX Runtime marks addresses in its own memory so.
  if (location.starts_with("*/")) return refuse("is a memory address, not a file");
  std::vector<std::string> parts;
  for (const auto& part : absl::StrSplit(location, '/', absl::SkipEmpty())) {
    if (part == "..") return refuse("leads out of the model's folder");
    if (part != ".") parts.emplace_back(part);
  }
  if (parts.empty()) return refuse("names no file");
  return parts;
}

Status CannotOpen(const std::string& location) {
  return InvalidInput("cannot open external data '{}': {}", location, std::strerror(errno));
}

bool IsSymbolicLink(int folder, const std::string& name) {
  struct stat info{};
  return ::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode);
}

}  // namespace

std::optional<int64_t> ParseDecimal(const std::string& text) {
  int64_t value = 0;
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

StatusOr<SharedBytes> ExternalData::Open(const std::string& location) const {
  TCC_ASSIGN_OR_RETURN(std::vector<std::string> parts, SplitLocation(location));
  if (folder_.empty()) {
    return InvalidInput("external data '{}' is asked for, but the model has no folder", location);
  }
  bool no_links = links_ == Links::kRefused;
  FileDescriptor at(::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (at.get() < 0) return CannotOpen(location);
  for (size_t i = 0; i < parts.size(); ++i) {
    bool is_last = i + 1 == parts.size();
    // Without O_NONBLOCK, opening a named pipe would wait for its writer.
    int flags = is_last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY;
    FileDescriptor next(
        ::openat(at.get(), parts[i].c_str(), flags | (no_links ? O_NOFOLLOW : 0) | O_CLOEXEC));
    if (next.get() < 0) {
      Status failed = CannotOpen(location);
      if (!no_links || !IsSymbolicLink(at.get(), parts[i])) return failed;
      const char* what = is_last ? "is" : "is reached through";
      return WithOption(
          InvalidInput("external data '{}' {} a symbolic link; links are not followed", location,
                       what),
          Option::kLinks);
    }
    at = std::move(next);
  }
  struct stat info{};
  if (::fstat(at.get(), &info) != 0) return CannotOpen(location);
  if (no_links && S_ISREG(info.st_mode) && info.st_nlink != 1) {
    return WithOption(
        InvalidInput("external data '{}' has {} hard links; expected 1", location, info.st_nlink),
        Option::kLinks);
  }
  TCC_ASSIGN_OR_RETURN(SharedBytes file, MapDescriptor(at.get(), location));
  if (IsGitLfsPointer(file.bytes)) {
    return InvalidInput("external data '{}' is {}", location, KindOfFile(file.bytes));
  }
  return file;
}

StatusOr<SharedBytes> ExternalData::Read(const std::string& location, int64_t offset,
                                         int64_t length) {
  auto found = files_.find(location);
  if (found == files_.end()) {
    TCC_ASSIGN_OR_RETURN(SharedBytes file, Open(location));
    found = files_.emplace(location, std::move(file)).first;
  }
  const SharedBytes& file = found->second;
  auto size = static_cast<int64_t>(file.bytes.size());
  if (offset > size || length > size - offset) {
    return InvalidInput("external data '{}' has {} bytes; expected {} from offset {}", location,
                        size, length, offset);
  }
  return SharedBytes{file.owner,
                     file.bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(length))};
}

}  // namespace tcc
