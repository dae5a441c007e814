#include "tests/codegen_cuda/kernels/kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "support/check.h"
#include "support/dtype.h"

namespace tcc::test {
namespace {

constexpr char kBegin[] = "#include \"tcc_emulator.h\"\n";

// Integers from -8 to 8 without a pattern that a tile could share.
std::vector<float> Integers(int count, unsigned seed) {
  std::vector<float> values(count);
  unsigned state = seed * 2654435761u + 12345u;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int>(state >> 16) % 17 - 8);
  }
  return values;
}

std::vector<float> Matmul(const std::vector<float>& a, const std::vector<float>& b, int m, int n,
                          int k) {
  std::vector<float> c(static_cast<size_t>(m) * n);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += double{a[i * k + l]} * b[l * n + j];
      c[i * n + j] = static_cast<float>(sum);
    }
  }
  return c;
}

}  // namespace

std::string Replaced(std::string text, std::string_view piece, std::string_view by) {
  const size_t at = text.find(piece);
  TCC_CHECK(at != std::string::npos) << "no '" << piece << "' in the kernel";
  TCC_CHECK(text.find(piece, at + 1) == std::string::npos) << "'" << piece << "' stands twice";
  return text.replace(at, piece.size(), by);
}

Kernel VectorAdd() {
  constexpr int kCount = 1000;
  Kernel kernel = {.name = "add", .grid = {4}, .block = {256}, .shapes = {kCount}};
  kernel.text = std::string(kBegin) + R"(
TCC_KERNEL(add, 256)(TCC_INPUT(float, x), TCC_INPUT(float, y), TCC_OUTPUT(float, z),
                     TCC_SHAPE(count)) {
  const int i = tcc_block_x() * 256 + tcc_thread_x();
  if (i < count) {
    z[i] = x[i] + y[i];
  }
}
TCC_END_KERNEL(add)
)";
  kernel.inputs = {Integers(kCount, 1), Integers(kCount, 2)};
  for (int i = 0; i < kCount; ++i) {
    kernel.expected.push_back(kernel.inputs[0][i] + kernel.inputs[1][i]);
  }
  return kernel;
}

Kernel Transpose() {
  constexpr int kRows = 45;
  constexpr int kColumns = 70;
  Kernel kernel = {.name = "transpose", .grid = {3, 2}, .block = {32, 8}};
  kernel.text = std::string(kBegin) + R"(
TCC_KERNEL(transpose, 256)(TCC_INPUT(float, x), TCC_OUTPUT(float, y)) {
  TCC_SHARED(float, tile, 32 * 33);
  const int column = tcc_block_x() * 32 + tcc_thread_x();
  const int row = tcc_block_y() * 32 + tcc_thread_y();
#pragma unroll
  for (int i = 0; i < 32; i += 8) {
    if (row + i < 45 && column < 70) {
      tile[(tcc_thread_y() + i) * 33 + tcc_thread_x()] = x[(row + i) * 70 + column];
    }
  }
  tcc_barrier();
  const int to_column = tcc_block_y() * 32 + tcc_thread_x();
  const int to_row = tcc_block_x() * 32 + tcc_thread_y();
  for (int i = 0; i < 32; i += 8) {
    if (to_row + i < 70 && to_column < 45) {
      y[(to_row + i) * 45 + to_column] = tile[tcc_thread_x() * 33 + tcc_thread_y() + i];
    }
  }
}
TCC_END_KERNEL(transpose)
)";
  kernel.inputs = {Integers(kRows * kColumns, 3)};
  for (int j = 0; j < kColumns; ++j) {
    for (int i = 0; i < kRows; ++i) kernel.expected.push_back(kernel.inputs[0][i * kColumns + j]);
  }
  return kernel;
}

