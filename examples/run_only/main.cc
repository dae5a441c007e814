// Runs an artefact in a program that holds no compiler, on the inputs that compile_and_run uses,
// and prints each output's sum.
//
//   run_only MODEL.tcc [RUNS [THREADS]]
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

#include <tcc/tcc_runtime.h>

namespace {

int Fail(const tcc::Status& status) {
  std::cerr << status.message() << "\n";
  return static_cast<int>(status.code());
}

struct Tensor {
  const tcc::TensorInfo* info;
  std::shared_ptr<void> memory;

  float* values() const { return static_cast<float*>(memory.get()); }
  // 0 for other types than f32.
  std::size_t count() const {
    return info->dtype == tcc::DType::kFloat32 ? info->bytes / sizeof(float) : 0;
  }
};

std::vector<Tensor> Allocate(const std::vector<tcc::TensorInfo>& infos) {
  std::vector<Tensor> tensors;
  for (const tcc::TensorInfo& info : infos) {
    tensors.push_back({&info, tcc::AllocateAligned(info.bytes)});
  }
  return tensors;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "usage: run_only MODEL.tcc [RUNS [THREADS]]\n";
    return 2;
  }
  int runs = argc > 2 ? std::atoi(argv[2]) : 1;
  tcc::LoadOptions options;
  options.threads = argc > 3 ? std::atoi(argv[3]) : 0;
  tcc::Result<tcc::Module> module = tcc::Module::Load(argv[1], options);
  if (!module.ok()) return Fail(module.status());

  std::vector<Tensor> in = Allocate(module->inputs()), out = Allocate(module->outputs());
  std::vector<tcc::Input> inputs;
  std::vector<tcc::Output> outputs;
  for (const Tensor& tensor : in) {
    for (std::size_t i = 0; i < tensor.count(); ++i) tensor.values()[i] = float(i % 9) / 8;
    inputs.push_back(
        {tensor.info->name, tensor.info->dtype, tensor.memory.get(), tensor.info->bytes});
  }
  for (const Tensor& tensor : out) {
    outputs.push_back(
        {tensor.info->name, tensor.info->dtype, tensor.memory.get(), tensor.info->bytes});
  }
  for (int i = 0; i < runs; ++i) {
    tcc::Status status = module->Run(inputs, outputs);
    if (!status.ok()) return Fail(status);
  }
  for (const Tensor& tensor : out) {
    double sum = 0;
    for (std::size_t i = 0; i < tensor.count(); ++i) sum += tensor.values()[i];
    std::printf("%s sum %.6g\n", tensor.info->name.c_str(), sum);
  }
  std::printf("%zu bytes of weights, %zu of activations\n", module->weights_bytes(),
              module->activation_bytes().value_or(0));
  return 0;
}
