#include "runtime/artefact/gpu_program.h"

#include <catch2/catch.hpp>
#include <functional>

#include "runtime/artefact/gpu_tensor_map.h"
#include "support/random.h"

using namespace tcc;

namespace {

using Kind = GpuArgument::Kind;

// A matrix of f16 with 64 columns and a free number of rows, in boxes of 16 rows.
GpuTensorMap SampleMap() {
  return {.array = {Kind::kBuffer, 1},
          .byte_offset = 256,
          .type = GpuMapType::kF16,
          .extents = {64, SizeExpr::Variable(0)},
          .byte_strides = {128},
          .box = {64, 16},
          .swizzle = GpuSwizzle::k128Bytes};
}

// Two launches with a workspace between them; the first one's grid depends on a shape.
GpuProgram SampleProgram() {
  SizeExpr n = SizeExpr::Variable(0);
  GpuLaunch fill{.symbol = "fill",
                 .grid = {Combine(SizeOp::kCeilDiv, n, 128), 1, 1},
                 .block = {128, 1, 1},
                 .static_shared_bytes = 512,
                 .arguments = {{Kind::kBuffer, 0}, {Kind::kWorkspace, 0}, {Kind::kShape, 0}}};
  GpuLaunch reduce{.symbol = "reduce",
                   .image = 1,
                   .block = {32, 4, 2},
                   .dynamic_shared_bytes = 65536,
                   .waits = true,
                   .arguments = {{Kind::kWorkspace, 0},
                                 {Kind::kBuffer, 1},
                                 {Kind::kTickets, 0},
                                 {Kind::kTensorMap, 0}},
                   .maps = {SampleMap()}};
  GpuProgram program{.sm = 90, .code = GpuCode::kCubin, .images = {}, .kernels = {}};
  program.images = {{.code = {1, 2, 3}}, {.code = {4}, .ptx = {'.', 'v'}}};
  program.kernels = {{.buffers = 2,
                      .shapes = 1,
                      .launches = {fill, reduce},
                      .workspace_bytes = {Combine(SizeOp::kMul, n, 4)}}};
  return program;
}

Metadata SampleMetadata() {
  Metadata metadata;
  metadata.kernels.push_back({.name = "sum", .nodes = {}});
  return metadata;
}

// The sample with a change, or why it is refused.
std::string Refusal(const std::function<void(GpuProgram&)>& change) {
  GpuProgram program = SampleProgram();
  change(program);
  return Message(VerifyGpuProgram(program, SampleMetadata()));
}

std::string MapRefusal(const std::function<void(GpuTensorMap&)>& change) {
  return Refusal([&](GpuProgram& program) { change(program.kernels[0].launches[1].maps[0]); });
}

std::string LaunchRefusal(const std::function<void(GpuLaunch&)>& change) {
  return Refusal([&](GpuProgram& program) { change(program.kernels[0].launches[0]); });
}

// The sample in OpenCL C with a change, or why it is refused.
std::string OpenClRefusal(const std::function<void(GpuProgram&)>& change) {
  return Refusal([&](GpuProgram& program) {
    program.sm = 0;
    program.code = GpuCode::kOpenClText;
    program.images[1].ptx.clear();
    GpuLaunch& reduce = program.kernels[0].launches[1];
    reduce.arguments.pop_back();
    reduce.maps.clear();
    change(program);
  });
}

std::string OpenClLaunchRefusal(const std::function<void(GpuLaunch&)>& change) {
  return OpenClRefusal([&](GpuProgram& program) { change(program.kernels[0].launches[0]); });
}

}  // namespace

TEST_CASE("a program of kernels for a GPU survives encoding", "[runtime][gpu_program]") {
  const GpuProgram program = SampleProgram();
  CHECK(VerifyGpuProgram(program, SampleMetadata()).ok());
  std::vector<uint8_t> bytes = GpuProgramBytes(program);
  StatusOr<GpuProgram> back = ParseGpuProgram(bytes);
  REQUIRE(back.ok());
  CHECK(GpuProgramBytes(*back) == bytes);
  CHECK(back->sm == 90);
  CHECK(back->images[1].ptx == std::vector<uint8_t>{'.', 'v'});
  const GpuLaunch& fill = back->kernels[0].launches[0];
  CHECK(fill.symbol == "fill");
  CHECK(*Evaluate(fill.grid[0], std::vector<int64_t>{300}) == 3);
  CHECK(fill.arguments[2].kind == Kind::kShape);
  CHECK(back->kernels[0].launches[1].dynamic_shared_bytes == 65536);
  CHECK(back->kernels[0].launches[1].arguments[2].kind == Kind::kTickets);
  CHECK(back->kernels[0].launches[1].waits);
  CHECK_FALSE(fill.waits);
  CHECK(back->kernels[0].launches[1].arguments[3].kind == Kind::kTensorMap);
  CHECK(ToString(back->kernels[0].launches[1].maps.at(0)) ==
        "f16 [v0, 64] of buffer 1 at 256, strides [128] bytes, boxes [16, 64], swizzle 128");
}

