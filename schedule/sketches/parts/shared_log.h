#pragma once

#include <memory>
#include <vector>

namespace tcc {

// A list that grows at its end and whose copies share what they have in common: copying is cheap,
// and so is adding to the copy that was added to last. Copies belong to one thread.
template <typename T>
class SharedLog {
 public:
  void Add(T item) {
    if (count_ < items_->size()) {
      // Others have gone on from here, or did before they were dropped.
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
