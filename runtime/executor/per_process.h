#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace tcc {

// Returns the number of forks on the way to this process; a child's number differs from its
// parent's.
uint64_t ForkCount();

// One T per process. A fork copies a T whose locks other threads may hold and whose threads do not
// exist in the child. The child never touches that copy, not even to free it, and makes a T of its
// own on first use.
template <typename T>
class PerProcess {
 public:
  using Make = std::function<std::unique_ptr<T>()>;

  explicit PerProcess(Make make) : make_(std::move(make)), item_(NewItem().release()) {}
  ~PerProcess() {
    std::unique_ptr<Item> item(item_.load());
    if (item->forks != ForkCount()) item.release();
  }
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  // Returns the process's T. May be called from any thread. Takes no lock, which a fork could leave
  // held.
  T& Get() const {
    Item* item = item_.load(std::memory_order_acquire);
    return item->forks == ForkCount() ? *item->value : Renewed(item);
  }

 private:
  struct Item {
    uint64_t forks;
    std::unique_ptr<T> value;
  };

  std::unique_ptr<Item> NewItem() const {
    return std::make_unique<Item>(Item{ForkCount(), make_()});
  }

  // Makes this process's T. Concurrent callers race by compare-and-swap; the first one wins.
  T& Renewed(Item* old) const {
    std::unique_ptr<Item> item = NewItem();
    if (item_.compare_exchange_strong(old, item.get())) return *item.release()->value;
    return *old->value;
  }

  const Make make_;
  mutable std::atomic<Item*> item_;
};

}  // namespace tcc
