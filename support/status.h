#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Errors of the user or the environment are a Status: a bad model, an illegal step, a missing
// device. A message is lower case without a final stop and names the thing, what was expected and
// what came. A bug in tcc is a failed TCC_CHECK (check.h).
//
// The status code determines the command line's exit code:
//   InvalidArgument   bad or hostile input (4)     Unimplemented  unsupported model (3)
//   FailedPrecondition usage (2)                   Unavailable    device or toolchain missing (5)
//   DataLoss          wrong result (1)             ResourceExhausted  too large for memory (4)
namespace tcc {

using absl::Status;
using absl::StatusOr;

inline Status OkStatus() {
  return absl::OkStatus();
}

template <typename... Args>
Status InvalidInput(fmt::format_string<Args...> format, Args&&... args) {
  return absl::InvalidArgumentError(fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
Status Unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return absl::UnimplementedError(fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
Status UsageError(fmt::format_string<Args...> format, Args&&... args) {
  return absl::FailedPreconditionError(fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
Status Missing(fmt::format_string<Args...> format, Args&&... args) {
  return absl::UnavailableError(fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
Status WrongResult(fmt::format_string<Args...> format, Args&&... args) {
  return absl::DataLossError(fmt::format(format, std::forward<Args>(args)...));
}

// Returns the message as a std::string, since a distribution's Abseil may have its own string_view.
inline std::string Message(const Status& status) {
  return std::string(status.message());
}

// Returns the same failure with another message; payloads stay.
inline Status WithMessage(const Status& status, const std::string& message) {
  if (status.ok()) return status;
  Status changed(status.code(), message);
  status.ForEachPayload([&](auto url, const absl::Cord& value) { changed.SetPayload(url, value); });
  return changed;
}

// Returns the same failure with "context: " before its message.
inline Status Annotate(const Status& status, const std::string& context) {
  return WithMessage(status, context + ": " + Message(status));
}

}  // namespace tcc

#define TCC_RETURN_IF_ERROR(expr)                        \
  do {                                                   \
    if (::tcc::Status _status = (expr); !_status.ok()) { \
      return _status;                                    \
    }                                                    \
  } while (false)

#define TCC_CONCAT_INNER(a, b) a##b
#define TCC_CONCAT(a, b) TCC_CONCAT_INNER(a, b)

// TCC_ASSIGN_OR_RETURN(auto x, F()) declares x from an OK result or returns its Status.
#define TCC_ASSIGN_OR_RETURN(lhs, expr) \
  TCC_ASSIGN_OR_RETURN_IMPL(TCC_CONCAT(_status_or_, __LINE__), lhs, expr)
#define TCC_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                              \
  if (!tmp.ok()) return tmp.status();             \
  lhs = std::move(tmp).value()
