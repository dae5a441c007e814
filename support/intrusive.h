#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace tcc {

// The base of immutable shared nodes. The count is atomic, so handles may be copied on any thread.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  virtual ~RefCounted() = default;

  // Returns whether several handles refer to the node; a node with one handle occurs in one place.
  bool IsShared() const { return count_.load(std::memory_order_relaxed) > 1; }

 private:
  template <typename T>
  friend class Ref;
  mutable std::atomic<uint32_t> count_{0};
};

// An 8-byte handle to a const node, used as a value. May be null.
template <typename T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(const T* node) : node_(node) { Retain(); }
  Ref(const Ref& other) : node_(other.node_) { Retain(); }
  Ref(Ref&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  template <typename U>
    requires std::is_base_of_v<T, U>
  Ref(const Ref<U>& other) : node_(other.get()) {
    Retain();
  }
  Ref& operator=(Ref other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Ref() { Release(); }

  const T* get() const { return node_; }
  const T* operator->() const { return node_; }
  const T& operator*() const { return *node_; }
  explicit operator bool() const { return node_ != nullptr; }

 private:
  void Retain() const {
    if (node_)
      static_cast<const RefCounted*>(node_)->count_.fetch_add(1, std::memory_order_relaxed);
  }
  void Release() const {
    if (!node_) return;
    const RefCounted* base = node_;
    if (base->count_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete base;
  }

  const T* node_ = nullptr;
};

}  // namespace tcc
