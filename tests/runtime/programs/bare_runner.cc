// Runs an artefact on zeros: a program that links tcc_runtime and nothing else of tcc. A test reads
// which libraries it needs (no_compiler_test.cmake).
#include <fmt/format.h>
#include <cstdio>

#include "runtime/executor/aligned_memory.h"
#include "runtime/executor/binding.h"
#include "runtime/executor/executor.h"

namespace tcc {
namespace {

Status RunOnZeros(const char* path) {
  TCC_ASSIGN_OR_RETURN(Module module, Module::Load(path));
  const Metadata& metadata = module.metadata();
  std::vector<int64_t> smallest;
  for (const ShapeVariable& variable : metadata.shape_variables) smallest.push_back(variable.low);
  std::vector<Tensor> inputs;
  for (const TensorInfo& info : metadata.inputs) {
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, ShapeOf(info, metadata, smallest));
    TCC_ASSIGN_OR_RETURN(Tensor input, AllocateTensor(info.dtype, shape, info.name));
    inputs.push_back(std::move(input));
  }
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, Executor(module).Run(inputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    fmt::print("{} {}\n", metadata.outputs[i].name, ToString(outputs[i]));
  }
  return OkStatus();
}

}  // namespace
}  // namespace tcc

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: bare_runner ARTEFACT\n");
    return 2;
  }
  tcc::Status status = tcc::RunOnZeros(argv[1]);
  if (!status.ok()) fmt::print(stderr, "{}\n", tcc::Message(status));
  return status.ok() ? 0 : 4;
}
