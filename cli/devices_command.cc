#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "api/reference_device.h"
#include "cli/command.h"
#include "codegen_llvm/toolchain.h"
#include "ir/target.h"
#include "runtime/thread_pool.h"

namespace tcc {
namespace {

struct DevicesCommand {
  bool json = false;
};

Status RunDevices(const DevicesCommand& command) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const DeviceRow& device : AllDevices()) {
    nlohmann::ordered_json row = {{"name", device.name}};
    if (device.name == "cpu") {
      row["model"] = HostCpuName();
      row["threads"] = AllowedCpus().size();
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

Action DeclareDevices(CLI::App& app) {
  auto command = std::make_shared<DevicesCommand>();
  app.add_flag("--json", command->json, "Print JSON");
  return [command] { return RunDevices(*command); };
}

}  // namespace tcc
