#pragma once

#include <cstdint>
#include <span>

#include "support/status.h"

namespace tcc {

// Checks whether the bytes of a ModelProto may be parsed, in one pass over the wire format that
// needs hardly any memory and no recursion. The parser would turn two bytes into an object of
// hundreds, and its strings end up in messages, in JSON and on terminals.
//
// Fails with InvalidArgument, naming the offset, for a tag, number or length that is cut short or
// runs over its message, groups and reserved wire types, graphs nested deeper than 64, more than
// 2^20 nodes, 2^16 metadata properties or 2^22 fields in all, and names that are not UTF-8 or hold
// control characters.
Status CheckModelMessage(std::span<const uint8_t> bytes);

}  // namespace tcc
