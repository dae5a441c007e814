#include "runtime/executor/usable_cpus.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

using namespace tcc;
namespace fs = std::filesystem;

namespace {

// A folder like /sys/fs/cgroup.
class Groups {
 public:
  Groups() {
    std::string pattern = (fs::temp_directory_path() / "tcc_groups_XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
  }
  ~Groups() { fs::remove_all(folder_); }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  void Write(const std::string& file, const std::string& text) {
    fs::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file) << text << "\n";
  }
  std::optional<int> Quota(const std::string& groups) const {
    return CpuQuota(groups, folder_.string());
  }

 private:
  fs::path folder_;
};

TEST_CASE("a quota of CPU time is rounded up to whole CPUs", "[runtime][cpus]") {
  Groups groups;
  for (auto [text, cpus] : {std::pair{"150000 100000", 2},
                            {"100000 100000", 1},
                            {"1000 100000", 1},
                            {"800000 100000", 8},
                            {"50000 50000", 1}}) {
    INFO(text);
    groups.Write("cpu.max", text);
    CHECK(groups.Quota("0::/\n") == cpus);
  }
}

TEST_CASE("no quota is none, as is a file that cannot be read", "[runtime][cpus]") {
  Groups groups;
  CHECK(groups.Quota("") == std::nullopt);
  CHECK(groups.Quota("0::/a\n") == std::nullopt);
  groups.Write("cpu.max", "max 100000");
  CHECK(groups.Quota("0::/\n") == std::nullopt);
  for (const char* text : {"", "soup", "100000", "0 100000", "100000 0", "-1 100000"}) {
    groups.Write("cpu.max", text);
    CHECK(groups.Quota("0::/\n") == std::nullopt);
  }
  groups.Write("cpu/cpu.cfs_quota_us", "-1");
  groups.Write("cpu/cpu.cfs_period_us", "100000");
  CHECK(groups.Quota("1:cpu:/\nsoup\n::\n") == std::nullopt);
}

TEST_CASE("the least quota of a group and those around it counts", "[runtime][cpus]") {
  Groups groups;
  groups.Write("a/cpu.max", "300000 100000");
  groups.Write("a/b/cpu.max", "max 100000");
  groups.Write("a/b/c/cpu.max", "500000 100000");
  groups.Write("a/other/cpu.max", "100000 100000");
  CHECK(groups.Quota("0::/a/b/c\n") == 3);
  groups.Write("a/b/c/cpu.max", "200000 100000");
  CHECK(groups.Quota("0::/a/b/c\n") == 2);
  CHECK(groups.Quota("0::/a/b\n") == 3);
}

TEST_CASE("version 1 has the quota in a folder of its controller", "[runtime][cpus]") {
  Groups groups;
  groups.Write("cpu,cpuacct/docker/x/cpu.cfs_quota_us", "250000");
  groups.Write("cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000");
  CHECK(groups.Quota("5:cpuset:/docker/x\n4:cpu,cpuacct:/docker/x\n0::/\n") == 3);
  CHECK(groups.Quota("5:cpuset:/docker/x\n") == std::nullopt);
  groups.Write("cpu/y/cpu.cfs_quota_us", "50000");
  groups.Write("cpu/y/cpu.cfs_period_us", "100000");
  CHECK(groups.Quota("4:cpuacct,cpu:/y\n") == 1);
}

TEST_CASE("a container finds its quota at the mount, whatever its path on the host",
          "[runtime][cpus]") {
  Groups groups;
  groups.Write("cpu/cpu.cfs_quota_us", "100000");
  groups.Write("cpu/cpu.cfs_period_us", "100000");
  CHECK(groups.Quota("3:cpu:/docker/0123456789ab\n") == 1);
  groups.Write("cpu.max", "200000 100000");
  CHECK(groups.Quota("0::/system.slice/docker-0123456789ab.scope\n") == 2);
}

TEST_CASE("no more CPUs are usable than allowed", "[runtime][cpus]") {
  CHECK(UsableCpus() >= 1);
  CHECK(UsableCpus() <= static_cast<int>(AllowedCpus().size()));
}

}  // namespace
