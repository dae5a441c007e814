#pragma once

#include <span>

#include "compiler/check/check_layers.h"

namespace tcc {

enum class LayerFormat : uint8_t { kText, kJson };

// Prints which calls of an artefact differ from the interpreter. As text: a table of the ten worst,
// and a last line that names the first kernel that is wrong by its own. As JSON: all calls. Fails
// with DataLoss if there is such a kernel.
Status ReportLayers(std::span<const CheckedCall> calls, const Notes& notes, LayerFormat format);

}  // namespace tcc
