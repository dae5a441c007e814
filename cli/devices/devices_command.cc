#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "autodiff_features/learned/model_file.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/print_json.h"
#include "cli/standard_error.h"
#include "cli/text_table.h"
#include "cli/threads_option.h"
#include "codegen_llvm/toolchain.h"
#include "compiler/devices/reference_device.h"
#include "runtime/cpu/cpu_rates.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/executor/usable_cpus.h"
#include "runtime/opencl/opencl_driver.h"
#include "runtime/supervise/measuring_lock.h"
#include "support/file.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {
namespace {

struct CalibrateOptions {
  std::string output;  // "" writes no file
  int threads = 0;     // as AddThreadsOption has it
  bool json = false;
};

struct MeasuredConstant {
  double CpuProfile::* constant;
  double CpuRates::* rate;
};

constexpr MeasuredConstant kMeasured[] = {
    {&CpuProfile::hertz, &CpuRates::hertz},
    {&CpuProfile::fma_per_cycle, &CpuRates::fma_per_cycle},
    {&CpuProfile::l1_bytes, &CpuRates::l1_bytes},
    {&CpuProfile::l2_bytes, &CpuRates::l2_bytes},
    {&CpuProfile::l3_bytes, &CpuRates::l3_bytes},
    {&CpuProfile::l2_rate, &CpuRates::l2_rate},
    {&CpuProfile::l3_rate, &CpuRates::l3_rate},
    {&CpuProfile::l3_all_rate, &CpuRates::l3_all_rate},
    {&CpuProfile::memory_rate, &CpuRates::memory_rate},
    {&CpuProfile::memory_all_rate, &CpuRates::memory_all_rate},
    {&CpuProfile::fork_seconds, &CpuRates::fork_seconds},
};

struct EndOfName {
  std::string_view end;
  std::string_view unit;
};

// Every other constant is a ratio.
constexpr EndOfName kUnits[] = {
    {"hertz", "Hz"},     {"_per_cycle", "per cycle"}, {"_latency", "cycles"}, {"_cycles", "cycles"},
    {"_bytes", "bytes"}, {"_rate", "bytes/s"},        {"_seconds", "s"},
};

std::string_view UnitOf(std::string_view constant) {
  for (const EndOfName& row : kUnits) {
    if (constant.ends_with(row.end)) return row.unit;
  }
  return "1";
}

double CpuRates::* RateOf(const CpuConstantRow& row) {
  for (const MeasuredConstant& measured : kMeasured) {
    if (measured.constant == row.value) return measured.rate;
  }
  return nullptr;
}

struct Calibration {
  int threads = 1;
  CpuRates rates;
  CpuProfile profile;

  bool IsMeasured(const CpuConstantRow& row) const {
    double CpuRates::* rate = RateOf(row);
    return rate != nullptr && rates.*rate > 0;
  }
};

StatusOr<Calibration> Calibrate(const CalibrateOptions& options) {
  TCC_ASSIGN_OR_RETURN(Target native, FindTarget("native"));
  // More threads than CPUs take turns: what they read together is no rate of the machine.
  if (options.threads > UsableCpus()) {
    return UsageError("--threads {}: expected at most the {} CPUs that there are", options.threads,
                      UsableCpus());
  }
  auto say = [](const std::string& message) { TellError("tcc: {}\n", message); };
  TCC_ASSIGN_OR_RETURN(MeasuringLock lock, MeasuringLock::Acquire({.say = say}));
  ThreadPool pool({.threads = ThreadCount(options.threads)});
  Calibration result{
      .threads = pool.threads(), .rates = MeasureCpuRates(pool), .profile = ProfileOf(native)};
  for (const CpuConstantRow& row : CpuConstantRows()) {
    if (result.IsMeasured(row)) result.profile.*row.value = result.rates.*RateOf(row);
  }
  return result;
}

// {model, threads, constants: [{name, value, unit, source}]}
nlohmann::ordered_json JsonOf(const Calibration& calibration) {
  nlohmann::ordered_json constants = nlohmann::ordered_json::array();
  for (const CpuConstantRow& row : CpuConstantRows()) {
    constants.push_back({{"name", row.name},
                         {"value", calibration.profile.*row.value},
                         {"unit", UnitOf(row.name)},
                         {"source", calibration.IsMeasured(row) ? "measured" : "start value"}});
  }
  return {{"model", HostCpuName()}, {"threads", calibration.threads}, {"constants", constants}};
}

std::string TextOf(const nlohmann::ordered_json& json) {
  std::vector<std::vector<std::string>> rows = {{"constant", "value", "unit", "source"}};
  for (const nlohmann::ordered_json& constant : json["constants"]) {
    rows.push_back({constant["name"], fmt::format("{:.6g}", constant["value"].get<double>()),
                    constant["unit"], constant["source"]});
  }
  return TextTable(rows, "");
}

void AddCalibrateOptions(CommandLine& line, CalibrateOptions& options) {
  line.AddOption("-o,--output", options.output, "Cost model to write; else only print")
      .TypeName("MODEL");
  AddThreadsOption(line, options.threads);
  line.AddFlag("--json", options.json, "Print JSON");
}

// Measures this CPU, prints a row for each constant of the prior and writes them as a cost model.
Status RunCalibrate(const CalibrateOptions& options) {
  if (!options.output.empty()) TCC_RETURN_IF_ERROR(CheckWritable(options.output));
  TCC_ASSIGN_OR_RETURN(Calibration calibration, Calibrate(options));
  if (!options.output.empty()) {
    TCC_RETURN_IF_ERROR(WriteModel(PriorAlone(calibration.profile), options.output));
  }
  nlohmann::ordered_json json = JsonOf(calibration);
  if (options.json) {
    PrintJson("tcc.devices-calibrate/1", json);
  } else {
    fmt::print("{}", TextOf(json));
  }
  return OkStatus();
}

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

// A row for each OpenCL device; none without a driver.
void AddOpenClDevices(nlohmann::ordered_json& rows) {
  StatusOr<OpenClDriver> driver = OpenOpenClDriver();
  if (!driver.ok()) return;
  StatusOr<std::vector<OpenClDeviceInfo>> devices = ListOpenClDevices(*driver);
  if (!devices.ok()) return;
  for (const OpenClDeviceInfo& device : *devices) {
    rows.push_back({{"name", "opencl"},
                    {"ordinal", device.ordinal},
                    {"model", device.name},
                    {"platform", device.platform_name},
                    {"version", device.version},
                    {"driver", device.driver_version},
                    {"compute_units", device.compute_units},
                    {"max_threads", device.max_threads},
                    {"memory_bytes", device.memory_bytes},
                    {"local_bytes", device.local_bytes}});
  }
}

Status RunDevices(const DevicesCommand& command) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const DeviceRow& device : AllDevices()) {
    if (device.name == "cuda") {
      AddCudaDevices(rows);
      continue;
    }
    if (device.name == "opencl") {
      AddOpenClDevices(rows);
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
    PrintJson(rows);
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
