#include "codegen_opencl/opencl_backend.h"

#include <catch2/catch.hpp>
#include <string>

#include "ir/text/parser.h"
#include "runtime/artefact/gpu_program.h"
#include "support/check.h"
#include "tests/codegen_opencl/syntax/opencl_syntax.h"

using namespace tcc;

namespace {

Function Parsed(const std::string& text) {
  StatusOr<Function> fn = ParseFunction(text);
  TCC_CHECK(fn.ok()) << Message(fn.status()) << " in\n" << text;
  return *fn;
}

// Two arrays of 2 KiB that take turns in one place, then a launch on its own.
constexpr const char* kTurns = R"(
  fn float(A: f32[512], B: f32[512], C: f32[512]) lowered {
    for t in 0..64 threadIdx.x {
      alloc S: f32[512] shared {
        for i in 0..8 { S[i * 64 + t] = A[i * 64 + t] }
        barrier(shared)
        for i in 0..8 { B[i * 64 + t] = S[511 - i * 64 - t] } }
      barrier(shared)
      alloc R: f32[512] shared {
        for i in 0..8 { R[i * 64 + t] = B[i * 64 + t] }
        barrier(shared)
        for i in 0..8 { B[i * 64 + t] = R[511 - i * 64 - t] } } }
    for b in 0..8 blockIdx.x { for t in 0..64 threadIdx.x { C[b * 64 + t] = B[b * 64 + t] } } })";

std::unique_ptr<Backend> OpenCl() {
  return MakeOpenClBackend(FindTarget("opencl").value());
}

}  // namespace

TEST_CASE("a program holds text that compiles, and launches ask for no more memory",
          "[codegen_opencl]") {
  LoweredModule module{.kernels = {Parsed(kTurns)}};
  module.kernels.push_back(
      Parsed("fn g(A: f64[4]) lowered { for t in 0..4 threadIdx.x { A[t] = 1 } }"));
  StatusOr<CompiledModule> compiled = OpenCl()->Compile(module, {});
  INFO(Message(compiled.status()));
  REQUIRE(compiled.ok());
  StatusOr<GpuProgram> program = ParseGpuProgram(compiled->image);
  INFO(Message(program.status()));
  REQUIRE(program.ok());
  CHECK(program->code == GpuCode::kOpenClText);
  CHECK(program->sm == 0);
  REQUIRE(program->images.size() == 1);
  const std::string text(program->images[0].code.begin(), program->images[0].code.end());
  CHECK(Message(CheckOpenClText(text)) == "");
  REQUIRE(program->kernels.size() == 2);
  const std::vector<GpuLaunch>& launches = program->kernels[0].launches;
  REQUIRE(launches.size() == 2);
  CHECK(launches[0].symbol == "k_float_0");
  CHECK(text.find("TCC_KERNEL(k_float_0, 64, 1, 1)") != std::string::npos);
  CHECK(launches[0].static_shared_bytes == 2048);
  CHECK(launches[0].dynamic_shared_bytes == 0);
  CHECK_FALSE(launches[0].waits);
  CHECK(launches[1].arguments.size() == 2);
}

TEST_CASE("what cannot be launched is refused, and the others are still described",
          "[codegen_opencl]") {
  LoweredModule module{
      .kernels = {
          Parsed(kTurns),
          Parsed("fn w(A: f32[512]) lowered { for t in 0..512 threadIdx.x { A[t] = 0 } }")}};
  StatusOr<CompiledModule> compiled = OpenCl()->Compile(module, {});
  REQUIRE(compiled.ok());
  CHECK(compiled->image.empty());
  CHECK(compiled->kernels[0].refused.ok());
  CHECK(Message(compiled->kernels[1].refused) ==
        "kernel 'k_w' has 512 x 1 x 1 threads; target 'opencl' allows 256, 256 along z");
}

TEST_CASE("OpenCL's only stage of code is its source", "[codegen_opencl]") {
  LoweredModule module{.kernels = {Parsed(kTurns)}};
  StatusOr<std::string> text = OpenCl()->Emit(module, "source");
  REQUIRE(text.ok());
  CHECK(Message(CheckOpenClText(*text)) == "");
  CHECK(Message(OpenCl()->Emit(module, "ptx").status()) == "target 'opencl' has no stage 'ptx'");
}
