#pragma once

#include <exception>
#include <memory>
#include <utility>

namespace tcc {

// LLVM is built without exceptions: it ends the process where memory is short, and its objects do
// not survive an exception that passes through them. With these two std::bad_alloc comes out of it
// instead, and what it was at is left as it is.

// Of the whole process. May be called any number of times.
void ThrowWhereMemoryIsShort();

// Owns a T, but for the case that an exception ends the scope.
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