TEST_CASE("a tensor map that no driver would encode is refused", "[runtime][gpu_program]") {
  const std::string map = "kernel 'sum': tensor map 0: ";
  CHECK(MapRefusal([](GpuTensorMap&) {}).empty());
  CHECK(Refusal([](GpuProgram& p) { p.sm = 86; }) ==
        "kernel 'sum': 'reduce' has tensor maps, which sm_86 lacks");
  CHECK(MapRefusal([](GpuTensorMap& m) { m.array = {Kind::kShape, 0}; }) ==
        map + "its array is an argument of kind 2; expected a buffer or workspace");
  CHECK(MapRefusal([](GpuTensorMap& m) { m.array = {Kind::kWorkspace, 1}; }) ==
        map + "its array is number 1 of its kind; there are 1");
  const std::string rank =
      "; expected a rank from 1 to 5, and a stride for each dimension but the innermost";
  CHECK(MapRefusal([](GpuTensorMap& m) { m.box.push_back(1); }) ==
        map + "2 extents, 1 strides and a box of rank 3" + rank);
  CHECK(MapRefusal([](GpuTensorMap& m) { m.byte_strides.clear(); }) ==
        map + "2 extents, 0 strides and a box of rank 2" + rank);
  CHECK(MapRefusal([](GpuTensorMap& m) {
          m.extents.assign(6, 1);
          m.byte_strides.assign(5, 16);
          m.box.assign(6, 1);
        }) == map + "6 extents, 5 strides and a box of rank 6" + rank);
  CHECK(MapRefusal([](GpuTensorMap& m) {
          m.extents = m.byte_strides = {};
          m.box = {};
        }) == map + "0 extents, 0 strides and a box of rank 0" + rank);
  CHECK(MapRefusal([](GpuTensorMap& m) {
          m.extents[1] = SizeExpr::Variable(1);
        }).starts_with(map + "extent: "));
  CHECK(MapRefusal([](GpuTensorMap& m) { m.byte_offset = 8; }) ==
        map + "byte offset 8; expected a multiple of 16 from 0 to 9223372036854775807");
  CHECK(MapRefusal([](GpuTensorMap& m) { m.byte_offset = -16; }).starts_with(map + "byte offset"));
  CHECK(MapRefusal([](GpuTensorMap& m) { m.extents[1] = (int64_t{1} << 32) + 1; }) ==
        map + "extent 4294967297; expected a multiple of 1 from 1 to 4294967296");
  CHECK(MapRefusal([](GpuTensorMap& m) { m.byte_strides[0] = 136; }) ==
        map + "byte stride 136; expected a multiple of 16 from 16 to 1099511627760");
  CHECK(MapRefusal([](GpuTensorMap& m) {
          m.byte_strides[0] = int64_t{1} << 40;
        }).starts_with(map + "byte stride 1099511627776"));
  CHECK(MapRefusal([](GpuTensorMap& m) { m.box[1] = 257; }) ==
        map + "a box of 257 elements along a dimension; expected 1 to 256");
  CHECK(MapRefusal([](GpuTensorMap& m) { m.box[1] = 0; }).starts_with(map + "a box of 0 elements"));
  CHECK(MapRefusal([](GpuTensorMap& m) { m.box[0] = 128; }) ==
        map + "a box with rows of 256 bytes; expected the 128 of its swizzle");
  CHECK(MapRefusal([](GpuTensorMap& m) {
          m.swizzle = GpuSwizzle::kNone;
          m.box[0] = 4;
        }) == map + "a box with rows of 8 bytes; expected a multiple of 16");
  CHECK(Refusal([](GpuProgram& p) { p.kernels[0].launches[1].dynamic_shared_bytes = 2047; }) ==
        map + "a box has 2048 bytes; the launch has 2047 of shared memory");
}

