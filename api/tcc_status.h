#pragma once

// The types that report failures of tcc's embedding API; included by tcc_runtime.h.

#include <optional>
#include <string>
#include <utility>

#define TCC_EXPORT [[gnu::visibility("default")]]

// Programs write tcc::Module; its symbols are tcc::v1::Module, distinct from the compiler's own
// classes of the same names. The compiler's sources see both and write v1.
#ifdef TCC_IMPLEMENTATION
#define TCC_API_BEGIN namespace v1 {
#else
#define TCC_API_BEGIN inline namespace v1 {
#endif
#define TCC_API_END }

namespace tcc {
TCC_API_BEGIN

// The kind of a failure. All numbers except those of kNoMemory and kCancelled are the command
// line's exit codes.
enum class Code {
  kOk = 0,
  kUsage = 2,        // options or arguments that do not fit the model
  kUnsupported = 3,  // the model asks for what this version does not have
  kBadInput = 4,     // a model, artefact or tensor that is not valid or not there
  kMissing = 5,      // a device, a CPU feature or disk space
  kBudget = 6,       // a limit of time ended
  kNoMemory = 7,     // the model, or a run of it, does not fit into memory
  kInternal = 70,    // a bug in tcc
  kCancelled = 130,
};

class [[nodiscard]] TCC_EXPORT Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  // Returns a text that names the thing, what was expected and what came; "" if ok.
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

// Prints the status and ends the program.
[[noreturn]] TCC_EXPORT void EndOnError(const Status& status);

// A value or the failure in its place. Access to the value of a failure ends the program.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit, as is the next
  Result(Status status) : status_(std::move(status)) {}

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() {
    if (!value_) EndOnError(status_);
    return *value_;
  }
  const T& value() const {
    if (!value_) EndOnError(status_);
    return *value_;
  }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

TCC_API_END
}  // namespace tcc
