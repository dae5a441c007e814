#pragma once

#include <stop_token>

#include "support/status.h"

namespace tcc {

// Returns Cancelled once the caller has asked the work to stop. A default token never asks.
inline Status StopIfRequested(const std::stop_token& stop) {
  return stop.stop_requested() ? absl::CancelledError("cancelled") : OkStatus();
}

}  // namespace tcc