TEST_CASE("the sizes of a tensor map are checked again once they are known",
          "[runtime][gpu_program]") {
  GpuTensorMap map = SampleMap();
  const std::vector<int64_t> rows = {3};
  StatusOr<TensorMapSizes> sizes = SizesOf(map, rows, 256 + 3 * 128);
  REQUIRE(sizes.ok());
  CHECK(sizes->byte_offset == 256);
  CHECK(sizes->extents[0] == 64);
  CHECK(sizes->extents[1] == 3);
  CHECK(sizes->byte_strides[0] == 128);
  CHECK(sizes->bytes == 3 * 128);
  auto refusal = [&](int64_t size, int64_t bytes) {
    return Message(SizesOf(map, std::vector<int64_t>{size}, bytes).status());
  };
  const std::string outside = "the elements from byte 256 on do not lie in their array of ";
  CHECK(refusal(3, 256 + 3 * 128 - 1) == outside + "639 bytes");
  CHECK(refusal(1, 100) == outside + "100 bytes");
  CHECK(refusal(int64_t{1} << 32, 1 << 20) == outside + "1048576 bytes");
  CHECK(refusal(0, 1000) == "extent 0; expected a multiple of 1 from 1 to 4294967296");
  map.byte_strides[0] = SizeExpr::Variable(0);
  CHECK(refusal(24, 1 << 20) ==
        "byte stride 24; expected a multiple of 16 from 16 to 1099511627760");
  // Rows may overlap, and the last one need not fill its stride.
  map.extents[1] = 5;
  CHECK(SizesOf(map, std::vector<int64_t>{16}, 256 + 4 * 16 + 128)->bytes == 4 * 16 + 128);
  CHECK(SizesOf(map, std::vector<int64_t>{4096}, 256 + 4 * 4096 + 128)->bytes == 4 * 4096 + 128);
}

TEST_CASE("a program that does not fit its model or any GPU is refused by name",
          "[runtime][gpu_program]") {
  CHECK(Refusal([](GpuProgram& p) { p.sm = -1; }) ==
        "kernels are for arch sm_-1, which does not exist");
  CHECK(Refusal([](GpuProgram& p) { p.kernels.push_back({}); }) ==
        "kernels section has 2 kernels; the metadata has 1");
  CHECK(Refusal([](GpuProgram& p) { p.images[0].code.clear(); }) ==
        "kernels section: image 0 is empty");
  CHECK(Refusal([](GpuProgram& p) {
          p.kernels[0].shapes = 0;
        }).starts_with("kernel 'sum': workspace: "));
  CHECK(LaunchRefusal([](GpuLaunch& l) { l.symbol = "a b"; }) ==
        "kernel 'sum': a launch's symbol is not a word");
  CHECK(LaunchRefusal([](GpuLaunch& l) { l.image = 2; }) ==
        "kernel 'sum': 'fill' is in image 2; there are 2");
  CHECK(LaunchRefusal([](GpuLaunch& l) {
          l.grid[1] = SizeExpr::Variable(1);
        }).starts_with("kernel 'sum': grid: "));
  CHECK(LaunchRefusal([](GpuLaunch& l) { l.block = {1, 0, 1}; }) ==
        "kernel 'sum': a block has 1 x 0 x 1 threads; expected at most 1024, 64 in z");
  CHECK(LaunchRefusal([](GpuLaunch& l) { l.block = {33, 32, 1}; }) ==
        "kernel 'sum': a block has 33 x 32 x 1 threads; expected at most 1024, 64 in z");
  CHECK(LaunchRefusal([](GpuLaunch& l) { l.dynamic_shared_bytes = 227 << 10; }) ==
        "kernel 'sum': shared memory has 512 static and 232448 dynamic bytes; expected at most "
        "232448 in all");
  CHECK(LaunchRefusal([](GpuLaunch& l) { l.arguments.push_back({Kind::kBuffer, 2}); }) ==
        "kernel 'sum': argument 3 is number 2 of its kind; there are 2");
  CHECK(LaunchRefusal([](GpuLaunch& l) { l.arguments.push_back({Kind::kTickets, 1}); }) ==
        "kernel 'sum': argument 3 is number 1 of its kind; there are 1");
  CHECK(LaunchRefusal([](GpuLaunch& l) { l.arguments.resize(512); }).empty());
  CHECK(LaunchRefusal([](GpuLaunch& l) { l.arguments.resize(513); }) ==
        "kernel 'sum': the arguments of a launch take 4104 bytes; expected at most 4096");
  // The map begins at byte 3968, or at 4032.
  auto last_of = [](size_t others) {
    return Refusal([&](GpuProgram& p) {
      p.kernels[0].launches[1].arguments.assign(others, {Kind::kTickets, 0});
      p.kernels[0].launches[1].arguments.push_back({Kind::kTensorMap, 0});
    });
  };
  CHECK(last_of(496).empty());
  CHECK(last_of(497) ==
        "kernel 'sum': the arguments of a launch take 4160 bytes; expected at most 4096");
  CHECK(LaunchRefusal([](GpuLaunch& l) { l.arguments.push_back({Kind::kTensorMap, 0}); }) ==
        "kernel 'sum': argument 3 is number 0 of its kind; there are 0");
}

