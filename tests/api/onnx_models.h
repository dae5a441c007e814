#pragma once

#include <cstdint>
#include <string>
#include <vector>

// ONNX files for tests of the embedding API, which see none of the compiler's own types.

// A small network of the zoo.
std::vector<uint8_t> SmallNetwork(const std::string& name);
// y = x + b for f32[2x3] tensors, all three of them inputs and outputs.
std::vector<uint8_t> AddModel();
// An artefact, no model: y = x for f32[Nx3] tensors, 1 <= N <= 8.
std::vector<uint8_t> CopyArtefact();
