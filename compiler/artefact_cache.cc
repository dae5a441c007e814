#include "compiler/artefact_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <vector>

#include "support/environment.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".tcc";

int64_t MaxBytes() {
  std::string text = EnvironmentVariable("TCC_CACHE_BYTES");
  int64_t bytes = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  bool is_number = !text.empty() && error == std::errc() && end == text.data() + text.size();
  return is_number ? bytes : ArtefactCache::kDefaultBytes;
}

struct Entry {
  fs::file_time_type used;
  int64_t bytes = 0;
  fs::path path;
};

// Lists the artefacts in a folder, the least recently used first.
std::vector<Entry> EntriesOf(const std::string& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(folder, error)) {
    if (file.path().extension() != kSuffix) continue;
    std::error_code gone;  // another process may be removing it
    Entry entry{file.last_write_time(gone), static_cast<int64_t>(file.file_size(gone)),
                file.path()};
    if (!gone) entries.push_back(std::move(entry));
  }
  std::ranges::sort(entries, {}, &Entry::used);
  return entries;
}

}  // namespace

ArtefactCache::ArtefactCache(const std::string& folder, int64_t max_bytes)
    : folder_(folder.empty() ? "" : folder + "/session"), max_bytes_(max_bytes) {}

ArtefactCache ArtefactCache::OfUser() {
  return ArtefactCache(CacheFolder(), MaxBytes());
}

std::string ArtefactCache::PathOf(const Sha256Digest& key) const {
  return folder_.empty() ? "" : fmt::format("{}/{}{}", folder_, ToHex(key), kSuffix);
}

void ArtefactCache::Use(const std::string& path) const {
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
}

Status ArtefactCache::Put(const Artefact& artefact, const Sha256Digest& key) const {
  if (folder_.empty()) return OkStatus();
  std::error_code error;
  fs::create_directories(fs::path(folder_).parent_path(), error);
  // Artefacts are machine code: nobody else may put one here.
  ::mkdir(folder_.c_str(), 0700);
  TCC_RETURN_IF_ERROR(WriteArtefact(artefact, PathOf(key)));
  Trim(PathOf(key));
  return OkStatus();
}

void ArtefactCache::Trim(const std::string& keep) const {
  std::vector<Entry> entries = EntriesOf(folder_);
  int64_t total = 0;
  for (const Entry& entry : entries) total += entry.bytes;
  for (const Entry& entry : entries) {
    if (total <= max_bytes_) return;
    if (entry.path == keep) continue;
    std::error_code ignored;
    fs::remove(entry.path, ignored);
    total -= entry.bytes;
  }
}

}  // namespace tcc
