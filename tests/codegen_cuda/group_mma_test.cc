#include <catch2/catch.hpp>

#include "codegen_cuda/cubin/cubin.h"
#include "tests/codegen_cuda/kernels/group_kernels.h"
#include "tests/codegen_cuda/nvrtc_rig.h"

using namespace tcc;
using namespace tcc::test;

TEST_CASE("every group product is exact, also across the steps of a loop", "[codegen_cuda][mma]") {
  std::vector<Twin> twins = GroupTwins();
  // Values that tf32 cuts off, s8 wraps and f16 knows; the loop.
  CHECK(twins.size() == GroupForms().size() + 4);
  for (const Twin& twin : twins) {
    StatusOr<Tensor> got = RunOnEmulator(twin);
    INFO(twin.name << ": " << Message(got.status()));
    REQUIRE(got.ok());
    CHECK(Difference(twin, *got) == "");
  }
}

TEST_CASE("only some numbers of columns have a group product", "[codegen_cuda][mma]") {
  for (int columns : {8, 24, 32, 40, 128, 248, 256})
    CHECK(IsGroupColumns(GroupType::kF16, columns));
  for (int columns : {0, 4, 12, 264}) CHECK_FALSE(IsGroupColumns(GroupType::kTf32, columns));
  for (int columns : {8, 16, 24, 32, 48, 240, 256}) CHECK(IsGroupColumns(GroupType::kS8, columns));
  for (int columns : {0, 40, 56, 248}) CHECK_FALSE(IsGroupColumns(GroupType::kS8, columns));
}

TEST_CASE("group products compile to their instructions, without spills and warnings",
          "[codegen_cuda][nvrtc][mma]") {
  if (!FindNvrtc()) return;
  StatusOr<Cubin> cubin = CompileOnce(TextOf(GroupForms()), "sm_90a");
  INFO(Message(cubin.status()));
  REQUIRE(cubin.ok());
  for (const KernelResources& resources : cubin->kernels) {
    INFO(resources.kernel);
    CHECK(resources.spill_stores == 0);
    CHECK(resources.warning == "");
  }
  const std::vector<CubinKernel> kernels = ReadCubin(cubin->image, 90).value();
  for (const CubinKernel& kernel : kernels) {
    const Form& form = GroupForms()[std::stoi(kernel.name.substr(1))];
    const SassCounts& all = kernel.facts.all;
    INFO(kernel.name);
    CHECK(all.of(SassKind::kHgmma) == (form.type == GroupType::kS8 ? 0 : 4));
    CHECK(all.of(SassKind::kIgmma) == (form.type == GroupType::kS8 ? 4 : 0));
    CHECK(all.of_bf16 == (form.type == GroupType::kBF16 ? 4 : 0));
    CHECK(all.of_tf32 == (form.type == GroupType::kTf32 ? 4 : 0));
    CHECK(kernel.local_bytes == 0);
  }
}

TEST_CASE("a loop with products in flight compiles to four instructions that ptxas leaves apart",
          "[codegen_cuda][nvrtc][mma]") {
  if (!FindNvrtc()) return;
  StatusOr<Cubin> cubin = CompileOnce(LoopTwin().text, "sm_90a");
  INFO(Message(cubin.status()));
  REQUIRE(cubin.ok());
  CHECK(cubin->kernels[0].spill_stores == 0);
  CHECK(cubin->kernels[0].registers <= 128);
  CHECK(cubin->kernels[0].warning == "");
  CHECK(cubin->log.find("C75") == std::string::npos);
  const SassFacts facts = ReadCubin(cubin->image, 90).value()[0].facts;
  CHECK(facts.main_loop.of(SassKind::kHgmma) == 4);
  CHECK(facts.main_loop.of(SassKind::kLdgsts) == 8);
  CHECK(facts.main_loop.of(SassKind::kBar) == 1);
}
