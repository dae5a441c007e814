#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tcc {

// Returns the number of threads worth having, at least 1: one per CPU that the calling thread may
// run on, but not more than the quota of CPU time keeps busy.
int UsableCpus();

// Returns the CPUs that the calling thread may run on; at least one.
std::vector<int> AllowedCpus();

// Returns how many CPUs the quotas of the process' control group and its ancestors let it keep
// busy, rounded up; nothing if none sets a quota. `groups` is the text of /proc/self/cgroup, in
// lines NUMBER:CONTROLLERS:PATH; `mount` is the folder of the groups' files, /sys/fs/cgroup.
std::optional<int> CpuQuota(std::string_view groups, const std::string& mount);

}  // namespace tcc
