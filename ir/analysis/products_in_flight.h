#pragma once

#include "ir/expr/stmt.h"
#include "support/status.h"

namespace tcc {

// Checks that nothing but further products touches the results of a group's products
// (AsyncKind::kProducts) between their commit and the wait that covers it, loops run again
// included. Error (InvalidInput): names the buffer.
Status CheckProductsInFlight(const Stmt& body);

}  // namespace tcc
