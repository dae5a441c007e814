#include "codegen_cuda/kernel_facts.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "support/device_profile.h"

namespace tcc {
namespace {

int64_t SharedBytes(const Launch& launch) {
  return launch.static_shared_bytes + launch.dynamic_shared_bytes;
}

int64_t SpillBytes(const LaunchFacts& facts) {
  return facts.resources.spill_stores + facts.resources.spill_loads;
}

// The bytes of spills that cost as much as one warning: a ptxas warning C75xx means that products
// are serialized, or that the optimization that the kernel was made for was given up.
constexpr int64_t kBytesOfWarning = 4096;
// The bytes of spills that cost as much as one conflicting row, which is one more pass of a load. A
// guess, below the spills that hurt.
constexpr int64_t kBytesOfConflict = 64;

constexpr int64_t kBytesOfWord = 4;  // the bytes of most accesses to local memory

// Returns the blocks of a launch; 0 if they depend on a shape.
int64_t BlocksOf(const Launch& launch) {
  int64_t blocks = 1;
  for (const Expr& extent : launch.grid) blocks *= AsConstant(extent).value_or(0);
  return blocks;
}

// Returns the multiply-adds of the main loop, times the number of threads as far as that is known.
int64_t WorkOf(const LaunchFacts& facts) {
  const SassCounts& counts = facts.code.facts.main_loop;
  int64_t tensor = counts.OnTensorCores();
  int64_t threads = std::max<int64_t>(BlocksOf(*facts.launch), 1) * facts.launch->Threads();
  return (1 + counts.of(SassKind::kFfma) + 1000 * tensor) * threads;
}

// Returns the number of instructions that multiply matrices, by operand type, and then their total.
std::vector<std::pair<std::string, int64_t>> MmaStatistics(
    const std::vector<LaunchFacts>& launches) {
  int64_t bf16 = 0, f16 = 0, s8 = 0, tf32 = 0, groups = 0;
  for (const LaunchFacts& facts : launches) {
    const SassCounts& all = facts.code.facts.all;
    bf16 += all.of_bf16;
    tf32 += all.of_tf32;
    f16 += all.OnFloats() - all.of_bf16 - all.of_tf32;
    s8 += all.OnIntegers();
    groups += all.of(SassKind::kHgmma) + all.of(SassKind::kIgmma);
  }
  std::vector<std::pair<std::string, int64_t>> statistics = {{"mma_bf16", bf16},
                                                             {"mma_f16", f16},
                                                             {"mma_group", groups},
                                                             {"mma_s8", s8},
                                                             {"mma_tf32", tf32}};
  std::erase_if(statistics, [](const auto& statistic) { return statistic.second == 0; });
  statistics.emplace_back("tensor_instructions", bf16 + f16 + s8 + tf32);
  return statistics;
}

// Returns the local bytes per thread if its own buffers are not in registers, else 0. The local
// memory of device library functions, such as the slow path of sin, is excluded: no other schedule
// would save it.
int64_t OwnLocalBytes(const LaunchFacts& facts) {
  return facts.launch->indexes_locals ? facts.code.local_bytes : 0;
}

// Returns the bytes that the code moves between those buffers and registers, without spills.
int64_t MovedLocalBytes(const LaunchFacts& facts) {
  if (OwnLocalBytes(facts) == 0) return 0;
  const SassCounts& all = facts.code.facts.all;
  int64_t words = all.of(SassKind::kLdl) + all.of(SassKind::kStl);
  return std::max<int64_t>(words * kBytesOfWord - SpillBytes(facts), 1);
}

// The possible faults of a kernel, over all of its launches.
struct Faults {
  int64_t spill_bytes, registers, warnings, rows_per_bank, local_bytes, moved_local_bytes;
  std::string warning;  // the last one
};

void DescribeFault(const Faults& found, CompiledKernel& kernel) {
  std::vector<std::string> texts;
  if (found.spill_bytes > 0) {
    texts.push_back(
        fmt::format("spills {} bytes with {} registers", found.spill_bytes, found.registers));
  }
  if (found.local_bytes > 0) {
    texts.push_back(fmt::format("keeps {} bytes of a thread in local memory", found.local_bytes));
  }
  if (!found.warning.empty()) texts.push_back(found.warning);
  int64_t waiting = std::max<int64_t>(found.rows_per_bank - 1, 0);
  if (waiting > 0) {
    texts.push_back(
        fmt::format("loads matrices of which {} rows meet in a bank", found.rows_per_bank));
  }
  kernel.fault = fmt::format("{}", fmt::join(texts, "; "));
  kernel.fault_cost =
      static_cast<double>(found.spill_bytes + found.moved_local_bytes +
                          kBytesOfWarning * found.warnings + kBytesOfConflict * waiting);
}

double FfmaShare(const SassCounts& counts) {
  if (counts.total == 0) return 0;
  return static_cast<double>(counts.of(SassKind::kFfma)) / static_cast<double>(counts.total);
}

}  // namespace

double WavesOf(int64_t blocks, const BlockResources& block, int sm) {
  const GpuProfile& gpu = GpuProfileOf(sm);
  int64_t at_once = BlocksPerMultiprocessor(block, gpu) * gpu.multiprocessors;
  return at_once == 0 ? 0 : static_cast<double>(blocks) / static_cast<double>(at_once);
}

StatusOr<std::vector<LaunchFacts>> FactsOfLaunches(const LaunchPlan& plan, const Cubin& cubin,
                                                   int sm) {
  TCC_ASSIGN_OR_RETURN(std::vector<CubinKernel> codes, ReadCubin(cubin.image, sm));
  std::vector<LaunchFacts> facts;
  for (const Launch& launch : plan.launches) {
    auto named = [&](const auto& kernels, auto name) {
      return std::ranges::find_if(
          kernels, [&](const auto& kernel) { return kernel.*name == launch.kernel; });
    };
    auto code = named(codes, &CubinKernel::name);
    auto resources = named(cubin.kernels, &KernelResources::kernel);
    if (code == codes.end() || resources == cubin.kernels.end())
      return absl::InternalError("machine code lacks kernel '" + launch.kernel + "'");
    facts.push_back({&launch, *resources, *code});
  }
  return facts;
}

void DescribeKernel(const std::vector<LaunchFacts>& launches, int sm, CompiledKernel& kernel) {
  int64_t registers = 0, local = 0, widest = 0, shared = 0, spills = 0, code = 0, warnings = 0;
  int64_t rows_per_bank = 0, own_local = 0, moved_local = 0;
  const LaunchFacts* main = nullptr;
  std::string warning;
  for (const LaunchFacts& facts : launches) {
    registers = std::max(registers, facts.code.registers);
    local = std::max(local, facts.code.local_bytes);
    widest = std::max(widest, facts.code.facts.load_bytes_widest);
    shared = std::max(shared, SharedBytes(*facts.launch));
    rows_per_bank = std::max(rows_per_bank, facts.launch->rows_per_bank);
    own_local = std::max(own_local, OwnLocalBytes(facts));
    moved_local += MovedLocalBytes(facts);
    spills += SpillBytes(facts);
    code += facts.code.code_bytes;
    if (!facts.resources.warning.empty()) {
      ++warnings;
      warning = facts.resources.warning;
    }
    if (!main || WorkOf(facts) > WorkOf(*main)) main = &facts;
  }
  DescribeFault({spills, registers, warnings, rows_per_bank, own_local, moved_local, warning},
                kernel);
  kernel.statistics = {{"code_bytes", code},     {"load_bytes_widest", widest},
                       {"local_bytes", local},   {"registers", registers},
                       {"shared_bytes", shared}, {"spill_bytes", spills},
                       {"warnings", warnings}};
  if (rows_per_bank > 0) kernel.statistics.emplace_back("ldmatrix_conflicts", rows_per_bank - 1);
  std::ranges::move(MmaStatistics(launches), std::back_inserter(kernel.statistics));
  std::ranges::sort(kernel.statistics);
  if (!main) return;
  kernel.ratios = {{"ffma_share", FfmaShare(main->code.facts.main_loop)}};
  int64_t blocks = BlocksOf(*main->launch);
  if (blocks == 0) return;
  BlockResources block{main->launch->Threads(), main->code.registers, SharedBytes(*main->launch)};
  kernel.ratios.emplace_back("waves", WavesOf(blocks, block, sm));
}

}  // namespace tcc