// 40 x 24 by 37: tiles of 16 x 16 by 8 whose tails hold zeros.
Kernel TiledMatmul() {
  Kernel kernel = {.name = "matmul", .grid = {2, 3}, .block = {16, 16}};
  kernel.dynamic_shared_bytes = 2 * 16 * 8 * 4;
  kernel.text = std::string(kBegin) + R"(
TCC_KERNEL(matmul, 256)(TCC_INPUT(float, a), TCC_INPUT(float, b), TCC_OUTPUT(float, c)) {
  TCC_SHARED_AT(float, a_tile, 0, 128);
  TCC_SHARED_AT(float, b_tile, 512, 128);
  const int tx = tcc_thread_x(), ty = tcc_thread_y();
  const int row = tcc_block_y() * 16 + ty, column = tcc_block_x() * 16 + tx;
  TCC_LOCAL(float, sum, 1);
  sum[0] = 0.0f;
  for (int k = 0; k < 37; k += 8) {
    if (tx < 8) {
      a_tile[ty * 8 + tx] = row < 40 && k + tx < 37 ? a[row * 37 + k + tx] : 0.0f;
    }
    if (ty < 8) {
      b_tile[ty * 16 + tx] = k + ty < 37 && column < 24 ? b[(k + ty) * 24 + column] : 0.0f;
    }
    tcc_barrier();  // filled
    for (int l = 0; l < 8; ++l) {
      sum[0] = sum[0] + a_tile[ty * 8 + l] * b_tile[l * 16 + tx];
    }
    tcc_barrier();  // used
  }
  if (row < 40 && column < 24) {
    c[row * 24 + column] = sum[0];
  }
}
TCC_END_KERNEL(matmul)
)";
  kernel.inputs = {Integers(40 * 37, 4), Integers(37 * 24, 5)};
  kernel.expected = Matmul(kernel.inputs[0], kernel.inputs[1], 40, 24, 37);
  return kernel;
}

// A warp a row; two warps a block.
Kernel RowSums() {
  constexpr int kRows = 6;
  constexpr int kColumns = 100;
  Kernel kernel = {.name = "row_sums", .grid = {3}, .block = {64}};
  kernel.text = std::string(kBegin) + R"(
TCC_KERNEL(row_sums, 64)(TCC_INPUT(float, x), TCC_OUTPUT(float, y)) {
  const int lane = tcc_thread_x() % 32;
  const int row = tcc_block_x() * 2 + tcc_thread_x() / 32;
  float sum = 0.0f;
  for (int i = lane; i < 100; i += 32) sum += x[row * 100 + i];
  sum += tcc_shuffle_down<float>(sum, 16);
  sum += tcc_shuffle_down<float>(sum, 8);
  sum += tcc_shuffle_xor<float>(sum, 4);
  sum += tcc_shuffle_xor<float>(sum, 2);
  sum += tcc_shuffle_xor<float>(sum, 1);
  const unsigned leaders = tcc_ballot(lane == 0);
  if (leaders == 1u && lane == 0) {
    y[row] = sum;
  }
}
TCC_END_KERNEL(row_sums)
)";
  kernel.inputs = {Integers(kRows * kColumns, 6)};
  for (int i = 0; i < kRows; ++i) {
    float sum = 0;
    for (int j = 0; j < kColumns; ++j) sum += kernel.inputs[0][i * kColumns + j];
    kernel.expected.push_back(sum);
  }
  return kernel;
}

// Of 64 numbers a block: how many have each of the values 0 to 7, and their warp's first.
Kernel Histogram() {
  constexpr int kBlocks = 3;
  Kernel kernel = {.name = "histogram", .grid = {kBlocks}, .block = {64}};
  kernel.text = std::string(kBegin) + R"(
TCC_KERNEL(histogram, 64)(TCC_INPUT(float, x), TCC_OUTPUT(float, y)) {
  TCC_SHARED(int, bins, 8);
  const int i = tcc_thread_x();
  const float value = x[tcc_block_x() * 64 + i];
  if (i < 8) {
    bins[i] = 0;
  }
  tcc_barrier();  // cleared
  tcc_atomic_add(bins, (int)value, 1);
  tcc_barrier();  // counted
  if (i < 8) {
    y[tcc_block_x() * 72 + i] = (float)bins[i];
  }
  y[tcc_block_x() * 72 + 8 + i] = tcc_shuffle<float>(value, 0);
}
TCC_END_KERNEL(histogram)
)";
  std::vector<float>& x = kernel.inputs.emplace_back();
  for (int i = 0; i < kBlocks * 64; ++i) x.push_back(static_cast<float>(i * i % 37 % 8));
  for (int block = 0; block < kBlocks; ++block) {
    auto first = x.begin() + block * 64;
    for (int value = 0; value < 8; ++value)
      kernel.expected.push_back(static_cast<float>(std::count(first, first + 64, value)));
    for (int i = 0; i < 64; ++i) kernel.expected.push_back(first[i / 32 * 32]);
  }
  return kernel;
}

