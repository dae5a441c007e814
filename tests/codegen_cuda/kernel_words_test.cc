#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <regex>
#include <string>
#include <vector>

#include "codegen_cuda/text/prelude.h"
#include "tests/codegen_cuda/nvrtc_rig.h"
#include "tests/programs/product_function.h"

using namespace tcc;
using namespace tcc::test;

namespace {

// What hardware does by PTX, in the words of the prelude.
constexpr const char* kWordsOfPtx[] = {"tcc_mma_m16n8k16_f16",
                                       "tcc_mma_m16n8k16_bf16",
                                       "tcc_mma_m16n8k8_f16",
                                       "tcc_mma_m16n8k32_s8",
                                       "tcc_mma_m8n8k16_s8",
                                       "tcc_load_matrix<",
                                       "tcc_load_matrix_transposed<",
                                       "tcc_async_copy<",
                                       "tcc_async_commit(",
                                       "tcc_async_wait<",
                                       "tcc_group_mma_f16<",
                                       "tcc_group_mma_bf16<",
                                       "tcc_group_mma_s8<",
                                       "tcc_matrix<",
                                       "tcc_group_fence(",
                                       "tcc_group_commit(",
                                       "tcc_group_wait<",
                                       "tcc_proxy_fence("};

const ProductShape kProducts[] = {
    {.rows = 512, .columns = 512, .depth = 256},
    {.rows = 197, .columns = 768, .depth = 768, .type = "bf16", .b = "j, k"},
    {.rows = 256,
     .columns = 384,
     .depth = 512,
     .type = "i8",
     .sum = "i32",
     .b = "j, k",
     .rounded = false},
    {.rows = 512, .columns = 256, .depth = 512, .type = "f32", .tf32 = "tf32"},
    {.rows = 512, .columns = 256, .depth = 512, .type = "f32", .tf32 = "3xtf32"},
    {.rows = 512, .columns = 256, .depth = 512, .type = "f32", .rounded = false},
};

// The kernels of the target: products on tensor cores and on plain units, a network.
std::string KernelsFor(const std::string& target) {
  std::string text = KernelsOf(SourceOf(KernelsOfNetwork("dqn", target), target));
  for (const ProductShape& shape : kProducts) {
    if (target == "sm_75" && (shape.type == "bf16" || !shape.tf32.empty())) continue;
    text += KernelsOf(SourceOf(LoweredSketches(ProductFunction(shape), target), target));
  }
  // The products of groups in front of the kernels, of just the sizes that they use.
  static const std::regex definition(
      R"(#if defined\(__CUDA_ARCH_FEAT_SM90_ALL\)[^#]*#[^#]*#endif\n)");
  return std::regex_replace(text, definition, "");
}

}  // namespace

TEST_CASE("no kernel holds asm: all PTX stands in the prelude and in groups' products",
          "[codegen_cuda]") {
  std::string all;
  for (const std::string& target : GpuTargets()) {
    INFO(target);
    const std::string text = KernelsFor(target);
    CHECK(text.find("asm") == std::string::npos);
    CHECK(text.find("KERNEL(") != std::string::npos);
    all += text;
  }
  for (const char* word : kWordsOfPtx) {
    INFO(word);
    CHECK(all.find(word) != std::string::npos);
  }
  CHECK(CudaPrelude().find("asm") != std::string::npos);
}
