#include "bench/cpu/kernel_suite.h"

#include <fmt/format.h>

#include "ir/text/parser.h"
#include "support/check.h"

namespace tcc {
namespace {

using K = KernelKind;

constexpr BenchKernel kTraces[] = {
    {"gemm_1024x1024x1024", K::kGemm, 1024, 1024, 1024},
    {"gemm_196x768x768", K::kGemm, 196, 768, 768},
    {"gemm_49x512x2048", K::kGemm, 49, 512, 2048},
    {"conv3x3_64_56", K::kConvolution, 0, 0, 0, 56, 64, 64, 3},
    {"conv3x3_256_14", K::kConvolution, 0, 0, 0, 14, 256, 256, 3},
    {"conv1x1_256_64_56", K::kConvolution, 0, 0, 0, 56, 256, 64, 1},
    {"depthwise3x3_144_56", K::kDepthwise, 0, 0, 0, 56, 144, 144, 3},
    {"softmax_2364x197", K::kSoftmax, 2364, 197},
};

// Shapes of networks: ResNet-50, ViT, BERT, LLaMA; MobileNet-v2 (reference: cpu_perf, 3 and 4).
constexpr BenchKernel kGemms[] = {
    {"gemm_256x256x256", K::kGemm, 256, 256, 256},
    {"gemm_512x512x512", K::kGemm, 512, 512, 512},
    {"gemm_3136x64x64", K::kGemm, 3136, 64, 64},
    {"gemm_784x128x512", K::kGemm, 784, 128, 512},
    {"gemm_197x768x768", K::kGemm, 197, 768, 768},
    {"gemm_196x3072x768", K::kGemm, 196, 3072, 768},
    {"gemm_196x768x3072", K::kGemm, 196, 768, 3072},
    {"gemm_128x768x3072", K::kGemm, 128, 768, 3072},
    {"gemm_100x4096x4096", K::kGemm, 100, 4096, 4096},
    {"gemm_512x512x4096", K::kGemm, 512, 512, 4096},
};
constexpr BenchKernel kConvolutions[] = {
    {"conv1x1_64_256_56", K::kConvolution, 0, 0, 0, 56, 64, 256, 1},
    {"conv3x3_128_28", K::kConvolution, 0, 0, 0, 28, 128, 128, 3},
    {"conv3x3_512_7", K::kConvolution, 0, 0, 0, 7, 512, 512, 3},
    {"conv1x1_2048_512_7", K::kConvolution, 0, 0, 0, 7, 2048, 512, 1},
    {"conv1x1_16_96_112", K::kConvolution, 0, 0, 0, 112, 16, 96, 1},
    {"conv1x1_96_24_56", K::kConvolution, 0, 0, 0, 56, 96, 24, 1},
    {"conv1x1_24_144_56", K::kConvolution, 0, 0, 0, 56, 24, 144, 1},
    {"conv1x1_144_24_56", K::kConvolution, 0, 0, 0, 56, 144, 24, 1},
    {"conv1x1_96_576_14", K::kConvolution, 0, 0, 0, 14, 96, 576, 1},
    {"conv1x1_576_96_14", K::kConvolution, 0, 0, 0, 14, 576, 96, 1},
    {"conv1x1_160_960_7", K::kConvolution, 0, 0, 0, 7, 160, 960, 1},
    {"conv1x1_320_1280_7", K::kConvolution, 0, 0, 0, 7, 320, 1280, 1},
};
constexpr BenchKernel kDepthwise[] = {
    {"depthwise3x3_32_112", K::kDepthwise, 0, 0, 0, 112, 32, 32, 3},
    {"depthwise3x3_192_28", K::kDepthwise, 0, 0, 0, 28, 192, 192, 3},
    {"depthwise3x3_384_14", K::kDepthwise, 0, 0, 0, 14, 384, 384, 3},
    {"depthwise3x3_576_14", K::kDepthwise, 0, 0, 0, 14, 576, 576, 3},
    {"depthwise3x3_960_7", K::kDepthwise, 0, 0, 0, 7, 960, 960, 3},
};
constexpr BenchKernel kSoftmax[] = {
    {"softmax_1536x128", K::kSoftmax, 1536, 128},
    {"softmax_3200x100", K::kSoftmax, 3200, 100},
};

struct SuiteRow {
  std::string_view name;
  std::span<const BenchKernel> kernels;
};

constexpr SuiteRow kSuites[] = {
    {"traces", kTraces},       {"gemm", kGemms},      {"conv", kConvolutions},
    {"depthwise", kDepthwise}, {"softmax", kSoftmax},
};

std::string GemmText(const BenchKernel& kernel) {
  return fmt::format(R"(
fn gemm(A: f32[{0}, {2}], B: f32[{2}, {1}] constant, C: f32[{0}, {1}]) tensor {{
  for i in 0..{0} @mm/i {{ for j in 0..{1} @mm/j {{ for k in 0..{2} @mm/k {{
    block mm(i: spatial {0} = i, j: spatial {1} = j, k: reduce {2} = k) {{
      reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j])
    }}
  }} }} }}
}})",
                     kernel.rows, kernel.columns, kernel.depth);
}

std::string Inside(int64_t side, int64_t taps) {
  if (taps == 1) return "";
  return fmt::format("where ({1} <= y + ky && y + ky < {0} && {1} <= x + kx && x + kx < {0}) ",
                     side + taps / 2, taps / 2);
}

