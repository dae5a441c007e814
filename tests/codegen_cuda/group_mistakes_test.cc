#include <catch2/catch.hpp>

#include "support/dtype.h"
#include "tests/codegen_cuda/group_kernels.h"

using namespace tcc;
using namespace tcc::test;

namespace {

constexpr Form kSmall = {GroupType::kF16, 16, kAlongK, kAlongK};

std::string Replaced(std::string text, const std::string& piece, const std::string& by) {
  size_t at = text.rfind(piece);
  INFO(piece);
  REQUIRE(at != std::string::npos);
  return text.replace(at, piece.size(), by);
}

// Runs the kernel with a mistake, which the emulator must name so.
void CheckFound(const Form& form, const std::string& text, const std::string& named) {
  std::vector<Tensor> operands = OperandsOf(form);
  Status status = RunOnEmulator(text, LaunchOf(form), operands);
  INFO("expected: " << named);
  REQUIRE_FALSE(status.ok());
  INFO(Message(status));
  CHECK(Message(status).find(named) != std::string::npos);
}

void CheckFoundInLoop(const std::string& piece, const std::string& by, const std::string& named) {
  std::vector<Tensor> operands = LoopOperands();
  Status status = RunLoop(Replaced(LoopText(), piece, by), operands);
  INFO(piece << " -> " << by << ", expected: " << named);
  REQUIRE_FALSE(status.ok());
  INFO(Message(status));
  CHECK(Message(status).find(named) != std::string::npos);
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
    std::vector<Tensor> operands = OperandsOf(mistake.form);
    Status status = RunOnEmulator(Replaced(TextOf(mistake.form), mistake.piece, mistake.by),
                                  LaunchOf(mistake.form), operands);
    INFO(mistake.piece << " -> " << mistake.by << " " << Message(status));
    CHECK_FALSE((status.ok() && IsRight(mistake.form, operands)));
  }
}

TEST_CASE("a matrix that no descriptor reaches is named", "[codegen_cuda][mma]") {
  const std::string text = TextOf(kSmall);
  CheckFound(kSmall, Replaced(text, "(sb, 16)", "(sb, 20)"), "sb[20] is misaligned");
  CheckFound(kSmall, Replaced(text, "(sb, 16)", "(sb, 64)"),
             "the matrix at sb[64] begins 128 bytes above a multiple of 1024");
  CheckFound(kSmall, Replaced(text, "2048, 1024>(sb, 16)", "2048, 2048>(sb, 16)"),
             "the matrix at sb[16] reaches byte");
}

TEST_CASE("operands that are not there for the product are named", "[codegen_cuda][mma]") {
  const std::string text = TextOf(kSmall);
  CheckFound(kSmall, Replaced(text, "tcc_proxy_fence();", ""), "without a proxy fence");
  CheckFound(kSmall,
             Replaced(text, "tcc_proxy_fence();\n  tcc_barrier();",
                      "tcc_barrier();\n  tcc_proxy_fence();"),
             "without a proxy fence");
  CheckFound(kSmall, Replaced(text, "tcc_proxy_fence();", "if (thread != 77) tcc_proxy_fence();"),
             "was written by thread 77 in line");
  CheckFound(kSmall, Replaced(text, "tcc_proxy_fence();\n  tcc_barrier();", "tcc_proxy_fence();"),
             "races with thread");
  CheckFound(kSmall, Replaced(text, "tcc_group_wait", "sb[thread] = b[0];\n  tcc_group_wait"),
             "races with a product of warp group 0, which read it in line");
  CheckFound(kSmall,
             Replaced(text, "tcc_group_wait",
                      "tcc_barrier();\n  sb[thread] = b[0];\n  tcc_proxy_fence();\n"
                      "  tcc_barrier();\n  tcc_group_wait"),
             "was overwritten before the wait for the product in line");
}

