// Memory of a table's size, straight from the kernel.
// Guarantees: zeros at first; given back at once when it goes, which the C library would not do; movable, one owner.
#pragma once
#include <sys/mman.h>

#include <new>
#include <utility>

#include "base/ip.h"

namespace trellis::xtables {

class Pages {
 public:
  explicit Pages(size_t size) : size_(size) {
    void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<uint8_t*>(at);
    // A table of ten thousand services has as many pages; large ones cost a fault in five hundred. Only advice.
    madvise(at, size, MADV_HUGEPAGE);
  }
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  // May move them. What is new is zeros, or what was there before a smaller size.
  void Resize(size_t size) {
    void* at = mremap(data_, size_, size, MREMAP_MAYMOVE);
    if (at == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<uint8_t*>(at);
    size_ = size;
  }

  ~Pages() {
    if (data_ != nullptr) munmap(data_, size_);
  }

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  Bytes bytes() const { return {data_, size_}; }

 private:
  uint8_t* data_;
  size_t size_;
};

}  // namespace trellis::xtables