// 64 x 64 by 32, a block of 32 x 32, each thread 4 of a row; the next tile of 8 is copied while one
// is used.
Kernel PipelinedMatmul() {
  Kernel kernel = {.name = "pipelined", .grid = {2, 2}, .block = {8, 32}};
  kernel.dynamic_shared_bytes = 2 * 2 * 32 * 8 * 4;
  kernel.text = std::string(kBegin) + R"(
TCC_KERNEL(pipelined, 256)(TCC_INPUT(float, a), TCC_INPUT(float, b), TCC_OUTPUT(float, c)) {
  TCC_SHARED_AT(float, a_tile, 0, 512);
  TCC_SHARED_AT(float, b_tile, 2048, 512);
  const int tx = tcc_thread_x(), ty = tcc_thread_y();
  const int row = tcc_block_y() * 32 + ty, column = tcc_block_x() * 32 + tx * 4;
  TCC_LOCAL(float, sum, 4);
  for (int j = 0; j < 4; ++j) sum[j] = 0.0f;
  for (int stage = 0; stage < 5; ++stage) {
    if (stage < 4) {
      const int buffer = stage % 2 * 256;
      tcc_async_copy<1>(a_tile, buffer + ty * 8 + tx, a, row * 32 + stage * 8 + tx);
      if (ty < 8) {
        tcc_async_copy<4>(b_tile, buffer + ty * 32 + tx * 4, b, (stage * 8 + ty) * 64 + column);
      }
    }
    tcc_async_commit();
    if (stage > 0) {
      const int buffer = (stage - 1) % 2 * 256;
      tcc_async_wait<1>();
      tcc_barrier();  // arrived
      for (int l = 0; l < 8; ++l) {
        TccVector<float, 4> right = tcc_load_vector<4>(b_tile, buffer + l * 32 + tx * 4);
        const float left = a_tile[buffer + ty * 8 + l];
        for (int j = 0; j < 4; ++j) sum[j] = sum[j] + left * right.v[j];
      }
      tcc_barrier();  // used
    }
  }
  tcc_store_vector(c, row * 64 + column, tcc_load_vector<4>(sum, 0));
}
TCC_END_KERNEL(pipelined)
)";
  kernel.inputs = {Integers(64 * 32, 7), Integers(32 * 64, 8)};
  kernel.expected = Matmul(kernel.inputs[0], kernel.inputs[1], 64, 64, 32);
  return kernel;
}

Kernel VectorCopy() {
  constexpr int kCount = 256;
  Kernel kernel = {.name = "copy", .grid = {1}, .block = {64}};
  kernel.text = std::string(kBegin) + R"(
TCC_KERNEL(copy, 64)(TCC_INPUT(float, x), TCC_OUTPUT(float, y)) {
  tcc_store_vector(y, tcc_thread_x() * 4, tcc_load_vector<4>(x, tcc_thread_x() * 4));
}
TCC_END_KERNEL(copy)
)";
  kernel.inputs = {Integers(kCount, 9)};
  kernel.expected = kernel.inputs[0];
  return kernel;
}

