#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "support/status.h"

namespace tcc {

// NVIDIA's disassembler as a path: nvdisasm of the variable TCC_NVDISASM alone if it is set, else
// of CUDA_HOME/bin, /usr/local/cuda/bin, PATH, and the venv that scripts/setup.sh makes (TCC_VENV,
// or build/venv of the current folder or of the build that this program is in). Error
// (Unavailable): where it was sought.
StatusOr<std::string> FindDisassembler();

// The machine code of a cubin as text, kernel by kernel. Error (Unavailable): the disassembler
// fails, which says why on stderr.
StatusOr<std::string> Disassemble(const std::string& disassembler, std::span<const uint8_t> cubin);

}  // namespace tcc
