#include "runtime/executor/usable_cpus.h"

#include <absl/strings/str_split.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>

namespace tcc {
namespace {

// A quota: microseconds of CPU time per period.
struct Quota {
  int64_t time = 0;
  int64_t period = 0;
};

// Reads the quota of a version 2 group: "150000 100000", or "max 100000" for none.
std::optional<Quota> QuotaOfVersion2(const std::string& folder) {
  Quota quota;
  std::ifstream file(folder + "/cpu.max");
  if (file >> quota.time >> quota.period) return quota;
  return std::nullopt;
}

// Reads the quota of a version 1 group: one number per file; a time of -1 for none.
std::optional<Quota> QuotaOfVersion1(const std::string& folder) {
  Quota quota;
  std::ifstream time(folder + "/cpu.cfs_quota_us"), period(folder + "/cpu.cfs_period_us");
  if (time >> quota.time && period >> quota.period) return quota;
  return std::nullopt;
}

using ReadQuota = std::optional<Quota> (*)(const std::string& folder);

std::optional<int> Least(std::optional<int> a, std::optional<int> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// Returns the least quota of the group and its ancestors, in CPUs. Inside a container the group's
// files are at the mount itself, while `path` exists only on the host.
std::optional<int> LeastOnTheWay(const std::string& mount, std::string path, ReadQuota read) {
  std::optional<int> least;
  while (true) {
    std::optional<Quota> quota = read(mount + path);
    if (quota && quota->time > 0 && quota->period > 0) {
      int64_t cpus = quota->time / quota->period + (quota->time % quota->period != 0 ? 1 : 0);
      least = Least(least, static_cast<int>(std::min<int64_t>(cpus, 1 << 20)));
    }
    size_t slash = path.rfind('/');
    if (slash == std::string::npos) return least;
    path.resize(slash);
  }
}

bool HasWord(const std::string& list, std::string_view word) {
  const std::vector<std::string> words = absl::StrSplit(list, ',');
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

std::optional<int> CpuQuota(std::string_view groups, const std::string& mount) {
  std::optional<int> least;
  std::istringstream lines{std::string(groups)};
  for (std::string line; std::getline(lines, line);) {
    size_t first = line.find(':');
    size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      least = Least(least, LeastOnTheWay(mount, path, QuotaOfVersion2));
      // Version 2 is mounted here when version 1 has the other controllers.
      least = Least(least, LeastOnTheWay(mount + "/unified", path, QuotaOfVersion2));
    } else if (HasWord(controllers, "cpu")) {
      least = Least(least,
                    LeastOnTheWay(fmt::format("{}/{}", mount, controllers), path, QuotaOfVersion1));
      least = Least(least, LeastOnTheWay(mount + "/cpu", path, QuotaOfVersion1));
    }
  }
  return least;
}

std::vector<int> AllowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

int UsableCpus() {
  std::ifstream file("/proc/self/cgroup");
  std::stringstream groups;
  groups << file.rdbuf();
  auto cpus = static_cast<int>(AllowedCpus().size());
  return std::min(cpus, CpuQuota(groups.str(), "/sys/fs/cgroup").value_or(cpus));
}

}  // namespace tcc