std::string ConvolutionText(const BenchKernel& kernel) {
  return fmt::format(R"(
fn conv(X: f32[{0}, {0}, {1}], W: f32[{3}, {3}, {1}, {2}] constant, Y: f32[{0}, {0}, {2}]) tensor {{
  for y in 0..{0} @conv/y {{ for x in 0..{0} @conv/x {{ for o in 0..{2} @conv/o {{
    for ky in 0..{3} @conv/ky {{ for kx in 0..{3} @conv/kx {{ for c in 0..{1} @conv/c {{
      block conv(y: spatial {0} = y, x: spatial {0} = x, o: spatial {2} = o,
                 ky: reduce {3} = ky, kx: reduce {3} = kx, c: reduce {1} = c) {5}{{
        reduce sum_f32 init (Y[y, x, o])
            with (X[y + ky - {4}, x + kx - {4}, c] * W[ky, kx, c, o])
      }}
    }} }} }}
  }} }} }}
}})",
                     kernel.side, kernel.in, kernel.out, kernel.taps, kernel.taps / 2,
                     Inside(kernel.side, kernel.taps));
}

std::string DepthwiseText(const BenchKernel& kernel) {
  return fmt::format(R"(
fn depthwise(X: f32[{0}, {0}, {1}], W: f32[{2}, {2}, {1}] constant, Y: f32[{0}, {0}, {1}]) tensor {{
  for y in 0..{0} @dw/y {{ for x in 0..{0} @dw/x {{ for c in 0..{1} @dw/c {{
    for ky in 0..{2} @dw/ky {{ for kx in 0..{2} @dw/kx {{
      block dw(y: spatial {0} = y, x: spatial {0} = x, c: spatial {1} = c,
               ky: reduce {2} = ky, kx: reduce {2} = kx) {4}{{
        reduce sum_f32 init (Y[y, x, c]) with (X[y + ky - {3}, x + kx - {3}, c] * W[ky, kx, c])
      }}
    }} }}
  }} }} }}
}})",
                     kernel.side, kernel.in, kernel.taps, kernel.taps / 2,
                     Inside(kernel.side, kernel.taps));
}

std::string SoftmaxText(const BenchKernel& kernel) {
  return fmt::format(R"(
fn softmax(X: f32[{0}, {1}], Y: f32[{0}, {1}]) tensor {{
  alloc M: f32[{0}]
  alloc E: f32[{0}, {1}]
  alloc S: f32[{0}]
  for i in 0..{0} @max/i {{ for j in 0..{1} @max/j {{
    block max(i: spatial {0} = i, j: reduce {1} = j) {{
      reduce max_f32 init (M[i]) with (X[i, j])
    }}
  }} }}
  for i in 0..{0} @exp/i {{ for j in 0..{1} @exp/j {{
    block exp(i: spatial {0} = i, j: spatial {1} = j) {{ E[i, j] = exp(X[i, j] - M[i]) }}
  }} }}
  for i in 0..{0} @sum/i {{ for j in 0..{1} @sum/j {{
    block sum(i: spatial {0} = i, j: reduce {1} = j) {{
      reduce sum_f32 init (S[i]) with (E[i, j])
    }}
  }} }}
  for i in 0..{0} @out/i {{ for j in 0..{1} @out/j {{
    block out(i: spatial {0} = i, j: spatial {1} = j) {{ Y[i, j] = E[i, j] / S[i] }}
  }} }}
}})",
                     kernel.rows, kernel.columns);
}

std::string TextOf(const BenchKernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::kGemm:
      return GemmText(kernel);
    case KernelKind::kConvolution:
      return ConvolutionText(kernel);
    case KernelKind::kDepthwise:
      return DepthwiseText(kernel);
    case KernelKind::kSoftmax:
      return SoftmaxText(kernel);
  }
  return {};
}

}  // namespace

std::span<const BenchKernel> KernelSuite(std::string_view name) {
  for (const SuiteRow& row : kSuites) {
    if (row.name == name) return row.kernels;
  }
  return {};
}

std::string_view KernelSuiteNames() {
  return "traces, gemm, conv, depthwise, softmax";
}

StatusOr<std::vector<BenchKernel>> KernelsNamed(std::span<const std::string> names) {
  std::vector<BenchKernel> kernels;
  for (const std::string& name : names) {
    const BenchKernel* found = nullptr;
    for (const SuiteRow& suite : kSuites) {
      for (const BenchKernel& kernel : suite.kernels) {
        if (kernel.name == name) found = &kernel;
      }
    }
    if (!found) {
      return UsageError("kernel '{}': expected one of the suites {}", name, KernelSuiteNames());
    }
    kernels.push_back(*found);
  }
  return kernels;
}

Function TensorFunction(const BenchKernel& kernel) {
  StatusOr<Function> fn = ParseFunction(TextOf(kernel));
  TCC_CHECK(fn.ok()) << Message(fn.status());
  fn->name = kernel.name;
  return *std::move(fn);
}

int64_t TermsOf(const BenchKernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::kGemm:
      return kernel.depth;
    case KernelKind::kConvolution:
      return kernel.taps * kernel.taps * kernel.in;
    case KernelKind::kDepthwise:
      return kernel.taps * kernel.taps;
    case KernelKind::kSoftmax:
      return kernel.columns;
  }
  return 1;
}

double NominalFlops(const BenchKernel& kernel) {
  double terms = static_cast<double>(TermsOf(kernel));
  switch (kernel.kind) {
    case KernelKind::kGemm:
      return 2.0 * static_cast<double>(kernel.rows * kernel.columns) * terms;
    case KernelKind::kConvolution:
    case KernelKind::kDepthwise:
      return 2.0 * static_cast<double>(kernel.side * kernel.side * kernel.out) * terms;
    case KernelKind::kSoftmax:
      return 0;
  }
  return 0;
}

}  // namespace tcc
