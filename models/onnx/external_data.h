#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "support/file.h"
#include "support/status.h"

namespace tcc {

// Whether external data may be reached through symbolic links and have hard links: caches of
// downloaded models keep them so. Their owner must trust what the links lead to.
enum class Links : uint8_t { kRefused, kFollowed };

// The files beside a model that hold its large tensors, mapped when first asked for.
//
// A model is not trusted to name files: a location is relative, has no "..", is reached from the
// folder component by component without following a symbolic link, and is a regular file with one
// link, unless links are allowed. (CVE-2022-25882, CVE-2024-27318, CVE-2026-27489, CVE-2026-34446,
// CVE-2026-34447.)
class ExternalData {
 public:
  // `folder` is not opened before the first file is; "" means that there is none.
  explicit ExternalData(std::string folder, Links links = Links::kRefused)
      : folder_(std::move(folder)), links_(links) {}

  // Returns `length` bytes from `offset` of the file at `location`; both must be 0 or more.
  StatusOr<SharedBytes> Read(const std::string& location, int64_t offset, int64_t length);

 private:
  StatusOr<SharedBytes> Open(const std::string& location) const;

  std::string folder_;
  Links links_;
  std::map<std::string, SharedBytes> files_;  // by location
};

// Parses a number as ONNX's external data writes it: decimal digits only. Returns nullopt for
// anything else, including numbers beyond int64.
std::optional<int64_t> ParseDecimal(const std::string& text);

}  // namespace tcc
