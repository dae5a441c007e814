#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "codegen_cuda/emulator/emulator.h"
#include "support/check.h"
#include "tests/codegen_cuda/kernels/kernels.h"

// Copies of boxes, by kernels in the words of the emulator's header.
namespace tcc::test {
namespace {

using emulator::TccMap;

// A tensor of f32, its view and the corner of a box. Everything has the innermost dimension first.
struct View {
  std::vector<float> elements = {};
  std::vector<uint64_t> extents = {};
  std::vector<uint64_t> strides = {};  // in elements; the innermost is 1
  std::vector<uint16_t> box = {};
  std::vector<int> first = {};
  unsigned char swizzle = 0;
  bool rounds_to_tf32 = false;

  int64_t BoxElements() const {
    int64_t count = 1;
    for (uint16_t extent : box) count *= extent;
    return count;
  }
};

TccMap MapOf(const View& view, void* data) {
  TccMap map{.data = static_cast<unsigned char*>(data),
             .mark = emulator::kTccMapMark,
             .rank = static_cast<unsigned char>(view.extents.size()),
             .element_bytes = sizeof(float),
             .swizzle = view.swizzle,
             .rounds_to_tf32 = view.rounds_to_tf32,
             .extents = {},
             .byte_strides = {},
             .box = {},
             .rest = {}};
  for (size_t i = 0; i < view.extents.size(); ++i) {
    map.extents[i] = view.extents[i];
    map.byte_strides[i] = view.strides[i] * sizeof(float);
    map.box[i] = view.box[i];
  }
  return map;
}

Status RunText(const std::string& text, const View& view, int64_t outputs, bool dependent,
               std::vector<float>* output) {
  TCC_ASSIGN_OR_RETURN(auto program, emulator::Program::Compile(text));
  emulator::DeviceMemory memory;
  const auto bytes = static_cast<int64_t>(view.elements.size() * sizeof(float));
  void* from = memory.Allocate(bytes).value();
  memcpy(from, view.elements.data(), static_cast<size_t>(bytes));
  void* to = memory.Allocate(outputs * static_cast<int64_t>(sizeof(float))).value();
  const TccMap map = MapOf(view, from);
  const emulator::LaunchOptions launch = {.kernel = "boxes",
                                          .grid = {1},
                                          .block = {64},
                                          .dynamic_shared_bytes = 32768,
                                          .arguments = {&map, &to},
                                          .dependent = dependent};
  TCC_RETURN_IF_ERROR(emulator::Launch(*program, memory, launch));
  output->resize(static_cast<size_t>(outputs));
  memcpy(output->data(), to, output->size() * sizeof(float));
  return memory.CheckRedZones();
}

// Returns shared memory behind the copy of one box.
std::vector<float> Copied(const View& view) {
  const std::string text =
      fmt::format(R"(#include "tcc_emulator.h"
TCC_KERNEL(boxes, 64)(TCC_MAP(view), TCC_OUTPUT(float, y)) {{
  TCC_SHARED_AT(float, tile, 0, {0});
  TCC_SHARED_AT(unsigned long long, arrived, {1}, 1);
  if (tcc_thread_x() == 0) tcc_init_boxes(arrived, 0);
  tcc_barrier();
  if (tcc_thread_x() == 63) {{
    tcc_expect_boxes(arrived, 0, {1});
    tcc_copy_box(tile, 0, view, arrived, 0, {2});
  }}
  tcc_wait_boxes(arrived, 0, 0);
  for (int i = tcc_thread_x(); i < {0}; i += 64) y[i] = tile[i];
}}
TCC_END_KERNEL(boxes)
)",
                  view.BoxElements(), view.BoxElements() * 4, fmt::join(view.first, ", "));
  std::vector<float> output;
  const Status status = RunText(text, view, view.BoxElements(), false, &output);
  INFO(Message(status));
  REQUIRE(status.ok());
  return output;
}

std::vector<float> Counting(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i + 1);
  return values;
}

// 11 rows of 40, each in 48, and boxes whose rows have that many elements.
View Matrix(uint16_t columns) {
  return {.elements = Counting(size_t{11} * 48),
          .extents = {40, 11},
          .strides = {1, 48},
          .box = {columns, 16},
          .first = {-4, -3}};
}

