#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace tcc {

// Grows with every fork on the way to this process; a child's differs from its parent's.
uint64_t ForkCount();

// A T for each process. A fork copies one that other threads may have been at work in, whose locks
// nobody will give back and whose threads are not there: the child leaves it alone for good, memory
// and all, and makes one of its own when it asks for it.
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

  // From any thread; without a lock, which a fork could leave held.
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

  // Of several threads that come here at once the first one's is taken.
  T& Renewed(Item* old) const {
    std::unique_ptr<Item> item = NewItem();
    if (item_.compare_exchange_strong(old, item.get())) return *item.release()->value;
    return *old->value;
  }

  const Make make_;
  mutable std::atomic<Item*> item_;
};

}  // namespace tcc
