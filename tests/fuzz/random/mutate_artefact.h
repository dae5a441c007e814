#pragma once

#include <string>

#include "support/random.h"

namespace tcc {

// A compiled model with changed bytes: anywhere, so that a hash must notice, or in one section with
// every hash and offset made right again, as somebody who knows the format would do it.
std::string MutatedArtefact(const std::string& file, const std::string& donor, Random& random);

}  // namespace tcc
