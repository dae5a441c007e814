#include "codegen_llvm/target_machine.h"

#include <fmt/ranges.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/check.h"

namespace tcc {
namespace {

constexpr const char* kAmx = "+amx-tile,+amx-int8,+amx-bf16";

// LLVM's code generator for an architecture.
struct Generator {
  CpuArch arch;
  const char* triple;
  std::span<const char* const> native_needs;  // the features without which `native` is refused
  const char* least;                          // the row that has just these
  void (*initialize)();
};

constexpr const char* kX86Needs[] = {"avx2", "fma", "f16c", "bmi2"};
constexpr const char* kArmNeeds[] = {"neon", "lse"};

constexpr Generator kGenerators[] = {
    {CpuArch::kX86, "x86_64-unknown-linux-gnu", kX86Needs, "x86-64-v3",
     [] {
       LLVMInitializeX86TargetInfo();
       LLVMInitializeX86Target();
       LLVMInitializeX86TargetMC();
       LLVMInitializeX86AsmPrinter();
     }},
    {CpuArch::kArm64, "aarch64-unknown-linux-gnu", kArmNeeds, "aarch64-v8.2",
     [] {
       LLVMInitializeAArch64TargetInfo();
       LLVMInitializeAArch64Target();
       LLVMInitializeAArch64TargetMC();
       LLVMInitializeAArch64AsmPrinter();
     }},
};

const Generator& GeneratorFor(CpuArch arch) {
  const auto* generator = std::ranges::find(kGenerators, arch, &Generator::arch);
  TCC_CHECK(generator != std::end(kGenerators)) << "no generator for " << RowOf(arch).name;
  return *generator;
}

struct Cpu {
  std::string name;
  std::string features;  // "+avx2,-sse4a,...", sorted
};

void InitializeOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const Generator& generator : kGenerators) generator.initialize();
  });
}

StatusOr<Cpu> HostCpu() {
  const Generator& generator = GeneratorFor(kHostArch);
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  for (const char* feature : generator.native_needs) {
    if (!host.lookup(feature)) {
      return Missing("this CPU has no {}; generated code needs at least {}", feature,
                     generator.least);
    }
  }
  std::vector<std::string> features;
  for (const auto& entry : host)
    features.push_back(fmt::format("{}{}", entry.second ? '+' : '-', entry.first().str()));
  std::ranges::sort(features);
  return Cpu{llvm::sys::getHostCPUName().str(), fmt::format("{}", fmt::join(features, ","))};
}

Cpu CpuOfRow(const Target& target) {
  std::vector<std::string> features;
  for (std::string_view feature : target.needed_features) {
    features.push_back(fmt::format("+{}", feature));
  }
  return {target.llvm_cpu, fmt::format("{}", fmt::join(features, ","))};
}

}  // namespace

StatusOr<std::unique_ptr<llvm::TargetMachine>> CreateTargetMachine(const Target& target) {
  if (target.kind != TargetKind::kCpu)
    return UsageError("target '{}' is no CPU; LLVM generates code for CPUs only", target.name);
  InitializeOnce();
  Cpu cpu = CpuOfRow(target);
  if (cpu.name.empty()) {
    TCC_ASSIGN_OR_RETURN(cpu, HostCpu());
  }
  if (target.amx) cpu.features += std::string(cpu.features.empty() ? "" : ",") + kAmx;
  const char* triple = TripleOf(target.arch);
  std::string error;
  const llvm::Target* backend = llvm::TargetRegistry::lookupTarget(triple, error);
  TCC_CHECK(backend != nullptr) << error;
  llvm::TargetOptions options;
  // Products and sums that carry `contract` are fused, no others.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      backend->createTargetMachine(triple, cpu.name, cpu.features, options, llvm::Reloc::PIC_,
                                   llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

const char* TripleOf(CpuArch arch) {
  return GeneratorFor(arch).triple;
}

}  // namespace tcc