Kernel PartSums() {
  constexpr int kSums = 2, kParts = 3, kLanes = 32;
  Kernel kernel = {.name = "part_sums", .grid = {kSums, kParts}, .block = {kLanes}};
  kernel.text = std::string(kBegin) + R"(
TCC_KERNEL(part_sums, 32)(TCC_INPUT(float, x), TCC_HANDED(float, y), TCC_TICKETS(tickets)) {
  const int sum = tcc_block_x(), part = sum * 3 + tcc_block_y(), t = tcc_thread_x();
  y[part * 32 + t] = 2 * x[part * 32 + t];
  tcc_fence();  // others see it
  if (tcc_is_last(tickets, sum, 3)) {
    tcc_reset_ticket(tickets, sum);
    tcc_fence();  // sees others
    float total = 0;
    for (int p = 0; p < 3; ++p) total = total + y[(sum * 3 + p) * 32 + (t ^ 1)];
    y[192 + sum * 32 + t] = total;
  }
}
TCC_END_KERNEL(part_sums)
)";
  kernel.tickets = kSums;
  const std::vector<float>& x = kernel.inputs.emplace_back(Integers(kSums * kParts * kLanes, 10));
  for (float value : x) kernel.expected.push_back(2 * value);
  for (int sum = 0; sum < kSums; ++sum) {
    for (int t = 0; t < kLanes; ++t) {
      float total = 0;
      for (int p = 0; p < kParts; ++p) total += 2 * x[(sum * kParts + p) * kLanes + (t ^ 1)];
      kernel.expected.push_back(total);
    }
  }
  return kernel;
}

Kernel RoundTrip() {
  constexpr int kCount = 1 << 14;
  Kernel kernel = {.name = "round_trip", .grid = {kCount / 256}, .block = {256}};
  kernel.text = std::string(kBegin) + R"(
TCC_KERNEL(round_trip, 256)(TCC_INPUT(float, x), TCC_OUTPUT(float, y)) {
  const int i = tcc_block_x() * 256 + tcc_thread_x();
  y[2 * i] = tcc_half_to_float(tcc_float_to_half(x[i]));
  y[2 * i + 1] = tcc_bits_to_float((unsigned)tcc_float_to_bfloat(x[i]) << 16);
}
TCC_END_KERNEL(round_trip)
)";
  std::vector<float>& x = kernel.inputs.emplace_back();
  unsigned state = 1;
  for (int i = 0; i < kCount; ++i) {
    state = state * 1664525u + 1013904223u;
    // Every other value ends in zeros, so that some lie halfway between two halves.
    const unsigned bits = i % 2 == 0 ? state : state & 0xfffff000u;
    // Half of them in the range of a half, whose subnormals begin at 2^-24.
    const unsigned exponent = 100 + bits % 48;
    x.push_back(std::bit_cast<float>(i % 4 < 2 ? bits : (bits & 0x807fffffu) | exponent << 23));
  }
  for (float value : x) {
    kernel.expected.push_back(HalfToFloat(FloatToHalf(value)));
    kernel.expected.push_back(BFloat16ToFloat(FloatToBFloat16(value)));
  }
  return kernel;
}

std::string_view BodyOf(const Kernel& kernel) {
  return std::string_view(kernel.text).substr(std::string_view(kBegin).size());
}

Status Run(const Kernel& kernel, std::vector<float>* output) {
  TCC_ASSIGN_OR_RETURN(auto program, emulator::Program::Compile(kernel.text));
  emulator::DeviceMemory memory;
  emulator::LaunchOptions launch = {
      .kernel = kernel.name,
      .grid = kernel.grid,
      .block = kernel.block,
      .dynamic_shared_bytes = kernel.dynamic_shared_bytes,
      .blocks_in_all_orders = kernel.blocks_in_all_orders,
      .block_order = kernel.block_order,
      .dependent = kernel.dependent,
  };
  std::vector<void*> buffers;
  auto buffer = [&](size_t count) {
    StatusOr<void*> made = memory.Allocate(static_cast<int64_t>(count * sizeof(float)));
    TCC_CHECK(made.ok());
    buffers.push_back(*made);
    return *made;
  };
  for (const std::vector<float>& input : kernel.inputs) {
    memcpy(buffer(input.size()), input.data(), input.size() * sizeof(float));
  }
  const void* result = buffer(kernel.expected.size());
  if (kernel.tickets > 0) memset(buffer(kernel.tickets), 0, kernel.tickets * sizeof(uint32_t));
  for (void*& pointer : buffers) launch.arguments.push_back(static_cast<const void*>(&pointer));
  for (const int64_t& shape : kernel.shapes) launch.arguments.push_back(&shape);
  TCC_RETURN_IF_ERROR(emulator::Launch(*program, memory, launch));
  output->resize(kernel.expected.size());
  memcpy(output->data(), result, output->size() * sizeof(float));
  return memory.CheckRedZones();
}

}  // namespace tcc::test
