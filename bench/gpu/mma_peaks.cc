#include "bench/gpu/mma_peaks.h"

#include <fmt/ranges.h>

#include <initializer_list>
#include <utility>

#include "support/check.h"
#include "support/target_api.h"

namespace tcc {
namespace {

// A row of 8 columns; words of the fragments of A, B and C that a lane holds.
struct MmaRow {
  std::string_view type;
  int first_sm, last_sm;
  std::string_view function;
  int rows, depth;
  std::string_view a_words, b_words, sums, sum_type;
  // Bits that every word has, and those that are random: numbers of a small range and of either
  // sign, whose sums stay finite, for multiplying zeros takes less power (gpu_perf, section 1).
  std::string_view fixed_bits, random_bits;
};

// clang-format off
constexpr MmaRow kRows[] = {
    {"f16", 75, 75, "tcc_mma_m16n8k8_f16", 16, 8, "2", "1", "4", "float", "0x2c002c00u", "0x83ff83ffu"},
    {"f16", 80, 90, "tcc_mma_m16n8k16_f16", 16, 16, "4", "2", "4", "float", "0x2c002c00u", "0x83ff83ffu"},
    {"bf16", 80, 90, "tcc_mma_m16n8k16_bf16", 16, 16, "4", "2", "4", "float", "0x3d803d80u", "0x807f807fu"},
    {"tf32", 80, 90, "tcc_mma_rounded_tf32", 16, 8, "4", "2", "4", "float", "0x3d800000u", "0x807fe000u"},
    {"s8", 75, 75, "tcc_mma_m8n8k16_s8", 8, 16, "1", "1", "2", "int", "0u", "0x0f0f0f0fu"},
    {"s8", 80, 90, "tcc_mma_m16n8k32_s8", 16, 32, "4", "2", "4", "int", "0u", "0x0f0f0f0fu"},
};
// clang-format on

// Four chains of dependent products a warp, 32 warps a multiprocessor: more than their latency of
// some 33 cycles asks for. The chains begin unlike, or they would be one.
constexpr std::string_view kText = R"(
TCC_KERNEL(bench_mma_@type, 256)(TCC_OUTPUT(float, y), TCC_SHAPE(steps)) {
  TccVector<unsigned, @a> a;
  TccVector<unsigned, @b> b;
  unsigned bits = (unsigned)(tcc_block_x() * 256 + tcc_thread_x()) * 2654435761u;
  for (int i = 0; i < @a; ++i) {
    bits = bits * 1664525u + 1013904223u;
    a.v[i] = @fixed | ((bits ^ bits >> 13) & @random);
  }
  for (int i = 0; i < @b; ++i) {
    bits = bits * 1664525u + 1013904223u;
    b.v[i] = @fixed | ((bits ^ bits >> 13) & @random);
  }
  TccVector<@sum, @c> c, d, e, f;
  for (int i = 0; i < @c; ++i) {
    c.v[i] = (@sum)tcc_thread_x();
    d.v[i] = c.v[i] + 1;
    e.v[i] = c.v[i] + 2;
    f.v[i] = c.v[i] + 3;
  }
#pragma unroll 1
  for (int step = 0; step < (int)steps; ++step) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      c = @mma(a, b, c);
      d = @mma(a, b, d);
      e = @mma(a, b, e);
      f = @mma(a, b, f);
    }
  }
  float total = 0;
  for (int i = 0; i < @c; ++i) total += (float)(c.v[i] + d.v[i] + e.v[i] + f.v[i]);
  y[tcc_block_x() * 256 + tcc_thread_x()] = total;
}
TCC_END_KERNEL(bench_mma_@type)
)";
constexpr int kProductsOfStep = 16;

// Returns kText with each name replaced by its value.
std::string Filled(std::initializer_list<std::pair<std::string_view, std::string_view>> names) {
  std::string text(kText);
  for (const auto& [name, value] : names) {
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
      text.replace(at, name.size(), value);
    }
  }
  return text;
}

std::vector<MmaRow> RowsOf(const Target& target) {
  std::vector<MmaRow> rows;
  for (const MmaRow& row : kRows) {
    bool has = IsCuda(target) && row.first_sm <= target.sm;
    if (has && target.sm <= row.last_sm) rows.push_back(row);
  }
  return rows;
}

bool HasMode(const Target& target, NumericMode mode) {
  std::string_view type = MmaOf(mode).type;
  for (const MmaRow& row : RowsOf(target)) {
    if (row.type == type) return true;
  }
  return mode == NumericMode::kStrict;
}

}  // namespace

std::vector<MmaPeakKernel> MmaPeakKernels(const Target& target) {
  std::vector<MmaPeakKernel> kernels;
  for (const MmaRow& row : RowsOf(target)) {
    kernels.push_back({row.type, fmt::format("bench_mma_{}", row.type),
                       2.0 * row.rows * 8 * row.depth * kProductsOfStep});
  }
  return kernels;
}

std::string MmaPeakText(const Target& target) {
  std::string text;
  for (const MmaRow& row : RowsOf(target)) {
    text += Filled({{"@type", row.type},
                    {"@a", row.a_words},
                    {"@b", row.b_words},
                    {"@c", row.sums},
                    {"@sum", row.sum_type},
                    {"@mma", row.function},
                    {"@fixed", row.fixed_bits},
                    {"@random", row.random_bits}});
  }
  return text;
}

MmaOfMode MmaOf(NumericMode mode) {
  switch (mode) {
    case NumericMode::kStrict:
      return {""};
    case NumericMode::k3xTf32:
      return {"tf32", 3};
    case NumericMode::kTf32:
      return {"tf32"};
    case NumericMode::kBf16:
      return {"bf16"};
    case NumericMode::kFp16:
      return {"f16"};
  }
  TCC_UNREACHABLE();
}

Status ExpectMode(const Target& target, NumericMode mode) {
  if (target.kind != TargetKind::kGpu || HasMode(target, mode)) return OkStatus();
  std::vector<std::string_view> known;
  for (const NumericModeRow& row : NumericModes()) {
    if (HasMode(target, row.mode)) known.push_back(row.name);
  }
  return UsageError("--numeric {}: {} has no tensor cores for it; it has {}", RowOf(mode).name,
                    target.name, fmt::join(known, ", "));
}

}  // namespace tcc
