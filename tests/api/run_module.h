#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "api/tcc.h"

// Compiling and running through the embedding API, for tests that see no header of the compiler.

inline tcc::Artefact Compiled(const std::vector<uint8_t>& model,
                              const tcc::CompileOptions& options = {}) {
  tcc::Result<tcc::Artefact> artefact = tcc::Compile(std::span(model), options);
  INFO(artefact.status().message());
  REQUIRE(artefact.ok());
  return *artefact;
}

inline tcc::Module Loaded(tcc::Result<tcc::Module> module) {
  INFO(module.status().message());
  REQUIRE(module.ok());
  return *module;
}

// Tensors for all inputs and outputs of a module.
struct Feed {
  explicit Feed(const tcc::Module& module) {
    for (const tcc::TensorInfo& info : module.inputs()) {
      memory.push_back(tcc::AllocateAligned(info.bytes));
      auto* values = static_cast<float*>(memory.back().get());
      for (size_t i = 0; i < info.bytes / sizeof(float); ++i) {
        values[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
      }
      inputs.push_back({info.name, info.dtype, values, info.bytes});
    }
    for (const tcc::TensorInfo& info : module.outputs()) {
      memory.push_back(tcc::AllocateAligned(info.bytes));
      outputs.push_back({info.name, info.dtype, memory.back().get(), info.bytes});
    }
  }

  std::vector<float> FirstOutput() const {
    std::vector<float> values(outputs[0].bytes / sizeof(float));
    std::memcpy(values.data(), outputs[0].data, outputs[0].bytes);
    return values;
  }

  std::vector<std::shared_ptr<void>> memory;
  std::vector<tcc::Input> inputs;
  std::vector<tcc::Output> outputs;
};

inline std::vector<float> RunOnce(const tcc::Module& module) {
  Feed feed(module);
  tcc::Status status = module.Run(feed.inputs, feed.outputs);
  INFO(status.message());
  REQUIRE(status.ok());
  return feed.FirstOutput();
}
