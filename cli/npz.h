#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/tensor.h"

namespace tcc {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Returns whether the path is like "x.npz".
bool IsNpz(const std::string& path);
// Returns whether an option's value is the path of an archive and not "name=file"; such a path may
// have '=' in it.
bool IsNpzAlone(const std::string& text);

// Reads the arrays of an archive by numpy.savez or numpy.savez_compressed, by their names. Errors
// are those of the archive and of the arrays (npy.h), with path and name.
StatusOr<NamedTensors> ReadNpz(const std::string& path);

// Writes an archive like numpy.savez; the file appears whole or not at all.
Status WriteNpz(const NamedTensors& tensors, const std::string& path);

}  // namespace tcc
