#pragma once

#include <exception>
#include <memory>
#include <utility>

namespace tcc {

// The owner of a T that leaks it if an exception ends the scope: LLVM is built without exceptions,
// and its objects do not survive one that passes through them.
template <typename T>
class LeftOnThrow {
 public:
  explicit LeftOnThrow(std::unique_ptr<T> value) : value_(std::move(value)) {}
  template <typename... Args>
  explicit LeftOnThrow(std::in_place_t, Args&&... args)
      : value_(std::make_unique<T>(std::forward<Args>(args)...)) {}
  LeftOnThrow(const LeftOnThrow&) = delete;
  LeftOnThrow& operator=(const LeftOnThrow&) = delete;
  ~LeftOnThrow() {
    if (std::uncaught_exceptions() > exceptions_) static_cast<void>(value_.release());
  }

  T& operator*() const { return *value_; }
  T* operator->() const { return value_.get(); }
  std::unique_ptr<T> Take() { return std::move(value_); }

 private:
  int exceptions_ = std::uncaught_exceptions();
  std::unique_ptr<T> value_;
};

}  // namespace tcc
