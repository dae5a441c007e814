#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/devices/calibrate.h"
#include "codegen_llvm/toolchain.h"
#include "compiler/devices/reference_device.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/executor/usable_cpus.h"
#include "support/target.h"

namespace tcc {
namespace {

struct DevicesCommand {
  bool json = false;
  CalibrateOptions calibrate;
};

// A row for each GPU; none without a driver, of which doctor says more.
void AddCudaDevices(nlohmann::ordered_json& rows) {
  StatusOr<CudaDriver> driver = OpenCudaDriver();
  if (!driver.ok()) return;
  StatusOr<std::vector<CudaDeviceInfo>> devices = ListCudaDevices(*driver);
  if (!devices.ok()) return;
  for (const CudaDeviceInfo& device : *devices) {
    StatusOr<Target> target = TargetOf(device);
    rows.push_back({{"name", "cuda"},
                    {"ordinal", device.ordinal},
                    {"model", device.name},
                    {"sm", device.sm},
                    {"target", target.ok() ? target->name : "none"},
                    {"multiprocessors", device.multiprocessors},
                    {"memory_bytes", device.memory_bytes},
                    {"shared_bytes", device.shared_bytes},
                    {"l2_bytes", device.l2_bytes}});
  }
}

Status RunDevices(const DevicesCommand& command) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const DeviceRow& device : AllDevices()) {
    if (device.name == "cuda") {
      AddCudaDevices(rows);
      continue;
    }
    nlohmann::ordered_json row = {{"name", device.name}};
    if (device.name == "cpu") {
      row["model"] = HostCpuName();
      row["threads"] = UsableCpus();
      row["vector_bytes"] = FindTarget("native")->vector_bytes;
    }
    rows.push_back(row);
  }
  if (command.json) {
    fmt::print("{}\n", rows.dump(2));
    return OkStatus();
  }
  for (const auto& row : rows) {
    std::string line;
    for (const auto& [key, value] : row.items()) {
      std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      line += key == "name" ? text : fmt::format("  {} {}", key, text);
    }
    fmt::print("{}\n", line);
  }
  return OkStatus();
}

}  // namespace

Action DeclareDevices(CommandLine& line) {
  auto command = std::make_shared<DevicesCommand>();
  line.AddFlag("--json", command->json, "Print JSON");
  CommandLine calibrate =
      line.AddCommand("calibrate", "Measure this CPU's constants of the cost model");
  AddCalibrateOptions(calibrate, command->calibrate);
  return [command, calibrate]() -> Status {
    if (!calibrate.given()) return RunDevices(*command);
    command->calibrate.json |= command->json;
    return RunCalibrate(command->calibrate);
  };
}

}  // namespace tcc
