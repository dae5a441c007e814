#include <catch2/catch.hpp>
#include <limits>

#include "codegen_cuda/cubin/cubin.h"
#include "support/dtype.h"
#include "tests/codegen_cuda/group_kernels.h"
#include "tests/codegen_cuda/nvrtc_rig.h"

using namespace tcc;
using namespace tcc::test;

namespace {

const Form kForms[] = {
    {GroupType::kF16, 128, {1}, {1}},
    {GroupType::kF16, 24, {2}, {2}},
    {GroupType::kF16, 8, {3}, {3}},
    {GroupType::kF16, 16, {0}, {0}},
    {GroupType::kF16, 256, {1}, {1}, 2},
    {GroupType::kF16, 128, {1}, {1, true}, 2},
    {GroupType::kF16, 256, {2}, {1}},
    {GroupType::kF16, 24, {2}, {1, true}},
    {GroupType::kF16, 8, {1, true}, {1}},
    {GroupType::kF16, 64, {2, true}, {2, true}, 2},
    {GroupType::kF16, 40, {3, true}, {3, true}},
    {GroupType::kF16, 32, {0, true}, {0, true}},
    {GroupType::kBF16, 128, {1}, {1}},
    {GroupType::kBF16, 24, {2}, {3}},
    {GroupType::kBF16, 256, {1, true}, {1, true}, 2},
    {GroupType::kBF16, 8, {3}, {2, true}},
    {GroupType::kTf32, 128, {1}, {1}, 2},
    {GroupType::kTf32, 24, {2}, {2}},
    {GroupType::kTf32, 8, {3}, {3}},
    {GroupType::kTf32, 256, {1}, {2}},
    {GroupType::kS8, 128, {1}, {1}, 2},
    {GroupType::kS8, 24, {2}, {2}},
    {GroupType::kS8, 8, {3}, {3}},
    {GroupType::kS8, 256, {2}, {1}},
};

}  // namespace

TEST_CASE("every group product is the exact product of small integers", "[codegen_cuda][mma]") {
  const std::string text = TextOf(kForms);
  for (size_t i = 0; i < std::size(kForms); ++i) {
    const Form& form = kForms[i];
    std::vector<Tensor> operands = OperandsOf(form);
    Status status = RunOnEmulator(text, LaunchOf(form, fmt::format("k{}", i)), operands);
    INFO(Name(form.type) << " " << form.columns << ", modes " << form.a.mode << " " << form.b.mode
                         << ", k" << i << " " << Message(status));
    CHECK(status.ok());
    CHECK(IsRight(form, operands));
  }
}

TEST_CASE("group products cut off tf32, wrap in s8 and know all of f16", "[codegen_cuda][mma]") {
  const Form tf32 = {GroupType::kTf32, 8, kAlongK, kAlongK};
  std::vector<Tensor> operands = OperandsOf(tf32);
  for (int64_t i = 0; i < operands[0].shape[0]; ++i) SetElement(operands[0], i, 2 - 0x1p-11);
  for (int64_t i = 0; i < operands[1].shape[0]; ++i) SetElement(operands[1], i, -(1 + 0x1p-11));
  for (int64_t i = 0; i < operands[2].shape[0]; ++i) SetElement(operands[2], i, 0);
  REQUIRE(RunOnEmulator(TextOf(tf32), LaunchOf(tf32), operands).ok());
  CHECK(ElementAsDouble(operands[3], 511) == -32 * (2 - 0x1p-10));

  const Form s8 = {GroupType::kS8, 8, kAlongK, kAlongK};
  operands = OperandsOf(s8);
  for (int64_t i = 0; i < operands[0].shape[0]; ++i) SetElementInt(operands[0], i, -128);
  for (int64_t i = 0; i < operands[1].shape[0]; ++i) SetElementInt(operands[1], i, -128);
  SetElementInt(operands[2], 0, std::numeric_limits<int32_t>::max());
  REQUIRE(RunOnEmulator(TextOf(s8), LaunchOf(s8), operands).ok());
  CHECK(ElementAsDouble(operands[3], 0) == -0x1p31 - 1 + 128 * 16384);

  const Form f16 = {GroupType::kF16, 8, kAlongK, kAlongK};
  const double values[] = {0x1p-24, 3 * 0x1p-20, 0x1p-14, 65504, -1.5, INFINITY, -INFINITY, NAN};
  operands = OperandsOf(f16);
  for (int64_t i = 0; i < operands[0].shape[0]; ++i) {
    SetElement(operands[0], i, i % 64 == 0 ? values[i / 64 % 8] : 0);
  }
  for (int64_t i = 0; i < operands[1].shape[0]; ++i) SetElement(operands[1], i, 2);
  for (int64_t i = 0; i < operands[2].shape[0]; ++i) SetElement(operands[2], i, 0);
  REQUIRE(RunOnEmulator(TextOf(f16), LaunchOf(f16), operands).ok());
  for (int row = 0; row < 8; ++row) {
    double got = ElementAsDouble(operands[3], row * 8);
    INFO(values[row] << " * 2 gives " << got);
    CHECK((values[row] != values[row] ? got != got : got == 2 * values[row]));
  }
}

TEST_CASE("a loop with products in flight across its steps is right", "[codegen_cuda][mma]") {
  std::vector<Tensor> operands = LoopOperands();
  Status status = RunLoop(LoopText(), operands);
  INFO(Message(status));
  REQUIRE(status.ok());
  int wrong = 0;
  for (int row = 0; row < 128; ++row) {
    for (int column = 0; column < 128; ++column) {
      double sum = 0;
      for (int k = 0; k < 64 * kLoopSteps; ++k) {
        sum += ElementAsDouble(operands[0], row * 64 * kLoopSteps + k) *
               ElementAsDouble(operands[1], k * 128 + column);
      }
      wrong += ElementAsDouble(operands[2], row * 128 + column) == sum ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
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
  StatusOr<Cubin> cubin = CompileOnce(TextOf(kForms), "sm_90a");
  INFO(Message(cubin.status()));
  REQUIRE(cubin.ok());
  for (const KernelResources& resources : cubin->kernels) {
    INFO(resources.kernel);
    CHECK(resources.spill_stores == 0);
    CHECK(resources.warning == "");
  }
  const std::vector<CubinKernel> kernels = ReadCubin(cubin->image, 90).value();
  for (const CubinKernel& kernel : kernels) {
    const Form& form = kForms[std::stoi(kernel.name.substr(1))];
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
  StatusOr<Cubin> cubin = CompileOnce(LoopText(), "sm_90a");
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
