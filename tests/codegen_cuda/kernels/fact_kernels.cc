#include "tests/codegen_cuda/kernels/fact_kernels.h"

#include <algorithm>
#include <iterator>

#include "codegen_cuda/text/prelude.h"
#include "support/check.h"
#include "support/dtype.h"
#include "tests/codegen_cuda/kernels/group_kernels.h"
#include "tests/codegen_cuda/kernels/kernels.h"
#include "tests/codegen_cuda/kernels/mma_kernels.h"

namespace tcc::test {
namespace {

Tensor Ints(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  Tensor tensor = MakeZeroTensor(kInt32, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) {
    SetElementInt(tensor, static_cast<int64_t>(i), values[i]);
  }
  return tensor;
}

std::string Program(const std::string& kernels) {
  return std::string(CudaPrelude()) + kernels;
}

// Takes a kernel of kernels.h, without shapes and tickets.
Twin TwinOf(const std::string& name, const Kernel& kernel) {
  TCC_CHECK(kernel.shapes.empty() && kernel.tickets == 0) << name;
  Twin twin = {.name = name,
               .text = Program(std::string(BodyOf(kernel))),
               .kernel = OneLaunch(
                   kernel.name, {kernel.grid.x, kernel.grid.y}, {kernel.block.x, kernel.block.y},
                   static_cast<uint32_t>(kernel.inputs.size()) + 1, kernel.dynamic_shared_bytes)};
  for (const std::vector<float>& input : kernel.inputs) {
    twin.operands.push_back(Floats({std::ssize(input)}, input));
  }
  twin.expected = Floats({std::ssize(kernel.expected)}, kernel.expected);
  return twin;
}

// Writes rows of 64 threads: values from lanes down by 1, 2, .. 16, where the last ones keep their
// own, from lanes XORed with the same, and from one that each names, beyond 31 too; and votes.
Twin Shuffles() {
  Random random(7);
  Twin twin = {.name = "shuffles and votes",
               .text = Program(R"(
TCC_KERNEL(shuffles, 64)(TCC_INPUT(int, x), TCC_OUTPUT(int, y)) {
  const int t = tcc_thread_x();
  const int value = x[t];
#pragma unroll
  for (int i = 0; i < 5; ++i) {
    y[3 * i * 64 + t] = tcc_shuffle_down<int>(value, 1 << i);
    y[(3 * i + 1) * 64 + t] = tcc_shuffle_xor<int>(value, 1 << i);
    y[(3 * i + 2) * 64 + t] = tcc_shuffle<int>(value, t * 7 + i);
  }
  y[15 * 64 + t] = (int)tcc_ballot(value > 0);
}
TCC_END_KERNEL(shuffles)
)"),
               .kernel = OneLaunch("shuffles", {1, 1}, {64, 1}, 2),
               .operands = {Integers(kInt32, {64}, random)}};
  std::vector<int64_t> expected(16 * 64);
  auto of = [&](int warp, int lane) { return ElementAsInt(twin.operands[0], warp * 32 + lane); };
  for (int t = 0; t < 64; ++t) {
    const int warp = t / 32, lane = t % 32;
    for (int i = 0; i < 5; ++i) {
      const int down = lane + (1 << i);
      expected[3 * i * 64 + t] = of(warp, down < 32 ? down : lane);
      expected[(3 * i + 1) * 64 + t] = of(warp, lane ^ 1 << i);
      expected[(3 * i + 2) * 64 + t] = of(warp, (t * 7 + i) % 32);
    }
    for (int l = 0; l < 32; ++l) expected[15 * 64 + t] |= int64_t{of(warp, l) > 0} << l;
  }
  twin.expected = Ints({16, 64}, expected);
  return twin;
}

// Copies rows of 32 times 1, 2 and 4 words. Every third copy is not kept: zeros arrive, and where
// it would read is outside of the buffer.
Twin ZeroFill() {
  Random random(9);
  Twin twin = {.name = "copies in flight that fill in zeros",
               .text = Program(R"(
TCC_KERNEL(zero_fill, 32)(TCC_INPUT(int, x), TCC_OUTPUT(int, y)) {
  TCC_SHARED(int, s, 224);
  const int t = tcc_thread_x();
  for (int i = 0; i < 224; i += 32) s[i + t] = -1;
  tcc_barrier();
  const bool keep = t % 3 != 0;
  const int from = keep ? 0 : 1 << 20;
  tcc_async_copy<1>(s, t, x, from + t, keep);
  tcc_async_copy<2>(s, 32 + t * 2, x, from + 32 + t * 2, keep);
  tcc_async_copy<4>(s, 96 + t * 4, x, from + 96 + t * 4, keep);
  tcc_async_commit();
  tcc_async_wait<0>();
  tcc_barrier();
  for (int i = 0; i < 224; i += 32) y[i + t] = s[i + t];
}
TCC_END_KERNEL(zero_fill)
)"),
               .kernel = OneLaunch("zero_fill", {1, 1}, {32, 1}, 2),
               .operands = {Integers(kInt32, {224}, random)}};
  std::vector<int64_t> expected;
  for (int words : {1, 2, 4}) {
    for (int i = 0; i < 32 * words; ++i) {
      const int64_t at = std::ssize(expected);
      expected.push_back(i / words % 3 == 0 ? 0 : ElementAsInt(twin.operands[0], at));
    }
  }
  twin.expected = Ints({224}, expected);
  return twin;
}

// Launches three times with the same tickets. The last block of each of many tiles adds up what all
// of its blocks wrote, which differs from launch to launch.
Twin Tickets() {
  constexpr int kTiles = 48, kParts = 40, kThreads = 64, kLaunches = 3;
  Random random(11);
  using Kind = GpuArgument::Kind;
  Twin twin = {
      .name = "the last block of a tile sees all parts",
      .text = Program(fmt::format(R"(
TCC_KERNEL(tickets, {threads})(TCC_INPUT(int, x), TCC_INPUT(int, before), TCC_HANDED(int, part),
                         TCC_OUTPUT(int, y), TCC_TICKETS(tickets)) {{
  const int tile = tcc_block_x(), p = tcc_block_y(), t = tcc_thread_x();
  const int at = tile * {threads} + t;
  part[at * {parts} + p] = x[at * {parts} + p] + before[at] * (p % 2);
  tcc_fence();
  if (tcc_is_last(tickets, tile, {parts})) {{
    tcc_reset_ticket(tickets, tile);
    tcc_fence();
    int sum = 0;
    for (int i = 0; i < {parts}; ++i) sum += part[(at ^ 1) * {parts} + i];
    y[at] = sum;
  }}
}}
TCC_END_KERNEL(tickets)
)",
                                  fmt::arg("parts", kParts), fmt::arg("threads", kThreads))),
      .operands = {Integers(kInt32, {kTiles, kThreads, kParts}, random),
                   Integers(kInt32, {kTiles, kThreads}, random)}};
  twin.kernel = {
      .buffers = 3,
      .workspace_bytes = {SizeExpr(kTiles * kParts * kThreads * 4), SizeExpr(kTiles * kThreads * 4),
                          SizeExpr(kTiles * kThreads * 4)}};
  const GpuArgument sums[] = {
      {Kind::kBuffer, 1}, {Kind::kWorkspace, 1}, {Kind::kWorkspace, 2}, {Kind::kBuffer, 2}};
  std::vector<int64_t> before(kTiles * kThreads), after(kTiles * kThreads);
  for (size_t i = 0; i < before.size(); ++i) {
    before[i] = ElementAsInt(twin.operands[1], static_cast<int64_t>(i));
  }
  for (int launch = 0; launch < kLaunches; ++launch) {
    twin.kernel.launches.push_back({.symbol = "tickets",
                                    .grid = {kTiles, kParts, 1},
                                    .block = {kThreads, 1, 1},
                                    .arguments = {{Kind::kBuffer, 0},
                                                  sums[launch],
                                                  {Kind::kWorkspace, 0},
                                                  sums[launch + 1],
                                                  {Kind::kTickets, 0}}});
    for (size_t at = 0; at < after.size(); ++at) {
      after[at] = kParts / 2 * before[at ^ 1];
      for (int p = 0; p < kParts; ++p) {
        after[at] += ElementAsInt(twin.operands[0], static_cast<int64_t>((at ^ 1) * kParts + p));
      }
    }
    std::swap(before, after);
  }
  twin.expected = Ints({kTiles, kThreads}, before);
  return twin;
}

// Launches kernels that begin while the one before ends. Each turns round what that one wrote, so
// that its first blocks read from the last ones; the third writes what the second reads.
Twin WaitingLaunches() {
  constexpr int kBlocks = 600, kThreads = 128, kCount = kBlocks * kThreads, kLaunches = 6;
  Random random(13);
  using Kind = GpuArgument::Kind;
  Twin twin = {
      .name = "launches that wait for the one before",
      .target = "sm_90a",
      .text = Program(fmt::format(R"(
TCC_KERNEL(turn, {threads})(TCC_INPUT(int, x), TCC_OUTPUT(int, y)) {{
  const int i = tcc_block_x() * {threads} + tcc_thread_x();
  tcc_wait_for_launch_before();
  y[i] = x[{last} - i] + i % 5;
}}
TCC_END_KERNEL(turn)
)",
                                  fmt::arg("threads", kThreads), fmt::arg("last", kCount - 1))),
      .kernel = {.buffers = 2, .workspace_bytes = {kCount * 4, kCount * 4}},
      .operands = {Integers(kInt32, {kBlocks, kThreads}, random)}};
  std::vector<int64_t> values(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = ElementAsInt(twin.operands[0], i);
  for (uint32_t launch = 0; launch < kLaunches; ++launch) {
    GpuArgument from = {Kind::kWorkspace, (launch + 1) % 2}, to = {Kind::kWorkspace, launch % 2};
    if (launch == 0) from = {Kind::kBuffer, 0};
    if (launch == kLaunches - 1) to = {Kind::kBuffer, 1};
    twin.kernel.launches.push_back({.symbol = "turn",
                                    .grid = {kBlocks, 1, 1},
                                    .block = {kThreads, 1, 1},
                                    .waits = true,
                                    .arguments = {from, to}});
    std::ranges::reverse(values);
    for (int i = 0; i < kCount; ++i) values[i] += i % 5;
  }
  twin.expected = Ints({kBlocks, kThreads}, values);
  return twin;
}

// Writes addresses, in units of 16 bytes and modulo 1,024 bytes, as descriptors of matrices have
// them.
Twin SharedBase() {
  return {.name = "dynamic shared memory begins at a multiple of 1,024",
          .target = "sm_90a",
          .text = Program(R"(
TCC_KERNEL(shared_base, 32)(TCC_OUTPUT(int, y)) {
  TCC_SHARED_AT(float, first, 0, 4);
  TCC_SHARED_AT(float, second, 1040, 4);
  const auto a = tcc_matrix<0, 16, 128>(first, 0), b = tcc_matrix<0, 16, 128>(second, 0);
  if (tcc_thread_x() == 0) {
    y[0] = (int)(*(const unsigned long long*)&a & 63);
    y[1] = (int)(*(const unsigned long long*)&b & 63);
  }
}
TCC_END_KERNEL(shared_base)
)"),
          .kernel = OneLaunch("shared_base", {1, 1}, {32, 1}, 1, 1056),
          .expected = Ints({2}, {0, 1})};
}

}  // namespace

std::vector<Twin> FactTwins() {
  return {TwinOf("sums across lanes", RowSums()),
          Shuffles(),
          TwinOf("atomic sums in shared memory", Histogram()),
          TwinOf("rounding to f16 and bf16", RoundTrip()),
          TwinOf("copies in flight of 4 and 16 bytes", PipelinedMatmul()),
          ZeroFill(),
          Tickets(),
          WaitingLaunches(),
          SharedBase()};
}

std::vector<Twin> AllTwins() {
  std::vector<Twin> twins = FactTwins();
  std::ranges::move(MmaTwins(), std::back_inserter(twins));
  std::ranges::move(GroupTwins(), std::back_inserter(twins));
  ShareTexts(twins);
  return twins;
}

}  // namespace tcc::test