TEST_CASE("a program in OpenCL C is within what OpenCL allows, not CUDA",
          "[runtime][gpu_program]") {
  const std::string kernel = "kernel 'sum': ";
  CHECK(OpenClRefusal([](GpuProgram&) {}).empty());
  CHECK(OpenClRefusal([](GpuProgram& p) { p.sm = 86; }) ==
        "kernels in OpenCL C are for arch sm_86; expected none");
  CHECK(OpenClRefusal([](GpuProgram& p) { p.images[0].ptx = {'.'}; }) ==
        "kernels section: image 0 has PTX beside OpenCL C");
  CHECK(OpenClRefusal([](GpuProgram& p) { p.images[0].code.clear(); }) ==
        "kernels section: image 0 is empty");
  CHECK(OpenClRefusal([](GpuProgram& p) {
          p.kernels[0].launches[1].maps.push_back(SampleMap());
        }) == kernel + "'reduce' has tensor maps, which OpenCL lacks");
  CHECK(OpenClLaunchRefusal([](GpuLaunch& l) { l.arguments.push_back({Kind::kTensorMap, 0}); }) ==
        kernel + "argument 3 is number 0 of its kind; there are 0");
  CHECK(OpenClLaunchRefusal([](GpuLaunch& l) { l.block = {1, 1, 4096}; }).empty());
  CHECK(OpenClLaunchRefusal([](GpuLaunch& l) { l.block = {256, 1, 257}; }) ==
        kernel + "a block has 256 x 1 x 257 threads; expected at most 65536");
  CHECK(OpenClLaunchRefusal([](GpuLaunch& l) { l.block = {0, 1, 1}; }) ==
        kernel + "a block has 0 x 1 x 1 threads; expected at most 65536");
  CHECK(OpenClLaunchRefusal([](GpuLaunch& l) { l.static_shared_bytes = 512 << 10; }).empty());
  CHECK(OpenClLaunchRefusal([](GpuLaunch& l) { l.static_shared_bytes = -1; }) ==
        kernel +
            "shared memory has -1 static and 0 dynamic bytes; expected at most 1073741824 in all");
  CHECK(OpenClLaunchRefusal([](GpuLaunch& l) {
          l.dynamic_shared_bytes = INT64_MAX;
        }).starts_with(kernel + "shared memory has 512 static and 9223372036854775807 dynamic"));
  // A number takes 8 bytes, all others 16.
  CHECK(OpenClLaunchRefusal([](GpuLaunch& l) { l.arguments.resize(2048); }).empty());
  CHECK(OpenClLaunchRefusal([](GpuLaunch& l) { l.arguments.resize(2049); }) ==
        kernel + "the arguments of a launch take 32776 bytes; expected at most 32768");
}

TEST_CASE("damaged programs are refused or verify, and never read past their end",
          "[runtime][gpu_program]") {
  const std::vector<uint8_t> bytes = GpuProgramBytes(SampleProgram());
  for (size_t length = 0; length < bytes.size(); ++length) {
    CHECK_FALSE(ParseGpuProgram(std::span(bytes).first(length)).ok());
  }
  Random random(5);
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> damaged = bytes;
    damaged[random.Below(damaged.size())] ^= static_cast<uint8_t>(1 + random.Below(255));
    StatusOr<GpuProgram> program = ParseGpuProgram(damaged);
    if (program.ok()) (void)VerifyGpuProgram(*program, SampleMetadata());
  }
}
