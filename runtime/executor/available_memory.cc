#include "runtime/executor/available_memory.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

namespace tcc {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
// The size up to which a request is taken to fit; asking the system takes longer.
constexpr int64_t kSmallBytes = int64_t{256} << 20;

// Returns the number at the start of a file; nothing for "max" and for what cannot be read.
std::optional<int64_t> NumberIn(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

int64_t SystemMemory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  for (std::string line; file >> key && std::getline(file, line);) {
    if (key == "MemAvailable:") return std::stoll(line) * 1024;
  }
  struct sysinfo info{};
  if (sysinfo(&info) != 0) return kNoLimit;
  return static_cast<int64_t>(info.freeram) * static_cast<int64_t>(info.mem_unit);
}

// The files in which a version of control groups keeps a group's memory limit and usage.
struct GroupFiles {
  std::string_view line;  // how the process' line in /proc/self/cgroup goes on after the number
  std::string_view mount;
  std::string_view limit;
  std::string_view used;
};

constexpr GroupFiles kGroupFiles[] = {
    {"0::", "/sys/fs/cgroup", "/memory.max", "/memory.current"},
    {":memory:", "/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes"},
};

// Returns the bytes of cached files, which count as used but can be reclaimed.
int64_t CachedBytes(const std::string& folder) {
  int64_t cached = 0;
  std::ifstream statistics(folder + "/memory.stat");
  std::string key;
  for (int64_t value = 0; statistics >> key >> value;) {
    if (key == "inactive_file" || key == "active_file") cached += value;
  }
  return cached;
}

// Returns the least room that the process' own group and its ancestors leave.
int64_t RoomOf(std::string group, const GroupFiles& files) {
  int64_t least = kNoLimit;
  while (true) {
    std::string folder = std::string(files.mount) + group;
    std::optional<int64_t> limit = NumberIn(folder + std::string(files.limit));
    std::optional<int64_t> used = NumberIn(folder + std::string(files.used));
    if (limit && used) {
      least = std::min(least, std::max<int64_t>(0, *limit - *used + CachedBytes(folder)));
    }
    size_t slash = group.rfind('/');
    if (slash == std::string::npos) return least;
    group.resize(slash);
  }
}

int64_t ControlGroupMemory() {
  std::ifstream file("/proc/self/cgroup");
  int64_t least = kNoLimit;
  for (std::string line; std::getline(file, line);) {
    for (const GroupFiles& files : kGroupFiles) {
      size_t at = line.find(files.line);
      if (at > 2) continue;  // npos is more, too
      least = std::min(least, RoomOf(line.substr(at + files.line.size()), files));
    }
  }
  return least;
}

int64_t AddressSpace() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
  std::optional<int64_t> pages = NumberIn("/proc/self/statm");
  constexpr int64_t kPage = 4096;
  return std::max<int64_t>(0, static_cast<int64_t>(limit.rlim_cur) - pages.value_or(0) * kPage);
}

}  // namespace

int64_t AvailableMemory() {
  return std::min({SystemMemory(), ControlGroupMemory(), AddressSpace()});
}

Status CheckMemoryFor(int64_t bytes, const std::string& what) {
  if (bytes <= kSmallBytes) return OkStatus();
  int64_t available = AvailableMemory();
  if (bytes <= available) return OkStatus();
  return absl::ResourceExhaustedError(fmt::format(
      "no memory for {}, which takes {} bytes; {} are available", what, bytes, available));
}

}  // namespace tcc
