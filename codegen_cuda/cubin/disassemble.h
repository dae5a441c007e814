#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "support/status.h"

namespace tcc {

// Returns the path of nvdisasm, NVIDIA's disassembler: $TCC_NVDISASM alone if it is set, else from
// CUDA_HOME/bin, /usr/local/cuda/bin, PATH, and the venv that scripts/setup.sh makes (TCC_VENV, or
// build/venv of the current folder or of the build that this program is in). Error (Unavailable):
// the message lists the places searched.
StatusOr<std::string> FindDisassembler();

// Returns the machine code of a cubin as text, kernel by kernel. Error (Unavailable): the
// disassembler fails; it says why on stderr.
StatusOr<std::string> Disassemble(const std::string& disassembler, std::span<const uint8_t> cubin);

}  // namespace tcc
