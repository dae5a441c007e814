#include "runtime/cpu/cpu_features.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

#include <absl/strings/numbers.h>
#include <fmt/ranges.h>

#include <fstream>
#include <string_view>
#include <vector>

#include "support/word_tile.h"

namespace tcc {
namespace {

// The start of a feature's name that ends with the bits of SVE's vectors, "sve256".
constexpr std::string_view kSveLength = "sve";

struct FeatureRow {
  std::string_view name;  // LLVM's
  bool (*present)();
};

#if defined(__x86_64__)
// __builtin_cpu_supports takes a literal in GCC's spelling and asks for the system's support of
// wide registers too.
#define TCC_CPU_FEATURE(llvm_name, gcc_name) \
  {llvm_name, [] { return __builtin_cpu_supports(gcc_name) != 0; }}
#elif defined(__aarch64__)
#define TCC_CPU_FEATURE(llvm_name, word, bit) \
  {llvm_name, [] { return (getauxval(word) & (bit)) != 0; }}
#endif

constexpr FeatureRow kFeatures[] = {
#if defined(__x86_64__)
    TCC_CPU_FEATURE("sse3", "sse3"),
    TCC_CPU_FEATURE("ssse3", "ssse3"),
    TCC_CPU_FEATURE("sse4.1", "sse4.1"),
    TCC_CPU_FEATURE("sse4.2", "sse4.2"),
    TCC_CPU_FEATURE("popcnt", "popcnt"),
    TCC_CPU_FEATURE("avx", "avx"),
    TCC_CPU_FEATURE("avx2", "avx2"),
    TCC_CPU_FEATURE("bmi", "bmi"),
    TCC_CPU_FEATURE("bmi2", "bmi2"),
    TCC_CPU_FEATURE("f16c", "f16c"),
    TCC_CPU_FEATURE("fma", "fma"),
    TCC_CPU_FEATURE("lzcnt", "lzcnt"),
    TCC_CPU_FEATURE("movbe", "movbe"),
    TCC_CPU_FEATURE("avx512f", "avx512f"),
    TCC_CPU_FEATURE("avx512bw", "avx512bw"),
    TCC_CPU_FEATURE("avx512cd", "avx512cd"),
    TCC_CPU_FEATURE("avx512dq", "avx512dq"),
    TCC_CPU_FEATURE("avx512vl", "avx512vl"),
    TCC_CPU_FEATURE("avx512ifma", "avx512ifma"),
    TCC_CPU_FEATURE("avx512vbmi", "avx512vbmi"),
    TCC_CPU_FEATURE("avx512vbmi2", "avx512vbmi2"),
    TCC_CPU_FEATURE("avx512vnni", "avx512vnni"),
    TCC_CPU_FEATURE("avx512bitalg", "avx512bitalg"),
    TCC_CPU_FEATURE("avx512vpopcntdq", "avx512vpopcntdq"),
    TCC_CPU_FEATURE("avx512bf16", "avx512bf16"),
    TCC_CPU_FEATURE("avx512fp16", "avx512fp16"),
    TCC_CPU_FEATURE("avxvnni", "avxvnni"),
    {"amx-tile", RequestAmx},
    {"amx-int8", RequestAmx},
    {"amx-bf16", RequestAmx},
#elif defined(__aarch64__)
    TCC_CPU_FEATURE("neon", AT_HWCAP, HWCAP_ASIMD),
    TCC_CPU_FEATURE("lse", AT_HWCAP, HWCAP_ATOMICS),
    TCC_CPU_FEATURE("rdm", AT_HWCAP, HWCAP_ASIMDRDM),
    TCC_CPU_FEATURE("dotprod", AT_HWCAP, HWCAP_ASIMDDP),
    TCC_CPU_FEATURE("fullfp16", AT_HWCAP, HWCAP_ASIMDHP),
    TCC_CPU_FEATURE("i8mm", AT_HWCAP2, HWCAP2_I8MM),
    TCC_CPU_FEATURE("bf16", AT_HWCAP2, HWCAP2_BF16),
    TCC_CPU_FEATURE("sve", AT_HWCAP, HWCAP_SVE),
#endif
};
#undef TCC_CPU_FEATURE

// Returns whether this process has SVE's vectors of that length.
bool HasSveLength([[maybe_unused]] int bits) {
#if defined(__aarch64__)
  const int found = ::prctl(PR_SVE_GET_VL);
  return found >= 0 && 8 * (found & PR_SVE_VL_LEN_MASK) == bits;
#else
  return false;
#endif
}

bool IsPresent(const std::string& name) {
  int bits = 0;  // "sve2" is another feature
  if (name.starts_with(kSveLength) && absl::SimpleAtoi(name.substr(kSveLength.size()), &bits) &&
      bits >= 128) {
    return HasSveLength(bits);
  }
  for (const FeatureRow& row : kFeatures) {
    if (row.name == name) return row.present();
  }
  return false;
}

}  // namespace

Status CheckCpuFeatures(std::span<const std::string> needed) {
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
  std::vector<std::string> missing;
  for (const std::string& name : needed) {
    if (!IsPresent(name)) missing.push_back(name);
  }
  if (missing.empty()) return OkStatus();
  return Missing(
      "the kernels need {}, which this CPU lacks or its system withholds; compile for this "
      "machine's target",
      fmt::join(missing, ", "));
}

std::string CpuModelName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

std::vector<std::string> RequiredCpuFeatures(const Target& target) {
  std::vector<std::string> features;
  if (target.kind != TargetKind::kCpu) return features;
  if (target.IsHostCpu()) {
    for (const FeatureRow& row : kFeatures) {
      if (row.present()) features.emplace_back(row.name);
    }
    return features;
  }
  features.assign(target.needed_features.begin(), target.needed_features.end());
  if (target.sve_bytes[0] > 0 && target.sve_bytes[0] == target.sve_bytes[1]) {
    features.push_back(fmt::format("{}{}", kSveLength, 8 * target.sve_bytes[0]));
  }
  return features;
}

}  // namespace tcc
