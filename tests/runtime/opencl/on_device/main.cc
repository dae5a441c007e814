#define CATCH_CONFIG_RUNNER
#include <fmt/core.h>

#include <catch2/catch.hpp>

#include "runtime/opencl/opencl_driver.h"

namespace {

// Returns why there is no device to test on; "" if there is one.
std::string Lack() {
  tcc::StatusOr<tcc::OpenClDriver> driver = tcc::OpenOpenClDriver();
  if (!driver.ok()) return tcc::Message(driver.status());
  tcc::StatusOr<std::vector<tcc::OpenClDeviceInfo>> devices = tcc::ListOpenClDevices(*driver);
  // If a driver fails, the tests say how.
  if (!devices.ok() || !devices->empty()) return "";
  return "the OpenCL driver has no device; install pocl-opencl-icd";
}

}  // namespace

int main(int count, char** words) {
  if (const std::string lack = Lack(); !lack.empty()) {
    fmt::print("SKIP: {}\n", lack);
    return 0;
  }
  return Catch::Session().run(count, words);
}
