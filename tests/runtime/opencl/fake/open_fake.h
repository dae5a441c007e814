#pragma once

#include <optional>
#include <string>

#include "support/temporary_folder.h"
#include "tests/runtime/opencl/fake/fake_opencl.h"

namespace tcc::test {

// The fake driver, in its first state, as the one that is opened, and an empty cache folder.
class OpenedFake {
 public:
  OpenedFake();
  OpenedFake(const OpenedFake&) = delete;
  OpenedFake& operator=(const OpenedFake&) = delete;
  ~OpenedFake();

  FakeOpenCl* operator->() const { return fake_; }
  // Brings the driver back into its first state; objects live on.
  void Reset();
  // Returns the folder that built programs are kept in.
  std::string cache() const { return folder_->path() + "/opencl"; }
  void ClearCache() const;

 private:
  FakeOpenCl* fake_ = nullptr;
  std::optional<TemporaryFolder> folder_;
};

}  // namespace tcc::test
