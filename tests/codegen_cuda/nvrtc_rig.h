#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen_cuda/nvrtc/nvrtc.h"
#include "codegen_cuda/text/cuda_source.h"
#include "schedule/sketches/parts/sketch.h"
#include "tests/codegen_cuda/emulated/emulated_program.h"

namespace tcc::test {

// The library, or nothing after a line that says why the test has to skip its compilations.
const Nvrtc* FindNvrtc();

Target GpuTarget(const std::string& name);
// "sm_75", ... "sm_90a".
const std::vector<std::string>& GpuTargets();

CudaSource SourceOf(const std::vector<Function>& functions, const std::string& target = "sm_86");

// As Nvrtc::Compile, but each text once a target for all tests of a run: what was made is kept in
// the cache folder.
StatusOr<Cubin> CompileOnce(const std::string& text, const std::string& target);

// Compiles it once; a failure is the test's, with the text and the log. Nothing where NVRTC is
// absent.
std::optional<Cubin> MustCompile(const CudaSource& source, const std::string& target = "sm_86");

// The lowered function of every sketch of `fn` for the target, at its start, renamed apart.
std::vector<Function> LoweredSketches(const Function& fn, const std::string& target = "sm_86");

// The first sketch of a product whose instructions each warp runs by itself.
Sketch WarpProductSketch(const Function& fn, const std::string& target);

// Every sketch of every task of a small network, named apart.
std::vector<Function> KernelsOfNetwork(const std::string& name, const std::string& target);

Function MustParse(const std::string& text);

}  // namespace tcc::test
