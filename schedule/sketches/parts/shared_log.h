#pragma once

#include <memory>
#include <vector>

namespace tcc {

// An append-only list whose copies share their common prefix: copying is cheap, and so is appending
// to the copy that was appended to last. All copies belong to one thread.
template <typename T>
class SharedLog {
 public:
  void Add(T item) {
    if (count_ < items_->size()) {
      // Another copy appended after this prefix, or did before it was destroyed.
      auto first = items_->begin();
      auto end = first + static_cast<std::ptrdiff_t>(count_);
      if (items_.use_count() == 1) {
        items_->erase(end, items_->end());
      } else {
        items_ = std::make_shared<std::vector<T>>(first, end);
      }
    }
    items_->push_back(std::move(item));
    ++count_;
  }

  size_t size() const { return count_; }
  const T* begin() const { return items_->data(); }
  const T* end() const { return items_->data() + count_; }

 private:
  std::shared_ptr<std::vector<T>> items_ = std::make_shared<std::vector<T>>();
  size_t count_ = 0;
};

}  // namespace tcc