TEST_CASE("a box has zeros outside of its tensor, and its rows follow each other",
          "[codegen_cuda][box_copy]") {
  const View view = Matrix(64);
  const std::vector<float> got = Copied(view);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 64; ++column) {
      const int r = row - 3, c = column - 4;
      const bool inside = r >= 0 && r < 11 && c >= 0 && c < 40;
      INFO(row << ", " << column);
      REQUIRE(got[static_cast<size_t>(row * 64 + column)] ==
              (inside ? static_cast<float>(r * 48 + c + 1) : 0));
    }
  }
}

// CUDA C++ Programming Guide, swizzle modes: within 8 lines of 128 bytes, chunk c of a row is where
// c ^ line (128 bytes), c ^ line / 2 (64) or c ^ line / 4 (32) would be, counting by rows.
TEST_CASE("a swizzled box has its chunks where the hardware puts them",
          "[codegen_cuda][box_copy]") {
  for (int bits : {1, 2, 3}) {
    const int columns = 4 << bits;
    View view = Matrix(static_cast<uint16_t>(columns));
    const std::vector<float> plain = Copied(view);
    view.swizzle = static_cast<unsigned char>(bits);
    const std::vector<float> swizzled = Copied(view);
    const int rows_of_line = 8 >> bits;
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < columns; ++column) {
        const int chunk = (column / 4) ^ (row / rows_of_line % (1 << bits));
        INFO(bits << " bits: " << row << ", " << column);
        REQUIRE(swizzled[static_cast<size_t>(row * columns + chunk * 4 + column % 4)] ==
                plain[static_cast<size_t>(row * columns + column)]);
      }
    }
  }
}

TEST_CASE("a box of rank 5 whose dimensions overlap is copied like the loops over it",
          "[codegen_cuda][box_copy]") {
  const View view = {.elements = Counting(2000),
                     .extents = {5, 4, 3, 6, 2},
                     .strides = {1, 8, 4, 100, 700},
                     .box = {4, 3, 2, 3, 2},
                     .first = {2, -1, 2, 4, 1}};
  const std::vector<float> got = Copied(view);
  std::array<int, 5> at{};
  for (float element : got) {
    size_t offset = 0;
    bool inside = true;
    for (size_t i = 0; i < at.size(); ++i) {
      const int index = view.first[i] + at[i];
      inside = inside && index >= 0 && index < static_cast<int>(view.extents[i]);
      offset += static_cast<size_t>(std::max(index, 0)) * view.strides[i];
    }
    REQUIRE(element == (inside ? view.elements[offset] : 0));
    for (size_t i = 0; i < at.size() && ++at[i] == view.box[i]; ++i) at[i] = 0;
  }
}

TEST_CASE("a box of tf32 is rounded, halves to even", "[codegen_cuda][box_copy]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  auto of = [](uint32_t bits) { return std::bit_cast<float>(bits); };
  View view{.elements = {of(0x3f801000), of(0x3f803000), of(0x3f801001), of(0xbf800fff), kInfinity,
                         -kInfinity, of(0x7f800001), of(0x00001000)},
            .extents = {8},
            .strides = {1},
            .box = {8},
            .first = {0},
            .rounds_to_tf32 = true};
  const std::vector<float> got = Copied(view);
  CHECK(got[0] == of(0x3f800000));
  CHECK(got[1] == of(0x3f804000));
  CHECK(got[2] == of(0x3f802000));
  CHECK(got[3] == of(0xbf800000));
  CHECK(got[4] == kInfinity);
  CHECK(got[5] == -kInfinity);
  CHECK(std::isnan(got[6]));
  CHECK(got[7] == 0);
}

// Sums the columns of 6 boxes of 8 rows of 32, two stages at a time: the box of the next step is
// copied while one is used.
constexpr char kPipelined[] = R"(#include "tcc_emulator.h"
TCC_KERNEL(boxes, 64)(TCC_MAP(view), TCC_OUTPUT(float, y)) {
  TCC_SHARED_AT(float, tile, 0, 512);
  TCC_SHARED_AT(unsigned long long, arrived, 2048, 2);
  tcc_wait_for_launch_before();
  const int t = tcc_thread_x();
  if (t == 0) {
    tcc_init_boxes(arrived, 0);
    tcc_init_boxes(arrived, 1);
  }
  tcc_barrier();  // made
  if (t == 0) {
    tcc_expect_boxes(arrived, 0, 1024);
    tcc_copy_box(tile, 0, view, arrived, 0, 0, 0);
  }
  float sum = 0;
  for (int step = 0; step < 6; ++step) {
    if (t == 0 && step + 1 < 6) {
      tcc_expect_boxes(arrived, (step + 1) % 2, 1024);  // the next
      tcc_copy_box(tile, (step + 1) % 2 * 256, view, arrived, (step + 1) % 2, 0, 8 * step + 8);
    }
    tcc_wait_boxes(arrived, step % 2, step / 2 % 2);
    for (int row = t / 32; row < 8; row += 2) sum += tile[step % 2 * 256 + row * 32 + t % 32];
    tcc_barrier();  // used
  }
  y[t] = sum;
}
TCC_END_KERNEL(boxes)
)";