TEST_CASE("sums that are touched too early, or never handed out, are named",
          "[codegen_cuda][mma]") {
  const std::string text = TextOf(kSmall);
  CheckFound(kSmall, Replaced(text, "tcc_group_wait", "f[2].v[1] *= 2;\n  tcc_group_wait"),
             "f[2].v[1] was touched before the wait for the product in line");
  CheckFound(kSmall, Replaced(text, "  tcc_group_mma", "  f[1].v[0] = 0;\n  tcc_group_mma"),
             "f[1].v[0] was touched before the wait");
  CheckFound(kSmall, Replaced(text, "tcc_group_fence();", ""),
             "adds to f[1] without a tcc_group_fence()");
  std::string again = Replaced(text, "tcc_group_wait<0>(f);",
                               "tcc_group_wait<0>(f);\n" + ProductsOf(kSmall) +
                                   "  tcc_group_commit();\n  tcc_group_wait<0>(f);");
  CheckFound(kSmall, again, "adds to f[1] without a tcc_group_fence()");
  CheckFound(kSmall, Replaced(text, "tcc_group_commit();", ""), "is not committed");
  CheckFound(kSmall, Replaced(text, "tcc_group_wait<0>(f);", ""), "is in flight: not waited for");
  CheckFound(kSmall, Replaced(text, "tcc_group_wait<0>(f);", "tcc_group_wait<1>(f);"),
             "is in flight: not waited for");
  CheckFound(kSmall,
             Replaced(text, "tcc_group_wait<0>(f);",
                      "TCC_FRAGMENTS(float, 4, g, 2);\n  tcc_group_wait<0>(g);"),
             "is named by no wait");
  CheckFound(kSmall, Replaced(text, "(f, 1, ", "(f, 0, "), "adds to a part of the sums f[1]");
  std::vector<Tensor> operands = OperandsOf(kSmall);
  std::string early =
      Replaced(text, "tcc_group_wait", "const float x = f[1].v[0];\n  tcc_group_wait");
  early = Replaced(early, "  tcc_group_wait<0>(f);", "  tcc_group_wait<0>(f);\n  f[1].v[0] = x;");
  REQUIRE(RunOnEmulator(early, LaunchOf(kSmall), operands).ok());
  CHECK_FALSE(IsRight(kSmall, operands));
}

TEST_CASE("a group that does not come whole to a product is named", "[codegen_cuda][mma]") {
  const std::string text = TextOf(kSmall);
  CheckFound(kSmall, Replaced(text, "  tcc_group_mma", "  if (thread != 40) tcc_group_mma"),
             "threads 40 to 40 at tcc_group_commit");
  CheckFound(kSmall, Replaced(text, "  tcc_group_mma", "  if (warp != 2) tcc_group_mma"),
             "at tcc_group_mma_f16 in line");
  CheckFound(kSmall, Replaced(text, "tcc_group_commit();", "if (lane != 3) tcc_group_commit();"),
             "all its threads take part");
  CheckFound(kSmall, Replaced(text, "(sb, 32)", "(sb, warp == 1 ? 0 : 32)"),
             "expected the same, with the same descriptors");
  emulator::LaunchOptions three = LaunchOf(kSmall);
  three.block.y = 3;
  std::vector<Tensor> operands = OperandsOf(kSmall);
  Status status = RunOnEmulator(text, three, operands);
  INFO(Message(status));
  CHECK(Message(status).find("by a group of 96 threads; expected four whole warps") !=
        std::string::npos);
}

TEST_CASE("a stage that is reused too early, or copied too late, is named", "[codegen_cuda][mma]") {
  CheckFoundInLoop("tcc_async_wait<1>();", "tcc_async_wait<2>();", "not waited for");
  CheckFoundInLoop("tcc_proxy_fence();", "", "without a proxy fence");
  CheckFoundInLoop("tcc_group_wait<1>(sum);", "tcc_group_wait<2>(sum);", "sa[");
  CheckFoundInLoop("next % 4", "next % 3", "races with a product of warp group");
  CheckFoundInLoop("tcc_group_wait<0>(sum);", "", "is in flight: not waited for");
  CheckFoundInLoop("      tcc_barrier();\n", "", "races with");
}
