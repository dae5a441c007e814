#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/doctor_checks.h"
#include "support/status.h"

namespace tcc {
namespace {

struct DoctorCommand {
  bool json = false;
};

void PrintJson(const std::vector<DoctorCheck>& checks) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const DoctorCheck& check : checks) {
    rows.push_back({{"name", check.name},
                    {"status", check.found ? "ok" : "missing"},
                    {"needed", check.needed},
                    {"detail", check.detail}});
  }
  fmt::print("{}\n", rows.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

Status RunDoctorCommand(const DoctorCommand& command) {
  std::vector<DoctorCheck> checks = RunDoctor();
  std::string missing;
  for (const DoctorCheck& check : checks) {
    if (check.needed && !check.found) missing += (missing.empty() ? "" : ", ") + check.name;
  }
  if (command.json) {
    PrintJson(checks);
  } else {
    for (const DoctorCheck& check : checks) {
      fmt::print("{:<8} {:<19} {}\n", check.found ? "ok" : "missing", check.name, check.detail);
    }
  }
  if (missing.empty()) return OkStatus();
  return Missing("compiling or running for this CPU will fail without: {}", missing);
}

}  // namespace

Action DeclareDoctor(CommandLine& line) {
  auto command = std::make_shared<DoctorCommand>();
  line.AddFlag("--json", command->json, "Print JSON");
  return [command] { return RunDoctorCommand(*command); };
}

}  // namespace tcc
