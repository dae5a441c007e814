#include "api/c_handles.h"

namespace tcc {
namespace {

// Returns the error of a failure for which there is no memory to tell more.
tcc_error* NoMemory() {
  static tcc_error error{TCC_NO_MEMORY, "out of memory"};
  return &error;
}

}  // namespace

tcc_code Report(const v1::Status& status, tcc_error** error) noexcept {
  const auto code = static_cast<tcc_code>(status.code());
  if (status.ok() || error == nullptr) return code;
  try {
    *error = new tcc_error{code, status.message()};
    return code;
  } catch (const std::bad_alloc&) {
    *error = NoMemory();
    return TCC_NO_MEMORY;
  }
}

}  // namespace tcc

tcc_code tcc_error_code(const tcc_error* error) {
  return error->code;
}

const char* tcc_error_message(const tcc_error* error) {
  return error->message.c_str();
}

void tcc_error_free(tcc_error* error) {
  if (error != tcc::NoMemory()) delete error;
}
