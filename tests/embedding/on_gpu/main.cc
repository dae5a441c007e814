// Runs an artefact on memory and in a stream of the program's own, and prints what an embedder
// sees: whether the outputs are those of the ordinary run, and what mistakes are answered with.
//
//   on_gpu MODEL.tcc DEVICE ANOTHER_DEVICE SIZE_OF_FREE_DIMENSIONS
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <vector>

#include <tcc/tcc_runtime.h>

#include "tests/embedding/on_gpu/driver.h"

namespace {

void Print(const char* what, const tcc::Status& status) {
  std::printf("%s: %d %s\n", what, static_cast<int>(status.code()), status.message().c_str());
}

std::vector<std::int64_t> ShapeOf(const tcc::TensorInfo& info, std::int64_t size) {
  std::vector<std::int64_t> shape = info.shape;
  for (std::int64_t& dim : shape) dim = dim < 0 ? size : dim;
  return shape;
}

// The artefacts of the test have f32 only.
std::size_t BytesOf(const std::vector<std::int64_t>& shape) {
  std::size_t bytes = sizeof(float);
  for (std::int64_t dim : shape) bytes *= static_cast<std::size_t>(dim);
  return bytes;
}

// A module's tensors on the host and on the device.
struct Tensors {
  Tensors(const std::vector<tcc::TensorInfo>& infos,
          const std::vector<std::vector<std::int64_t>>& their_shapes, Device& device)
      : shapes(their_shapes) {
    for (std::size_t i = 0; i < infos.size(); ++i) {
      host.emplace_back(BytesOf(shapes[i]));
      on_device.push_back({infos[i].name, infos[i].dtype, device.Allocate(host[i].size()),
                           host[i].size(), shapes[i]});
    }
  }

  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<std::vector<char>> host;
  std::vector<tcc::DeviceTensor> on_device;
};

void Fill(Tensors& inputs, int seed) {
  for (std::vector<char>& bytes : inputs.host) {
    for (std::size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
      float value = static_cast<float>((i * 37 + static_cast<std::size_t>(seed) * 11) % 101) / 50;
      std::memcpy(&bytes[i * sizeof(float)], &value, sizeof(float));
    }
  }
}

// The outputs of the ordinary run, on the host's memory.
std::vector<std::vector<char>> Expected(const tcc::Module& module, const Tensors& inputs,
                                        const Tensors& outputs) {
  std::vector<std::vector<char>> results = outputs.host;
  std::vector<tcc::Input> in;
  std::vector<tcc::Output> out;
  for (std::size_t i = 0; i < inputs.host.size(); ++i) {
    in.push_back({"", module.inputs()[i].dtype, inputs.host[i].data(), inputs.host[i].size(),
                  inputs.shapes[i]});
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    out.push_back({"", module.outputs()[i].dtype, results[i].data(), results[i].size()});
  }
  Print("run", module.Run(in, out));
  return results;
}

// Everything is enqueued before anything is waited for.
tcc::Status RunEnqueued(tcc::Executor& executor, Device& device, const Tensors& inputs,
                        Tensors& outputs) {
  for (std::size_t i = 0; i < inputs.host.size(); ++i) {
    device.Upload(inputs.on_device[i].data, inputs.host[i]);
  }
  tcc::Status status = executor.Enqueue(inputs.on_device, outputs.on_device, device.stream());
  if (!status.ok()) return status;
  for (std::size_t i = 0; i < outputs.host.size(); ++i) {
    device.Download(outputs.host[i], outputs.on_device[i].data);
  }
  device.Synchronize();
  return status;
}

// What comes of one thing that is wrong about the first input.
void PrintMistakes(tcc::Executor& executor, const Tensors& inputs, const Tensors& outputs,
                   Device& device, Device& other) {
  auto attempt = [&](const char* what, auto change) {
    std::vector<tcc::DeviceTensor> wrong = inputs.on_device;
    change(wrong[0]);
    Print(what, executor.Enqueue(wrong, outputs.on_device, device.stream()));
  };
  std::array<std::int64_t, 1> shape = {1};
  attempt("type", [](tcc::DeviceTensor& x) { x.dtype = tcc::DType::kFloat64; });
  attempt("shape", [&](tcc::DeviceTensor& x) { x.shape = shape; });
  attempt("size", [](tcc::DeviceTensor& x) { x.bytes -= 4; });
  attempt("alignment", [](tcc::DeviceTensor& x) { x.data = static_cast<char*>(x.data) + 4; });
  attempt("memory", [&](tcc::DeviceTensor& x) { x.data = other.Allocate(x.bytes); });
  attempt("host", [&](tcc::DeviceTensor& x) {
    static std::shared_ptr<void> memory = tcc::AllocateAligned(x.bytes);
    x.data = memory.get();
  });
  attempt("none", [](tcc::DeviceTensor& x) { x.data = nullptr; });
  Print("stream", executor.Enqueue(inputs.on_device, outputs.on_device, other.stream()));
  Print("default stream", executor.Enqueue(inputs.on_device, outputs.on_device, nullptr));
}

tcc::Result<tcc::Module> LoadOn(int device, const char* path) {
  tcc::LoadOptions options;
  options.device = device;
  return tcc::Module::Load(path, options);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: on_gpu MODEL.tcc DEVICE ANOTHER_DEVICE SIZE_OF_FREE_DIMENSIONS\n";
    return 2;
  }
  const int ordinal = std::atoi(argv[2]), other_ordinal = std::atoi(argv[3]);
  Print("device 99", LoadOn(99, argv[1]).status());
  Print("another device", LoadOn(other_ordinal, argv[1]).status());
  tcc::Result<tcc::Module> module = LoadOn(ordinal, argv[1]);
  Print("device", module.status());
  if (!module.ok()) return 1;
  std::printf("on device %d\n", module->device().value_or(-1));

  const Driver driver;
  Device other(driver, other_ordinal), device(driver, ordinal);
  std::vector<std::vector<std::int64_t>> shapes;
  for (const tcc::TensorInfo& info : module->inputs()) {
    shapes.push_back(ShapeOf(info, std::atoi(argv[4])));
  }
  Tensors inputs(module->inputs(), shapes, device);
  Tensors outputs(module->outputs(), module->OutputShapes(inputs.on_device).value(), device);
  // Its memory ends before the device does.
  {
    tcc::Executor executor(*module);
    for (int run = 0; run < 3; ++run) {
      Fill(inputs, run);
      Print("enqueue", RunEnqueued(executor, device, inputs, outputs));
      std::printf("%s\n",
                  Expected(*module, inputs, outputs) == outputs.host ? "same" : "different");
    }
    PrintMistakes(executor, inputs, outputs, device, other);
  }
  return 0;
}
