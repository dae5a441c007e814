#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tcc {

// How many threads are worth having, at least 1: one for each CPU that the calling thread may run
// on, but not more than the quota of CPU time keeps busy.
int UsableCpus();

// CPUs that the calling thread may run on; at least one.
std::vector<int> AllowedCpus();

// How many CPUs the process' control group and those around it let it keep busy, rounded up;
// nothing where none sets a quota. `groups` is what /proc/self/cgroup says, in lines
// NUMBER:CONTROLLERS:PATH; `mount` is where the groups' files are, /sys/fs/cgroup.
std::optional<int> CpuQuota(std::string_view groups, const std::string& mount);

}  // namespace tcc
