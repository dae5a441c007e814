#include "runtime/artefact/gpu_program.h"

#include <catch2/catch.hpp>
#include <functional>

#include "support/random.h"

using namespace tcc;

namespace {

using Kind = GpuArgument::Kind;

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
                   .arguments = {{Kind::kWorkspace, 0}, {Kind::kBuffer, 1}, {Kind::kTickets, 0}}};
  GpuProgram program{.sm = 86, .code = GpuCode::kCubin, .images = {}, .kernels = {}};
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

std::string LaunchRefusal(const std::function<void(GpuLaunch&)>& change) {
  return Refusal([&](GpuProgram& program) { change(program.kernels[0].launches[0]); });
}

}  // namespace

TEST_CASE("a program of kernels for a GPU survives encoding", "[runtime][gpu_program]") {
  const GpuProgram program = SampleProgram();
  CHECK(VerifyGpuProgram(program, SampleMetadata()).ok());
  std::vector<uint8_t> bytes = GpuProgramBytes(program);
  StatusOr<GpuProgram> back = ParseGpuProgram(bytes);
  REQUIRE(back.ok());
  CHECK(GpuProgramBytes(*back) == bytes);
  CHECK(back->sm == 86);
  CHECK(back->images[1].ptx == std::vector<uint8_t>{'.', 'v'});
  const GpuLaunch& fill = back->kernels[0].launches[0];
  CHECK(fill.symbol == "fill");
  CHECK(*Evaluate(fill.grid[0], std::vector<int64_t>{300}) == 3);
  CHECK(fill.arguments[2].kind == Kind::kShape);
  CHECK(back->kernels[0].launches[1].dynamic_shared_bytes == 65536);
  CHECK(back->kernels[0].launches[1].arguments[2].kind == Kind::kTickets);
  CHECK(back->kernels[0].launches[1].waits);
  CHECK_FALSE(fill.waits);
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
  CHECK(LaunchRefusal([](GpuLaunch& l) { l.arguments.resize(513); }) ==
        "kernel 'sum': a launch has 513 arguments; expected at most 512");
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
