#pragma once

#include <string>

#include "support/random.h"

namespace tcc {

// A message of Protocol Buffers with a few fields changed, at any depth: removed, doubled, moved,
// taken from elsewhere in the message or from `donor`, numbers set to edges, wire types and lengths
// falsified, strings replaced by other strings of the message and by paths that no model should
// open. Lengths around a change are right, unless they are what was changed. Bytes that are no
// message come back as they are.
std::string MutatedProtobuf(const std::string& message, const std::string& donor, Random& random);

}  // namespace tcc
