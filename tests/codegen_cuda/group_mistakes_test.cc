#include <catch2/catch.hpp>

#include "tests/codegen_cuda/kernels/group_kernels.h"

using namespace tcc;
using namespace tcc::test;

namespace {

constexpr Form kSmall = {GroupType::kF16, 16, kAlongK, kAlongK};

Twin Replaced(Twin twin, const std::string& piece, const std::string& by) {
  size_t at = twin.text.rfind(piece);
  INFO(piece);
  REQUIRE(at != std::string::npos);
  twin.text.replace(at, piece.size(), by);
  return twin;
}

// Runs the kernel with a mistake, which the emulator must name so.
void CheckFound(const Twin& twin, const std::string& named) {
  Status status = RunOnEmulator(twin).status();
  INFO("expected: " << named);
  REQUIRE_FALSE(status.ok());
  INFO(Message(status));
  CHECK(Message(status).find(named) != std::string::npos);
}

void CheckFoundInLoop(const std::string& piece, const std::string& by, const std::string& named) {
  INFO(piece << " -> " << by);
  CheckFound(Replaced(LoopTwin(), piece, by), named);
}

}  // namespace

TEST_CASE("another descriptor is another product, or is named", "[codegen_cuda][mma]") {
  struct Mistake {
    Form form;
    std::string piece, by;
  };
  const Mistake mistakes[] = {
      {{GroupType::kF16, 128, kAlongK, kTransposed}, "<1, 8192, 1024>(sb", "<1, 1024, 8192>(sb"},
      {{GroupType::kF16, 128, kAlongK, kTransposed}, "<1, 8192, 1024>(sb", "<2, 8192, 1024>(sb"},
      {{GroupType::kF16, 128, kAlongK, kTransposed}, "<128, false, true>", "<128, false, false>"},
      {{GroupType::kF16, 64, kTransposed, kTransposed}, "<64, true, true>", "<64, false, true>"},
      {{GroupType::kF16, 16, kAlongK, kAlongK}, "<1, 2048, 1024>(sb", "<1, 1024, 2048>(sb"},
      {{GroupType::kF16, 16, kAlongK, kAlongK}, "<1, 2048, 1024>(sb", "<0, 2048, 1024>(sb"},
      {{GroupType::kF16, 16, kAlongK, kAlongK}, "<1, 8192, 1024>(sa", "<2, 8192, 1024>(sa"},
      {{GroupType::kF16, 16, {2}, {2}}, "<2, 1024, 512>(sb", "<1, 1024, 512>(sb"},
      {{GroupType::kF16, 16, {2}, {2}}, "<2, 1024, 512>(sb", "<3, 1024, 512>(sb"},
      {{GroupType::kF16, 16, {3}, {3}}, "<3, 512, 256>(sb", "<2, 512, 256>(sb"},
      {{GroupType::kF16, 16, kAlongK, kAlongK}, "(sb, 32)", "(sb, 40)"},
      {{GroupType::kF16, 16, kAlongK, kAlongK}, "(sb, 32)", "(sb, 48)"},
      {{GroupType::kF16, 16, kAlongK, kAlongK}, "(sa, warp / 4 * 4096 + 0)", "(sa, 8)"},
  };
  for (const Mistake& mistake : mistakes) {
    const Twin twin = Replaced(TwinOf(mistake.form), mistake.piece, mistake.by);
    StatusOr<Tensor> got = RunOnEmulator(twin);
    INFO(mistake.piece << " -> " << mistake.by << " " << Message(got.status()));
    CHECK((!got.ok() || Difference(twin, *got) != ""));
  }
}

TEST_CASE("a matrix that no descriptor reaches is named", "[codegen_cuda][mma]") {
  const Twin twin = TwinOf(kSmall);
  CheckFound(Replaced(twin, "(sb, 16)", "(sb, 20)"), "sb[20] is misaligned");
  CheckFound(Replaced(twin, "(sb, 16)", "(sb, 64)"),
             "the matrix at sb[64] begins 128 bytes above a multiple of 1024");
  CheckFound(Replaced(twin, "2048, 1024>(sb, 16)", "2048, 2048>(sb, 16)"),
             "the matrix at sb[16] reaches byte");
}

