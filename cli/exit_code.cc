#include "cli/exit_code.h"

namespace tcc {

namespace {

constexpr ExitCodeRow kExitCodes[] = {
    {kExitOk, "all went well"},
    {kExitWrongResult, "a result is wrong"},
    {kExitUsage, "the command line is wrong"},
    {kExitUnsupported, "the model uses what this version does not support"},
    {kExitBadInput, "an input is bad"},
    {kExitMissing, "a device or a tool is missing"},
    {kExitBudget, "a budget ended"},
    {kExitInternal, "a bug in tcc"},
    {kExitCancelled, "interrupted by Ctrl-C"},
};

}  // namespace

std::span<const ExitCodeRow> ExitCodes() {
  return kExitCodes;
}

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
