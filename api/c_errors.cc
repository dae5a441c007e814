#include <algorithm>

#include "api/c_handles.h"

namespace tcc {
namespace {

// Returns the error of a failure for which there is no memory to tell more.
tcc_error* NoMemory() {
  static tcc_error error{TCC_NO_MEMORY, "out of memory"};
  return &error;
}

// Fields of the C++ API's options that messages name, and the C API's options.
constexpr std::pair<std::string_view, std::string_view> kOptionNames[] = {
    {"CompileOptions::dims", "option dim"},
    {"CompileOptions::ranges", "option dim"},
    {"CompileOptions::shapes", "option shape"},
    {"CompileOptions::binds", "option bind"},
    {"CompileOptions::target", "option target"},
    {"CompileOptions::follow_links", "option allow-symlinks"},
    {"TuneOptions::database", "option db"},
    {"TuneOptions::seconds", "option time-budget"},
    {"TuneOptions::trials", "option trials"},
    {"TuneOptions::searcher", "option searcher"},
    {"TuneOptions::policy", "option policy"},
    {"TuneOptions::cost_model", "option cost-model"},
};

std::string WithOptionNames(std::string message) {
  for (const auto& [field, option] : kOptionNames) {
    for (size_t at = message.find(field); at != message.npos; at = message.find(field)) {
      message.replace(at, field.size(), option);
    }
  }
  return message;
}

}  // namespace

v1::Status ExpectPlaces(std::initializer_list<const void*> places) {
  if (std::ranges::count(places, nullptr) == 0) return {};
  return {v1::Code::kUsage, "expected an address to write the result to, got null"};
}

tcc_code Report(const v1::Status& status, tcc_error** error) noexcept {
  const auto code = static_cast<tcc_code>(status.code());
  if (status.ok() || error == nullptr) return code;
  try {
    *error = new tcc_error{code, WithOptionNames(status.message())};
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
