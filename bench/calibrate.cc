// tcc-bench calibrate: what a GPU reaches at best.

#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bench/gpu/calibration.h"
#include "bench/subcommand.h"
#include "bench/write_text.h"
#include "runtime/cuda/cuda_device.h"
#include "support/target_api.h"

namespace tcc {
namespace {

struct CalibrateOptions {
  std::string target;
  bool text = false;
  bool quick = false;
  std::optional<std::string> json;  // a file; "" for stdout
};

Status RunCalibrate(const CalibrateOptions& options) {
  CalibrationOptions calibration;
  if (options.text) calibration.code = GpuCode::kCudaText;
  calibration.quick = options.quick;
  if (!options.target.empty()) {
    TCC_ASSIGN_OR_RETURN(calibration.target, FindTarget(options.target));
    if (!IsCuda(calibration.target)) {
      return UsageError("--target {}: expected a GPU of CUDA's", options.target);
    }
  }
  TCC_ASSIGN_OR_RETURN(CudaDeviceInfo device, ChosenGpu());
  if (options.target.empty()) {
    TCC_ASSIGN_OR_RETURN(calibration.target, TargetOf(device));
  }
  TCC_ASSIGN_OR_RETURN(GpuCeiling ceiling, CalibrateGpu(calibration));
  if (options.json != "") {
    fmt::print("{}, code for {}\n", Describe(device), calibration.target.name);
    fmt::print("float32 multiply-adds {:>10.1f} GFLOP/s\n", ceiling.fma_gflops);
    for (const auto& [type, gflops] : ceiling.mma_gflops) {
      fmt::print("products of {:<4} mma  {:>10.1f} {}\n", type, gflops,
                 type == "s8" ? "GOP/s" : "GFLOP/s");
    }
    fmt::print("copy, memory          {:>10.1f} GB/s, read and written\n", ceiling.copy_gbytes);
    fmt::print("copy, L2 cache        {:>10.1f} GB/s, read and written\n", ceiling.l2_gbytes);
    fmt::print("launch in a graph     {:>10.2f} us\n", ceiling.launch_us);
  }
  if (!options.json) return OkStatus();
  nlohmann::ordered_json mma = nlohmann::ordered_json::object();
  for (const auto& [type, gflops] : ceiling.mma_gflops) mma[type] = gflops;
  nlohmann::ordered_json result = {{"device", device.name},
                                   {"sm", device.sm},
                                   {"target", calibration.target.name},
                                   {"multiprocessors", device.multiprocessors},
                                   {"memory_bytes", device.memory_bytes},
                                   {"l2_bytes", device.l2_bytes},
                                   {"fma_gflops", ceiling.fma_gflops},
                                   {"mma_gflops", mma},
                                   {"copy_gbytes", ceiling.copy_gbytes},
                                   {"l2_gbytes", ceiling.l2_gbytes},
                                   {"launch_us", ceiling.launch_us}};
  std::string text = result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  return WriteText(text + "\n", *options.json);
}

}  // namespace

BenchAction DeclareCalibrate(CLI::App& app) {
  auto options = std::make_shared<CalibrateOptions>();
  app.add_option("--target", options->target, "Code for sm_86, ...; else what suits the device");
  app.add_flag("--text", options->text, "CUDA text, for the emulated driver in TCC_CUDA_DRIVER");
  app.add_flag("--quick", options->quick, "Little work: only to see that it works");
  app.add_option("--json", options->json, "Write JSON, to stdout or FILE")->expected(0, 1);
  return [options] { return RunCalibrate(*options); };
}

}  // namespace tcc