TEST_CASE("operands that are not there for the product are named", "[codegen_cuda][mma]") {
  const Twin twin = TwinOf(kSmall);
  CheckFound(Replaced(twin, "tcc_proxy_fence();", ""), "without a proxy fence");
  CheckFound(Replaced(twin, "tcc_proxy_fence();\n  tcc_barrier();",
                      "tcc_barrier();\n  tcc_proxy_fence();"),
             "without a proxy fence");
  CheckFound(Replaced(twin, "tcc_proxy_fence();", "if (thread != 77) tcc_proxy_fence();"),
             "was written by thread 77 in line");
  CheckFound(Replaced(twin, "tcc_proxy_fence();\n  tcc_barrier();", "tcc_proxy_fence();"),
             "races with thread");
  CheckFound(Replaced(twin, "tcc_group_wait", "sb[thread] = b[0];\n  tcc_group_wait"),
             "races with a product of warp group 0, which read it in line");
  CheckFound(Replaced(twin, "tcc_group_wait",
                      "tcc_barrier();\n  sb[thread] = b[0];\n  tcc_proxy_fence();\n"
                      "  tcc_barrier();\n  tcc_group_wait"),
             "was overwritten before the wait for the product in line");
}

TEST_CASE("sums that are touched too early, or never handed out, are named",
          "[codegen_cuda][mma]") {
  const Twin twin = TwinOf(kSmall);
  CheckFound(Replaced(twin, "tcc_group_wait", "f[2].v[1] *= 2;\n  tcc_group_wait"),
             "f[2].v[1] was touched before the wait for the product in line");
  CheckFound(Replaced(twin, "  tcc_group_mma", "  f[1].v[0] = 0;\n  tcc_group_mma"),
             "f[1].v[0] was touched before the wait");
  CheckFound(Replaced(twin, "tcc_group_fence();", ""), "adds to f[1] without a tcc_group_fence()");
  const Twin again = Replaced(twin, "tcc_group_wait<0>(f);",
                              "tcc_group_wait<0>(f);\n" + ProductsOf(kSmall) +
                                  "  tcc_group_commit();\n  tcc_group_wait<0>(f);");
  CheckFound(again, "adds to f[1] without a tcc_group_fence()");
  CheckFound(Replaced(twin, "tcc_group_commit();", ""), "is not committed");
  CheckFound(Replaced(twin, "tcc_group_wait<0>(f);", ""), "is in flight: not waited for");
  CheckFound(Replaced(twin, "tcc_group_wait<0>(f);", "tcc_group_wait<1>(f);"),
             "is in flight: not waited for");
  CheckFound(Replaced(twin, "tcc_group_wait<0>(f);",
                      "TCC_FRAGMENTS(float, 4, g, 2);\n  tcc_group_wait<0>(g);"),
             "is named by no wait");
  CheckFound(Replaced(twin, "(f, 1, ", "(f, 0, "), "adds to a part of the sums f[1]");
  Twin early = Replaced(twin, "tcc_group_wait", "const float x = f[1].v[0];\n  tcc_group_wait");
  early = Replaced(early, "  tcc_group_wait<0>(f);", "  tcc_group_wait<0>(f);\n  f[1].v[0] = x;");
  StatusOr<Tensor> got = RunOnEmulator(early);
  REQUIRE(got.ok());
  CHECK(Difference(early, *got) != "");
}

TEST_CASE("a group that does not come whole to a product is named", "[codegen_cuda][mma]") {
  const Twin twin = TwinOf(kSmall);
  CheckFound(Replaced(twin, "  tcc_group_mma", "  if (thread != 40) tcc_group_mma"),
             "threads 40 to 40 at tcc_group_commit");
  CheckFound(Replaced(twin, "  tcc_group_mma", "  if (warp != 2) tcc_group_mma"),
             "at tcc_group_mma_f16 in line");
  CheckFound(Replaced(twin, "tcc_group_commit();", "if (lane != 3) tcc_group_commit();"),
             "all its threads take part");
  CheckFound(Replaced(twin, "(sb, 32)", "(sb, warp == 1 ? 0 : 32)"),
             "expected the same, with the same descriptors");
  Twin three = twin;
  three.kernel.launches[0].block[1] = 3;
  CheckFound(three, "by a group of 96 threads; expected four whole warps");
}

TEST_CASE("a stage that is reused too early, or copied too late, is named", "[codegen_cuda][mma]") {
  CheckFoundInLoop("tcc_async_wait<1>();", "tcc_async_wait<2>();", "not waited for");
  CheckFoundInLoop("tcc_proxy_fence();", "", "without a proxy fence");
  CheckFoundInLoop("tcc_group_wait<1>(sum);", "tcc_group_wait<2>(sum);", "sa[");
  CheckFoundInLoop("next % 4", "next % 3", "races with a product of warp group");
  CheckFoundInLoop("tcc_group_wait<0>(sum);", "", "is in flight: not waited for");
  CheckFoundInLoop("      tcc_barrier();\n", "", "races with");
}
