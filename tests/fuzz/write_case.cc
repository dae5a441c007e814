#include "tests/fuzz/write_case.h"

#include <filesystem>
#include <fstream>

#include "support/npy.h"

namespace tcc {

Status WriteCase(const std::string& folder, const RandomModel& model,
                 const std::vector<Tensor>& outputs) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::ofstream file(folder + "/model.onnx", std::ios::binary);
  file.write(model.bytes.data(), std::ssize(model.bytes));
  std::ofstream(folder + "/tolerance.txt") << model.tolerance << "\n";
  if (!file) return InvalidInput("cannot write to {}", folder);
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    TCC_RETURN_IF_ERROR(WriteNpy(model.inputs[i], fmt::format("{}/input_{}.npy", folder, i)));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    TCC_RETURN_IF_ERROR(WriteNpy(outputs[i], fmt::format("{}/output_{}.npy", folder, i)));
  }
  return OkStatus();
}

}  // namespace tcc
