// Compiles a network, saves the artefact, runs it once and prints each output's sum.
//
//   compile_and_run MODEL.onnx [OUT.tcc]
#include <cstdio>
#include <iostream>
#include <memory>
#include <vector>

#include <tcc/tcc.h>

namespace {

int Fail(const tcc::Status& status) {
  std::cerr << status.message() << "\n";
  return static_cast<int>(status.code());
}

// 0, 1/8, ..., 1, 0, ...; other types than f32 stay zero.
void Fill(const tcc::TensorInfo& info, void* data) {
  if (info.dtype != tcc::DType::kFloat32) return;
  auto* values = static_cast<float*>(data);
  for (std::size_t i = 0; i < info.bytes / sizeof(float); ++i) values[i] = float(i % 9) / 8;
}

double Sum(const tcc::TensorInfo& info, const void* data) {
  if (info.dtype != tcc::DType::kFloat32) return 0;
  const auto* values = static_cast<const float*>(data);
  double sum = 0;
  for (std::size_t i = 0; i < info.bytes / sizeof(float); ++i) sum += values[i];
  return sum;
}

int Run(const tcc::Module& module) {
  // Memory at a multiple of tcc::kAlignment is used where it is.
  std::vector<std::shared_ptr<void>> memory;
  std::vector<tcc::Input> inputs;
  std::vector<tcc::Output> outputs;
  for (const tcc::TensorInfo& info : module.inputs()) {
    memory.push_back(tcc::AllocateAligned(info.bytes));
    Fill(info, memory.back().get());
    inputs.push_back({info.name, info.dtype, memory.back().get(), info.bytes});
  }
  for (const tcc::TensorInfo& info : module.outputs()) {
    memory.push_back(tcc::AllocateAligned(info.bytes));
    outputs.push_back({info.name, info.dtype, memory.back().get(), info.bytes});
  }
  tcc::Copies copies;
  tcc::Status status = module.Run(inputs, outputs, &copies);
  if (!status.ok()) return Fail(status);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::printf("%s sum %.6g\n", module.outputs()[i].name.c_str(),
                Sum(module.outputs()[i], outputs[i].data));
  }
  std::printf("%d tensors copied\n", copies.tensors);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::cerr << "usage: compile_and_run MODEL.onnx [OUT.tcc]\n";
    return 2;
  }
  tcc::CompileOptions options;
  options.target = "native";
  options.logger = [](tcc::LogLevel, std::string_view text) { std::cerr << text << "\n"; };
  tcc::Result<tcc::Artefact> artefact = tcc::Compile(argv[1], options);
  if (!artefact.ok()) return Fail(artefact.status());
  if (argc == 3) {
    tcc::Status saved = artefact->Save(argv[2]);
    if (!saved.ok()) return Fail(saved);
  }
  tcc::Result<tcc::Module> module = tcc::Module::Load(*artefact);
  if (!module.ok()) return Fail(module.status());
  return Run(*module);
}
