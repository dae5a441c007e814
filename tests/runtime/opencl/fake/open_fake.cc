#include "tests/runtime/opencl/fake/open_fake.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "support/check.h"

namespace tcc::test {

OpenedFake::OpenedFake() {
  void* library = dlopen(TCC_FAKE_OPENCL, RTLD_NOW | RTLD_LOCAL);
  TCC_CHECK(library != nullptr) << dlerror();
  fake_ = reinterpret_cast<FakeOpenCl* (*)()>(dlsym(library, kFakeOpenCl))();
  Reset();
  StatusOr<TemporaryFolder> folder = TemporaryFolder::Make("a test");
  TCC_CHECK(folder.ok()) << Message(folder.status());
  folder_ = *std::move(folder);
  setenv("TCC_OPENCL_DRIVER", TCC_FAKE_OPENCL, 1);
  setenv("TCC_CACHE_DIR", folder_->path().c_str(), 1);
}

OpenedFake::~OpenedFake() {
  Reset();
  unsetenv("TCC_OPENCL_DRIVER");
  unsetenv("TCC_CACHE_DIR");
}

void OpenedFake::Reset() {
  *fake_ = {.calls = {}, .objects = fake_->objects, .options = {}};
}

void OpenedFake::ClearCache() const {
  std::filesystem::remove_all(cache());
}

}  // namespace tcc::test
