#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/tensor.h"

namespace tcc {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// "x.npz".
bool IsNpz(const std::string& path);
// Whether what an option was given is an archive and no "name=file": one may have '=' in its path.
bool IsNpzAlone(const std::string& text);

// The arrays of an archive by numpy.savez or numpy.savez_compressed, by their names. Errors are
// those of the archive (zip_archive.h) and of the arrays (npy.h), with path and name.
StatusOr<NamedTensors> ReadNpz(const std::string& path);

// As numpy.savez writes them; the file appears whole or not at all.
Status WriteNpz(const NamedTensors& tensors, const std::string& path);

}  // namespace tcc