View Stages() {
  View view{.elements = Counting(size_t{48} * 32),
            .extents = {32, 48},
            .strides = {1, 32},
            .box = {32, 8},
            .first = {}};
  return view;
}

TEST_CASE("boxes arrive phase after phase, in every order of threads", "[codegen_cuda][box_copy]") {
  std::vector<float> output;
  const Status status = RunText(kPipelined, Stages(), 64, true, &output);
  INFO(Message(status));
  REQUIRE(status.ok());
  for (size_t t = 0; t < 64; ++t) {
    float sum = 0;
    for (size_t row = t / 32; row < 48; row += 2) sum += Stages().elements[row * 32 + t % 32];
    CHECK(output[t] == sum);
  }
}

TEST_CASE("a mistake with a box is named", "[codegen_cuda][box_copy]") {
  auto mistake = [](std::string_view piece, std::string_view by) {
    std::vector<float> output;
    return Message(RunText(Replaced(kPipelined, piece, by), Stages(), 64, true, &output));
  };
  auto has = [](const std::string& text) { return Catch::Contains(text); };
  const std::string wait = "tcc_wait_boxes(arrived, step % 2, step / 2 % 2);";
  CHECK_THAT(mistake(wait, ""), has("tile[0] races with thread 63"));
  CHECK_THAT(
      mistake(wait, "if (t != 5) " + wait),
      has("thread (5, 0, 0)") && has("tile[5] is of a box that the thread has not waited for"));
  // A phase that is over does not wait for the one that runs.
  CHECK_THAT(mistake("step / 2 % 2)", "1 - step / 2 % 2)"), has("tile[0] races with thread 63"));
  CHECK_THAT(mistake("step / 2 % 2)", "0)"), has("not waited for"));
  CHECK_THAT(mistake("1024);  // the next", "1008);"),
             has("got boxes of 1024 bytes; expected were 1008"));
  CHECK_THAT(mistake("1024);  // the next", "1040);"), has("deadlock: threads 0 to 63 at boxes"));
  CHECK_THAT(mistake("tcc_expect_boxes(arrived, (step + 1) % 2, 1024);  // the next", ""),
             has("deadlock: threads 0 to 63 at boxes"));
  CHECK_THAT(mistake("tcc_barrier();  // used", ""),
             has("tile[0] gets a box although no barrier of the block has followed the one there"));
  CHECK_THAT(mistake("tcc_barrier();  // made", ""), has("arrived[0] is not a barrier of boxes"));
  CHECK_THAT(mistake("    tcc_init_boxes(arrived, 1);\n", ""),
             has("arrived[1] is not a barrier of boxes"));
  CHECK_THAT(mistake("tcc_init_boxes(arrived, 1);", "tcc_init_boxes(arrived, 0);"),
             has("arrived[0] is a barrier of boxes already"));
  CHECK_THAT(mistake("view, arrived, 0, 0, 0);", "view, arrived, 0, 0);"),
             has("tile[0] gets a box with 1 coordinates; the rank of its map is 2"));
  CHECK_THAT(mistake("tile, (step + 1) % 2 * 256,", "tile, (step + 1) % 2 * 272,"),
             has("tile[272] gets a box although it does not lie at a multiple of 128 bytes"));
  CHECK_THAT(mistake("tile, (step + 1) % 2 * 256,", "tile, (step + 1) % 2 * 288,"),
             has("tile[288] gets a box of 1024 bytes; its array has 896 from there on"));
  CHECK_THAT(mistake("step + 1 < 6", "step < 6"),
             has("the block ends while boxes are on their way"));
  CHECK_THAT(mistake("  tcc_wait_for_launch_before();\n", ""),
             has("tile[0] is accessed without waiting for the launch before"));
}

}  // namespace
}  // namespace tcc::test
