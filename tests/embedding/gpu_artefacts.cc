// Writes artefacts for sm_86 whose kernels are CUDA text, which the emulated driver runs: a network
// as the compiler makes it, and one with a free dimension.
//
//   gpu_artefacts FOLDER
#include <cstdio>

#include "compiler/compile_graph.h"
#include "models/zoo/zoo.h"
#include "runtime/artefact/artefact.h"
#include "tests/codegen_cuda/emulator/cuda_artefacts.h"

namespace tcc {
namespace {

Status WriteArtefacts(const std::string& folder) {
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget("sm_86"));
  TCC_ASSIGN_OR_RETURN(Graph graph, BuildZoo("dqn", {.small = true}));
  CompileOptions options{.target = target, .threads = 2};
  options.gpu_code = GpuCode::kCudaText;
  TCC_ASSIGN_OR_RETURN(Artefact network, CompileGraph(std::move(graph), options));
  TCC_RETURN_IF_ERROR(WriteArtefact(network, folder + "/network.tcc"));
  return WriteArtefact(test::DynamicArtefact(), folder + "/free_dimension.tcc");
}

}  // namespace
}  // namespace tcc

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  tcc::Status status = tcc::WriteArtefacts(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", tcc::Message(status).c_str());
  return status.ok() ? 0 : 1;
}
