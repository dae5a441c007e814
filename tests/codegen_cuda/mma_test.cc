#include <catch2/catch.hpp>

#include "codegen_cuda/nvrtc/nvrtc.h"
#include "tests/codegen_cuda/kernels/mma_kernels.h"
#include "tests/codegen_cuda/nvrtc_rig.h"

using namespace tcc;
using namespace tcc::test;

namespace {

Twin Replaced(Twin twin, const std::string& piece, const std::string& by) {
  size_t at = twin.text.rfind(piece);
  REQUIRE(at != std::string::npos);
  twin.text.replace(at, piece.size(), by);
  return twin;
}

void CheckRight(const Twin& twin) {
  StatusOr<Tensor> got = RunOnEmulator(twin);
  INFO(twin.name << ": " << Message(got.status()));
  REQUIRE(got.ok());
  CHECK(Difference(twin, *got) == "");
}

void CheckWrong(const Twin& twin) {
  StatusOr<Tensor> got = RunOnEmulator(twin);
  INFO(Message(got.status()));
  REQUIRE(got.ok());
  CHECK(Difference(twin, *got) != "");
}

void CheckNamed(const Twin& twin, const std::string& named) {
  Status status = RunOnEmulator(twin).status();
  REQUIRE_FALSE(status.ok());
  INFO(Message(status));
  CHECK(Message(status).find(named) != std::string::npos);
}

}  // namespace

TEST_CASE("every mma gives the exact product, loaded by ldmatrix", "[codegen_cuda][mma]") {
  std::vector<Twin> twins = MmaTwins();
  // A transposed B as well where types have 16 bits; rounding, two remainders, three of extremes.
  CHECK(twins.size() == Mmas().size() + 3 + 6);
  for (const Twin& twin : twins) CheckRight(twin);
}

TEST_CASE("a fragment of another lane, row or register gives another product",
          "[codegen_cuda][mma]") {
  for (const Mma& mma : Mmas()) {
    INFO(mma.name);
    const Twin twin = TwinOf(mma);
    std::string first = fmt::format("(sa, lane % {}", mma.rows);
    CheckWrong(Replaced(twin, first, fmt::format("(sa, (lane ^ 1) % {}", mma.rows)));
    CheckWrong(Replaced(twin, "(sb, lane % 8", "(sb, (lane + 1) % 8"));
    CheckWrong(Replaced(twin, "lane % 4 * 2 + i % 2] = fc", "lane % 4 * 2 + 1 - i % 2] = fc"));
    if (mma.rows == 8) continue;
    CheckWrong(Replaced(twin, "fc = tcc_mma", "fa.v[0] = fa.v[1];\n  fc = tcc_mma"));
  }
}

TEST_CASE("a row for ldmatrix that is not aligned to 16 bytes is named", "[codegen_cuda][mma]") {
  CheckNamed(Replaced(TwinOf(Mmas()[0]), "(sb, lane % 8 * 16", "(sb, lane % 8 * 4"),
             "sb[4] is misaligned");
}

TEST_CASE("an mma that some lanes skip is named", "[codegen_cuda][mma]") {
  CheckNamed(Replaced(TwinOf(Mmas()[0]), "fc = tcc_mma", "if (lane > 3) fc = tcc_mma"),
             "tcc_mma_m16n8k16_f16");
}

TEST_CASE("every mma compiles for the GPUs that have it", "[codegen_cuda][nvrtc][mma]") {
  const Nvrtc* nvrtc = FindNvrtc();
  if (!nvrtc) return;
  for (const std::string& target : GpuTargets()) {
    int sm = GpuTarget(target).sm;
    for (const Mma& mma : Mmas()) {
      if (sm < mma.sm) continue;
      for (Order order : {Order::kColumns, Order::kRows}) {
        if (order == Order::kRows && mma.dtype.bytes() != 2) continue;
        INFO(mma.name << " " << target);
        std::string text = TwinOf(mma, order).text;
        StatusOr<Cubin> cubin = CompileOnce(text, target);
        INFO(Message(cubin.status()));
        REQUIRE(cubin.ok());
        CHECK(cubin->kernels[0].spill_stores == 0);
        std::string ptx = nvrtc->CompileToPtx(text, sm).value_or("");
        CHECK(ptx.find("mma.sync") != std::string::npos);
        CHECK(ptx.find("ldmatrix") != std::string::npos);
      }
    }
  }
}
