#include "codegen_cuda/emulator/emulator.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "codegen_cuda/nvrtc/nvrtc.h"
#include "codegen_cuda/text/prelude.h"
#include "tests/codegen_cuda/kernels/kernels.h"

namespace tcc::test {
namespace {

TEST_CASE("right kernels compute the exact result in every order of threads",
          "[codegen_cuda][cuda_emulator]") {
  for (const Kernel& kernel : {VectorAdd(), Transpose(), TiledMatmul(), RowSums(), Histogram(),
                               PipelinedMatmul(), VectorCopy()}) {
    INFO(kernel.name);
    std::vector<float> output;
    Status status = Run(kernel, &output);
    INFO(Message(status));
    REQUIRE(status.ok());
    CHECK(output == kernel.expected);
  }
}

// Votes and atomics were the emulator's alone.
TEST_CASE("the emulator's test kernels compile for GPUs as they stand",
          "[codegen_cuda][cuda_emulator][nvrtc]") {
  StatusOr<Nvrtc> nvrtc = Nvrtc::Open();
  if (!nvrtc.ok()) {
    WARN("skipped: nothing is compiled for a GPU: " << Message(nvrtc.status()));
    return;
  }
  for (const Kernel& kernel : {VectorAdd(), Transpose(), TiledMatmul(), RowSums(), Histogram(),
                               PipelinedMatmul(), VectorCopy(), RoundTrip()}) {
    for (int sm : {75, 80, 86, 89, 90}) {
      StatusOr<Cubin> cubin =
          nvrtc->Compile(std::string(CudaPrelude()) + std::string(BodyOf(kernel)), sm);
      INFO(kernel.name << " " << sm << " " << Message(cubin.status()));
      CHECK(cubin.ok());
    }
  }
}

TEST_CASE("half and bfloat16 round to nearest even", "[codegen_cuda][cuda_emulator]") {
  const Kernel kernel = RoundTrip();
  std::vector<float> output;
  REQUIRE(Run(kernel, &output).ok());
  for (size_t i = 0; i < output.size(); ++i) {
    INFO("x = " << kernel.inputs[0][i / 2] << " at " << i);
    if (kernel.expected[i] != kernel.expected[i]) {
      REQUIRE(output[i] != output[i]);
    } else {
      REQUIRE(output[i] == kernel.expected[i]);
    }
  }
}

// What each message must name.
void CheckFound(const Kernel& kernel, std::vector<std::string> names) {
  std::vector<float> output;
  Status status = Run(kernel, &output);
  REQUIRE_FALSE(status.ok());
  INFO(Message(status));
  CHECK(status.code() == absl::StatusCode::kDataLoss);
  for (const std::string& name : names) {
    INFO("expected: " << name);
    CHECK(Message(status).find(name) != std::string::npos);
  }
}

Kernel With(Kernel kernel, std::string_view piece, std::string_view by) {
  kernel.text = Replaced(kernel.text, piece, by);
  return kernel;
}

TEST_CASE("an atomic addition that is not one is a race", "[codegen_cuda][cuda_emulator]") {
  CheckFound(With(Histogram(), "tcc_atomic_add(bins, (int)value, 1);",
                  "bins[(int)value] = bins[(int)value] + 1;"),
             {"bins[", "races with"});
  CheckFound(With(Histogram(), "tcc_barrier();  // counted", ""), {"bins[", "races with"});
}

TEST_CASE("a removed barrier is a race that names the element and both threads",
          "[codegen_cuda][cuda_emulator]") {
  CheckFound(With(Transpose(), "tcc_barrier();", ""),
             {"kernel 'transpose'", "block (0, 0, 0)", "tile[", "races with thread 0"});
  CheckFound(With(TiledMatmul(), "tcc_barrier();  // filled", ""), {"_tile[", "races with"});
  CheckFound(With(TiledMatmul(), "tcc_barrier();  // used", ""), {"_tile[", "races with", "read"});
  CheckFound(With(PipelinedMatmul(), "tcc_barrier();  // arrived", ""), {"_tile["});
  CheckFound(With(PipelinedMatmul(), "tcc_barrier();  // used", ""), {"_tile[", "thread 0"});
}

TEST_CASE("a removed or weaker wait is a copy that is used before it arrived",
          "[codegen_cuda][cuda_emulator]") {
  CheckFound(With(PipelinedMatmul(), "tcc_async_wait<1>();", ""),
             {"_tile[", "asynchronous copy of thread", "not waited for"});
  CheckFound(With(PipelinedMatmul(), "tcc_async_wait<1>();", "tcc_async_wait<2>();"),
             {"_tile[", "not waited for"});
  CheckFound(With(PipelinedMatmul(), "tcc_async_commit();", ""), {"_tile[", "not waited for"});
}

TEST_CASE("a dropped guard is an access outside of the buffer", "[codegen_cuda][cuda_emulator]") {
  CheckFound(With(VectorAdd(), "if (i < count)", ""),
             {"block (3, 0, 0), thread (232, 0, 0)", "[1000] is outside of its 1000 elements",
              "z[i] = x[i] + y[i];"});
  CheckFound(With(TiledMatmul(), "row < 40 && k + tx < 37 ?", "true ?"),
             {"block (0, 2, 0), thread (0, 8, 0)", "a[1480] is outside of its 1480 elements"});
  CheckFound(With(PipelinedMatmul(), "TCC_LOCAL(float, sum, 4)", "TCC_LOCAL(float, sum, 3)"),
             {"sum[3] is outside of its 3 elements"});
}

TEST_CASE("a vector access that is not aligned to its size is named",
          "[codegen_cuda][cuda_emulator]") {
  CheckFound(With(VectorCopy(), "tcc_load_vector<4>(x, tcc_thread_x() * 4)",
                  "tcc_load_vector<4>(x, tcc_thread_x() * 3)"),
             {"thread (1, 0, 0)", "x[3] is misaligned", "12 above a multiple of 16"});
  CheckFound(
      With(PipelinedMatmul(), "buffer + ty * 32 + tx * 4, b", "buffer + ty * 32 + tx * 4 + 1, b"),
      {"b_tile[1] is misaligned"});
}

TEST_CASE("a barrier that only some threads reach is a deadlock that names it",
          "[codegen_cuda][cuda_emulator]") {
  auto before_copying = [](std::string_view barriers) {
    constexpr char kCopy[] = "  tcc_store_vector(y, tcc_thread_x() * 4,";
    return With(VectorCopy(), kCopy, std::string(barriers) + kCopy);
  };
  CheckFound(before_copying("if (tcc_thread_x() < 32) tcc_barrier();\n"),
             {"deadlock: threads 0 to 31 at barrier in line 4, threads 32 to 63 ended",
              "if (tcc_thread_x() < 32) tcc_barrier();"});
  CheckFound(
      before_copying("if (tcc_thread_x() < 32)\ntcc_barrier();\nelse\ntcc_barrier();\n"),
      {"thread (32, 0, 0), line 7", "divergent barrier: thread (0, 0, 0) waits at it in line 5"});
}

TEST_CASE("a barrier waits for all threads of a warp that is not full",
          "[codegen_cuda][cuda_emulator]") {
  // 80 threads turn a row round, the last 16 of them in a warp of their own.
  constexpr char kCopy[] =
      "  tcc_store_vector(y, tcc_thread_x() * 4, tcc_load_vector<4>(x, tcc_thread_x() * 4));\n";
  Kernel kernel = With(VectorCopy(), "TCC_KERNEL(copy, 64)", "TCC_KERNEL(copy, 80)");
  kernel = With(kernel, kCopy, R"(  TCC_SHARED(float, tile, 80);
  const int i = tcc_thread_x();
  tile[i] = x[i];
  tcc_barrier();
  y[i] = tile[79 - i];
)");
  kernel.block = {80};
  kernel.inputs[0].resize(80);
  kernel.expected.assign(kernel.inputs[0].rbegin(), kernel.inputs[0].rend());
  std::vector<float> output;
  Status status = Run(kernel, &output);
  INFO(Message(status));
  REQUIRE(status.ok());
  CHECK(output == kernel.expected);

  CheckFound(With(With(kernel, "tcc_barrier();", "if (i < 79) tcc_barrier();"), "79 - i", "i"),
             {"deadlock: threads 0 to 78 at barrier in line 7, threads 79 to 79 ended"});
}

TEST_CASE("a shuffle that some lanes skip is named", "[codegen_cuda][cuda_emulator]") {
  CheckFound(With(RowSums(), "sum += tcc_shuffle_xor<float>(sum, 4);",
                  "if (lane < 16) sum += tcc_shuffle_xor<float>(sum, 4);"),
             {"shuffle xor", "all its threads take part"});
  CheckFound(With(RowSums(), "const unsigned leaders = tcc_ballot(lane == 0);",
                  "const unsigned leaders = lane < 3 ? tcc_ballot(lane == 0) : 0u;"),
             {"deadlock: threads 0 to 2 at ballot"});
}

TEST_CASE("a result that depends on the order of threads is named",
          "[codegen_cuda][cuda_emulator]") {
  CheckFound(With(VectorCopy(), "tcc_store_vector(y, tcc_thread_x() * 4",
                  "tcc_store_vector(y, tcc_thread_x() / 2 * 4"),
             {"y[0], written in line 4, depends on the order of threads (forward, reverse)"});
}

Kernel With(Kernel kernel, emulator::BlockOrder order) {
  kernel.block_order = order;
  return kernel;
}

TEST_CASE("a block that reads what another of its launch writes is named",
          "[codegen_cuda][cuda_emulator]") {
  using enum emulator::BlockOrder;
  const Kernel reads_before =
      With(VectorAdd(), "z[i] = x[i] + y[i];", "z[i] = x[i] + (i >= 256 ? z[i - 256] : y[i]);");
  CheckFound(With(reads_before, kForward),
             {"block (1, 0, 0), thread (0, 0, 0)",
              "z[0] is read although block number 0 of the same launch writes it"});
  // Too late to see what it reads: it gets poison.
  std::vector<float> output;
  REQUIRE(Run(With(reads_before, kReverse), &output).ok());
  CHECK(output[256] != output[256]);

  const Kernel reads_after =
      With(VectorAdd(), "z[i] = x[i] + y[i];", "z[i] = x[i] + (i < 256 ? z[i + 256] : y[i]);");
  CheckFound(With(reads_after, kReverse),
             {"block (0, 0, 0)", "is read although block number 1 of the same launch writes it"});
}

// Nothing of the global side of a copy was noted.
TEST_CASE("a block that copies asynchronously what another of its launch writes is named",
          "[codegen_cuda][cuda_emulator]") {
  // From its neighbour's part of z, in whichever order the two run.
  Kernel kernel = With(VectorAdd(), "z[i] = x[i] + y[i];", R"(z[i] = x[i] + y[i];
    if (tcc_thread_x() == 0) {
      TCC_SHARED(float, part, 1);
      tcc_async_copy<1>(part, 0, z, (tcc_block_x() ^ 1) * 256);
      tcc_async_commit();
      tcc_async_wait<0>();
    })");
  CheckFound(kernel, {"block (1, 0, 0), thread (0, 0, 0)",
                      "z[0] is read although block number 0 of the same launch writes it"});
  kernel.block_order = emulator::BlockOrder::kReverse;
  CheckFound(kernel, {"block (2, 0, 0), thread (0, 0, 0)",
                      "z[768] is read although block number 3 of the same launch writes it"});

  // What it wrote itself it may copy.
  kernel.text = Replaced(kernel.text, "(tcc_block_x() ^ 1) * 256", "tcc_block_x() * 256");
  std::vector<float> output;
  Status status = Run(kernel, &output);
  INFO(Message(status));
  CHECK(status.ok());
  CHECK(output == kernel.expected);
}

TEST_CASE("a copy that is not kept brings zeros when it is awaited, and reads nothing",
          "[codegen_cuda][cuda_emulator]") {
  auto copied = [](const char* keep, const char* wait) {
    return With(VectorCopy(), "tcc_store_vector(y,",
                std::string(R"(TCC_SHARED(float, part, 256);
    tcc_async_copy<4>(part, tcc_thread_x() * 4, x, tcc_thread_x() * 4 - 128, )") +
                    keep + R"();
    tcc_async_commit();)" +
                    wait + R"(
    tcc_store_vector(y, tcc_thread_x() * 4, tcc_load_vector<4>(part, tcc_thread_x() * 4));
    if (false) tcc_store_vector(y,)");
  };
  const char* wait = "tcc_async_wait<0>();";
  Kernel kernel = copied("tcc_thread_x() >= 32", wait);
  std::vector<float> output;
  Status status = Run(kernel, &output);
  INFO(Message(status));
  REQUIRE(status.ok());
  for (int i = 0; i < 256; ++i) CHECK(output[i] == (i < 128 ? 0 : kernel.inputs[0][i - 128]));

  CheckFound(copied("tcc_thread_x() >= 31", wait),
             {"x[-4] and the 3 after it are not all within its 256 elements"});
  CheckFound(copied("tcc_thread_x() >= 32", ""), {"part[", "not waited for"});
}

TEST_CASE("two blocks of a launch that write one element are named",
          "[codegen_cuda][cuda_emulator]") {
  // With the same value, which no result shows.
  CheckFound(With(VectorAdd(), "z[i] = x[i] + y[i];", "z[i] = x[i] + y[i];\nz[0] = x[0] + y[0];"),
             {"block (1, 0, 0)", "z[0] is written by block number 0 of the same launch too"});
  std::vector<float> output;
  CHECK(Run(With(VectorAdd(), "z[i] = x[i] + y[i];", "z[i] = 0;\nz[i] = x[i] + y[i];"), &output)
            .ok());
}

TEST_CASE("atomic updates of one element by several blocks are right",
          "[codegen_cuda][cuda_emulator]") {
  Kernel kernel = With(VectorAdd(), "if (i < count) {\n    z[i] = x[i] + y[i];",
                       "if (i < count) {\n    tcc_atomic_add(z, 0, x[i]);");
  std::vector<float> output;
  Status status = Run(kernel, &output);
  INFO(Message(status));
  CHECK(status.ok());
  kernel.text = Replaced(kernel.text, "tcc_atomic_add(z, 0, x[i]);",
                         "if (i < 768) tcc_atomic_add(z, 0, x[i]);\nif (i == 999) z[0] = 1;");
  CheckFound(kernel, {"block (3, 0, 0)", "z[0] is written by block number 2"});
}

TEST_CASE("the holder of the last ticket reads what the other blocks wrote",
          "[codegen_cuda][cuda_emulator]") {
  using enum emulator::BlockOrder;
  for (emulator::BlockOrder order : {kForward, kReverse}) {
    std::vector<float> output;
    Status status = Run(With(PartSums(), order), &output);
    INFO(Message(status));
    REQUIRE(status.ok());
    CHECK(output == PartSums().expected);
  }
}

TEST_CASE("a ticket without its fences, its reset or the right count is named",
          "[codegen_cuda][cuda_emulator]") {
  CheckFound(With(PartSums(), "tcc_fence();  // others see it", ""),
             {"block (0, 0, 0), thread (0, 0, 0)",
              "tickets[0] is taken although no fence follows the write of y[0] in line"});
  CheckFound(With(PartSums(), "tcc_fence();  // others see it",
                  "tcc_fence();\nif (t == 5) y[part * 32 + 5] = 2 * x[part * 32 + 5];"),
             {"tickets[0] is taken although no fence follows the write of y[5] in line"});
  CheckFound(With(PartSums(), "tcc_fence();  // sees others", ""),
             {"block (0, 2, 0)", "is read although block number 0 of the same launch writes it"});
  CheckFound(With(PartSums(), "tcc_reset_ticket(tickets, sum);", ""),
             {"tickets[0] is 3 after the launch; expected 0"});
  CheckFound(With(PartSums(), "tcc_is_last(tickets, sum, 3)", "tcc_is_last(tickets, sum, 4)"),
             {"tickets[0] is 3 after the launch; expected 0"});
  CheckFound(With(PartSums(), "tcc_is_last(tickets, sum, 3)", "tcc_is_last(tickets, sum, 2)"),
             {"tickets[0] is 1 after the launch; expected 0"});
  // Blocks that do not hold it read nothing, and the holder nothing of another sum.
  CheckFound(With(PartSums(), "if (tcc_is_last(tickets, sum, 3)) {",
                  "if (tcc_is_last(tickets, sum, 3) || tcc_block_y() == 1) {"),
             {"block (0, 1, 0)", "is read although block number 0 of the same launch writes it"});
  CheckFound(With(PartSums(), "y[(sum * 3 + p) * 32 + (t ^ 1)]", "y[p * 32 + (t ^ 1)]"),
             {"block (1, 2, 0)", "is read although block number 0 of the same launch writes it"});
}

TEST_CASE("blocks run backward compute the same", "[codegen_cuda][cuda_emulator]") {
  for (const Kernel& kernel : {VectorAdd(), Transpose(), TiledMatmul(), PipelinedMatmul()}) {
    std::vector<float> output;
    REQUIRE(Run(With(kernel, emulator::BlockOrder::kReverse), &output).ok());
    CHECK(output == kernel.expected);
  }
}

TEST_CASE("blocks beyond those that run in all orders run once each",
          "[codegen_cuda][cuda_emulator]") {
  for (const Kernel& right : {VectorAdd(), Transpose(), TiledMatmul(), PipelinedMatmul()}) {
    Kernel kernel = right;
    kernel.blocks_in_all_orders = 1;
    std::vector<float> output;
    REQUIRE(Run(kernel, &output).ok());
    CHECK(output == kernel.expected);
  }
  // All threads write z[i], whichever comes last: block 0 has one order only.
  Kernel kernel = With(VectorAdd(), "z[i] = x[i] + y[i];", "z[i / 2] = x[i];");
  std::vector<float> output;
  CHECK_FALSE(Run(kernel, &output).ok());
  kernel.blocks_in_all_orders = 0;
  CHECK(Run(kernel, &output).ok());
}

TEST_CASE("the blocks that run in all orders reach from the first to the last",
          "[codegen_cuda][cuda_emulator]") {
  // Only that block depends on the order of its threads.
  auto found = [](int block, int64_t chosen) {
    Kernel kernel = With(VectorAdd(), "z[i] = x[i] + y[i];",
                         fmt::format("z[tcc_block_x() == {} ? i & ~1 : i] = x[i];", block));
    kernel.blocks_in_all_orders = chosen;
    std::vector<float> output;
    return !Run(kernel, &output).ok();
  };
  CHECK((found(0, 2) && found(3, 2)));
  CHECK_FALSE((found(1, 2) || found(2, 2)));
  CHECK((found(0, 3) && found(1, 3) && found(3, 3)));
  CHECK((found(0, 4) && found(1, 4) && found(2, 4) && found(3, 4)));
}

TEST_CASE("a word of shared memory that two threads share by bytes is no race",
          "[codegen_cuda][cuda_emulator]") {
  // Each thread writes and reads bytes of its own; then one reads its neighbour's.
  constexpr char kCopy[] = "  tcc_store_vector(y, tcc_thread_x() * 4,";
  const std::string bytes = std::string(R"(  TCC_SHARED(signed char, small, 64);
  small[tcc_thread_x()] = (signed char)1;
  if (small[tcc_thread_x()] != 1) return;
)") + kCopy;
  std::vector<float> output;
  const Kernel kernel = With(VectorCopy(), kCopy, bytes);
  REQUIRE(Run(kernel, &output).ok());
  CHECK(output == kernel.expected);
  CheckFound(With(kernel, "small[tcc_thread_x()] != 1", "small[tcc_thread_x() ^ 1] != 1"),
             {"small[1] races with thread 0, which read it in line 6"});
}

TEST_CASE("what is never written stays poison", "[codegen_cuda][cuda_emulator]") {
  std::vector<float> output;
  Kernel kernel = With(VectorAdd(), "if (i < count)", "if (i < count - 1)");
  REQUIRE(Run(kernel, &output).ok());
  CHECK(output[998] == kernel.expected[998]);
  CHECK(output[999] != output[999]);

  kernel = With(Transpose(), "tile[(tcc_thread_y() + i) * 33 + tcc_thread_x()] = ",
                "if (row > 0) tile[(tcc_thread_y() + i) * 33 + tcc_thread_x()] = ");
  REQUIRE(Run(kernel, &output).ok());
  CHECK(output[0] != output[0]);
  CHECK(output[1] == kernel.expected[1]);
}

TEST_CASE("a launch that does not fit the kernel is refused", "[codegen_cuda][cuda_emulator]") {
  std::vector<float> output;
  auto refused = [&](Kernel kernel) {
    Status status = Run(kernel, &output);
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    return Message(status);
  };
  Kernel kernel = VectorAdd();
  kernel.block = {512};
  CHECK(refused(kernel) == "kernel 'add': a block of 512 threads; declared for at most 256");
  kernel = VectorAdd();
  kernel.shapes.clear();
  CHECK(refused(kernel) == "kernel 'add': 3 arguments; expected 4");
  kernel = VectorAdd();
  kernel.name = "sub";
  CHECK(refused(kernel) == "kernel 'sub' is not in the text");
  kernel = VectorAdd();
  kernel.inputs.erase(kernel.inputs.begin());
  kernel.shapes = {1000, 0};
  CHECK(refused(kernel).find("argument 'z' points to no device memory") != std::string::npos);
  kernel = With(VectorAdd(), "z[i] = ", "w[i] = ");
  CHECK(refused(kernel).find("refused the CUDA text") != std::string::npos);

  kernel = TiledMatmul();
  kernel.dynamic_shared_bytes = 1000;
  CheckFound(kernel, {"b_tile takes bytes 512 to 1024 of the 1000 of dynamic shared memory"});
}

}  // namespace
}  // namespace tcc::test
