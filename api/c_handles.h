#pragma once

#include <exception>
#include <initializer_list>
#include <map>

#include "api/convert.h"
#include "api/tcc.h"
#include "api/tcc_c.h"

// The handles of the C API, and how its functions report failures.

struct tcc_error {
  tcc_code code;
  std::string message;
};

// Options of all functions, also of those that only libtcc has.
struct tcc_options {
  tcc::v1::LoadOptions load;
  tcc::v1::TuneOptions tune;                 // and compile
  std::map<std::string, tcc::Tensor> binds;  // views of the caller's memory, or tensors of files
};

struct tcc_module {
  tcc::v1::Module module;
};

struct tcc_executor {
  tcc::v1::Module module;
  tcc::v1::Executor executor;
};

namespace tcc {

// Returns what is wrong with a tensor whatever it is for, a text to follow its name.
std::optional<std::string> FaultOf(const tcc_tensor& tensor);

// Returns the options of loading; the defaults for null.
v1::LoadOptions LoadOptionsOf(const tcc_options* options);

// Returns the status' code; makes an error of a failure if `error` is not null.
tcc_code Report(const v1::Status& status, tcc_error** error) noexcept;

// Reports the v1::Status that `call` returns, or the exception that it throws.
template <typename Call>
tcc_code ReportCall(tcc_error** error, Call&& call) noexcept {
  try {
    return Report(call(), error);
  } catch (const std::bad_alloc&) {
    return Report({v1::Code::kNoMemory, "out of memory"}, error);
  } catch (const std::exception& exception) {
    return Report({v1::Code::kInternal, exception.what()}, error);
  }
}

// Refuses addresses to write results to of which one is null.
v1::Status ExpectPlaces(std::initializer_list<const void*> places);

// Moves the value of the v1::Result that `call` returns into a new handle.
template <typename Handle, typename Call>
v1::Status MakeHandle(Handle** handle, Call&& call) {
  if (v1::Status status = ExpectPlaces({static_cast<const void*>(handle)}); !status.ok())
    return status;
  auto result = call();
  if (result.ok()) *handle = new Handle{std::move(*result)};
  return result.status();
}

// Reports how the handle's making ends.
template <typename Handle, typename Call>
tcc_code ReportHandle(Handle** handle, tcc_error** error, Call&& call) noexcept {
  return ReportCall(error, [&] { return MakeHandle(handle, call); });
}

}  // namespace tcc
