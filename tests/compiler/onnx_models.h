#pragma once

#include <cstdint>
#include <string>
#include <vector>

// ONNX files for tests of the embedding API, which see none of the compiler's own types.

// A small network of the zoo.
std::vector<uint8_t> SmallNetwork(const std::string& name);
// y = x + b for f32 tensors of `rows` times 3, all three of them inputs and outputs.
std::vector<uint8_t> AddModel(int64_t rows = 2);
// y = x + b for x of f32[Nx3], b of f32[Mx3] and a free N and M.
std::vector<uint8_t> FreeAddModel();
// y = x + s for x of f32[3] and a scalar s.
std::vector<uint8_t> ScalarModel();
// An artefact, no model: y = x for f32[Nx3] tensors, 1 <= N <= 8.
std::vector<uint8_t> CopyArtefact();
