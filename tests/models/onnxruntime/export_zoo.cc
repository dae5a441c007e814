// export_zoo DIR: writes every network of the zoo, in both sizes of weights, for foreign judges.
#include <cstdio>
#include <cstdlib>

#include "models/onnx/export_onnx.h"
#include "models/zoo/zoo.h"

namespace {

tcc::Status Export(const std::string& folder) {
  for (const std::string& name : tcc::ZooNames()) {
    TCC_ASSIGN_OR_RETURN(tcc::Graph small, tcc::BuildZoo(name, {.small = true, .seed = 1}));
    TCC_RETURN_IF_ERROR(tcc::ExportOnnx(small, folder + "/" + name + "_small.onnx"));
    TCC_ASSIGN_OR_RETURN(tcc::Graph full, tcc::BuildZoo(name, {.seed = 1}));
    TCC_RETURN_IF_ERROR(tcc::ExportOnnx(full, folder + "/" + name + ".onnx",
                                        {.weights = tcc::ExportOptions::Weights::kExternal}));
  }
  return tcc::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: export_zoo DIR\n");
    return 2;
  }
  tcc::Status status = Export(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", tcc::Message(status).c_str());
  return status.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}
