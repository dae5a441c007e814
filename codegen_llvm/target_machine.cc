#include "codegen_llvm/target_machine.h"

#include <fmt/ranges.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "support/check.h"

namespace tcc {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";
constexpr const char* kNeeded[] = {"avx2", "fma", "f16c", "bmi2"};

constexpr const char* kAmx = "+amx-tile,+amx-int8,+amx-bf16";

struct Cpu {
  std::string name;
  std::string features;  // "+avx2,-sse4a,...", sorted
};

void InitializeOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

StatusOr<Cpu> HostCpu() {
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  for (const char* feature : kNeeded) {
    if (!host.lookup(feature))
      return Missing("this CPU has no {}; generated code needs at least x86-64-v3", feature);
  }
  std::vector<std::string> features;
  for (const auto& entry : host)
    features.push_back(fmt::format("{}{}", entry.second ? '+' : '-', entry.first().str()));
  std::ranges::sort(features);
  return Cpu{llvm::sys::getHostCPUName().str(), fmt::format("{}", fmt::join(features, ","))};
}

}  // namespace

StatusOr<std::unique_ptr<llvm::TargetMachine>> CreateTargetMachine(const Target& target) {
  if (target.kind != TargetKind::kCpu)
    return UsageError("target '{}' is no CPU; LLVM generates code for CPUs only", target.name);
  InitializeOnce();
  Cpu cpu{target.llvm_cpu, ""};
  if (cpu.name.empty()) {
    TCC_ASSIGN_OR_RETURN(cpu, HostCpu());
  }
  if (target.amx) cpu.features += std::string(cpu.features.empty() ? "" : ",") + kAmx;
  std::string error;
  const llvm::Target* backend = llvm::TargetRegistry::lookupTarget(kTriple, error);
  TCC_CHECK(backend != nullptr) << error;
  llvm::TargetOptions options;
  // Products and sums that carry `contract` are fused, no others.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      backend->createTargetMachine(kTriple, cpu.name, cpu.features, options, llvm::Reloc::PIC_,
                                   llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

}  // namespace tcc
