#include "cli/exit_code.h"

namespace tcc {

ExitCode ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kDataLoss:
      return kExitWrongResult;
    case absl::StatusCode::kFailedPrecondition:
      return kExitUsage;
    case absl::StatusCode::kUnimplemented:
      return kExitUnsupported;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kResourceExhausted:
      return kExitBadInput;
    case absl::StatusCode::kUnavailable:
      return kExitMissing;
    case absl::StatusCode::kDeadlineExceeded:
      return kExitBudget;
    default:
      return kExitInternal;  // the list of codes is Abseil's, which asks for a default
  }
}

}  // namespace tcc
