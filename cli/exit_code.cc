#include "cli/exit_code.h"

namespace tcc {

Outcome OutcomeOf(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return {kExitOk, "ok"};
    case absl::StatusCode::kDataLoss:
      return {kExitWrongResult, "wrong_result"};
    case absl::StatusCode::kFailedPrecondition:
      return {kExitUsage, "usage"};
    case absl::StatusCode::kUnimplemented:
      return {kExitUnsupported, "unsupported"};
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kOutOfRange:
      return {kExitBadInput, "bad_input"};
    case absl::StatusCode::kResourceExhausted:
      return {kExitBadInput, "no_memory"};
    case absl::StatusCode::kUnavailable:
      return {kExitMissing, "missing"};
    case absl::StatusCode::kDeadlineExceeded:
      return {kExitBudget, "budget"};
    case absl::StatusCode::kCancelled:
      return {kExitCancelled, "cancelled"};
    default:
      return {kExitInternal,
              "internal"};  // the list of codes is Abseil's, which asks for a default
  }
}

ExitCode ExitCodeOf(const Status& status) {
  return OutcomeOf(status).code;
}

}  // namespace tcc
