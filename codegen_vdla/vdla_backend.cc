#include "codegen_vdla/vdla_backend.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "codegen_vdla/dependence_tokens.h"
#include "codegen_vdla/gemv_call.h"
#include "codegen_vdla/instruction_stream.h"
#include "codegen_vdla/program_text.h"
#include "ir/expr/visitor.h"
#include "runtime/vdla/vdla_image.h"
#include "runtime/vdla/vdla_machine.h"
#include "support/stop.h"
#include "support/threads.h"

namespace tcc {
namespace {

bool IsOffloaded(const Function& kernel) {
  return Contains(kernel.body, [](const Stmt& stmt) {
    const auto* call = stmt.as<IntrinsicCall>();
    return call != nullptr && call->intrinsic == kGemvIntrinsic;
  });
}

void Describe(const VdlaProgram& program, const VdlaCounts& counts, CompiledKernel& kernel) {
  kernel.statistics = {{"cycles", counts.cycles},
                       {"instructions", static_cast<int64_t>(program.instructions.size())},
                       {"loaded_bytes", counts.loaded_bytes},
                       {"multiply_cycles", counts.multiply_cycles},
                       {"stored_bytes", counts.stored_bytes}};
  kernel.ratios = {{"peak", static_cast<double>(counts.multiply_cycles) /
                                static_cast<double>(std::max<int64_t>(counts.cycles, 1))}};
}

class VdlaBackend final : public Backend {
 public:
  VdlaBackend(const VdlaConfig& config, std::unique_ptr<Backend> host)
      : config_(config), host_(std::move(host)) {}

  StatusOr<CompiledModule> Compile(const LoweredModule& module,
                                   const BackendOptions& options) override {
    const size_t count = module.kernels.size();
    CompiledModule compiled;
    compiled.kernels.resize(count);
    VdlaImage image;
    image.programs.resize(count);
    const Status status = ForEachIndex(count, options.threads, [&](size_t k) {
      TCC_RETURN_IF_ERROR(StopIfRequested(options.stop));
      if (IsOffloaded(module.kernels[k])) {
        Offload(module.kernels[k], image.programs[k], compiled.kernels[k]);
      }
      return OkStatus();
    });
    TCC_RETURN_IF_ERROR(status);
    LoweredModule host;
    for (const Function& kernel : module.kernels) {
      if (!IsOffloaded(kernel)) host.kernels.push_back(kernel);
    }
    TCC_ASSIGN_OR_RETURN(CompiledModule host_code, host_->Compile(host, options));
    for (size_t k = 0, h = 0; k < count; ++k) {
      if (!IsOffloaded(module.kernels[k])) compiled.kernels[k] = host_code.kernels[h++];
    }
    image.host = std::move(host_code.image);
    for (const CompiledKernel& kernel : compiled.kernels) {
      if (!kernel.refused.ok()) return compiled;
    }
    compiled.image = VdlaImageBytes(image);
    return compiled;
  }

  StatusOr<std::string> Emit(const LoweredModule& module, const std::string& stage) override {
    LoweredModule host;
    std::string text;
    for (const Function& kernel : module.kernels) {
      if (!IsOffloaded(kernel)) {
        host.kernels.push_back(kernel);
        continue;
      }
      TCC_ASSIGN_OR_RETURN(const VdlaProgram program, VdlaProgramOf(kernel, config_));
      text += ProgramText(kernel.name, program);
    }
    if (host.kernels.empty()) return text;
    TCC_ASSIGN_OR_RETURN(const std::string host_text, host_->Emit(host, stage));
    return text + host_text;
  }

 private:
  // Makes a kernel's program, or says why there is none.
  void Offload(const Function& kernel, std::optional<VdlaProgram>& program,
               CompiledKernel& compiled) const {
    StatusOr<VdlaProgram> made = VdlaProgramOf(kernel, config_);
    compiled.refused = made.status();
    if (!made.ok()) return;
    const StatusOr<VdlaCounts> counts = TimeVdla(*made, config_);
    compiled.refused = counts.status();
    if (!counts.ok()) return;
    Describe(*made, *counts, compiled);
    program = *std::move(made);
  }

  VdlaConfig config_;
  std::unique_ptr<Backend> host_;
};

}  // namespace

StatusOr<VdlaProgram> VdlaProgramOf(const Function& lowered, const VdlaConfig& config) {
  TCC_ASSIGN_OR_RETURN(VdlaProgram program, StreamOf(lowered, config));
  AddTokens(program, config);
  return program;
}

std::unique_ptr<Backend> MakeVdlaBackend(const VdlaConfig& config, std::unique_ptr<Backend> host) {
  return std::make_unique<VdlaBackend>(config, std::move(host));
}

}  // namespace tcc
