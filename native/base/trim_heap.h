// Gives memory that was freed back to the system, at the end of a scope that needed much.
// Guarantees: does nothing after little, as it goes through all that is free. The C library alone would keep the pages,
// hundreds of megabytes of them in each thread's share, for a next time that may never come.
#pragma once
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <cstddef>

namespace trellis {

// Declare it before what it is to work after.
class TrimHeap {
 public:
  void Add(size_t bytes) { bytes_ += bytes; }
  ~TrimHeap() {
#ifdef __GLIBC__
    if (bytes_ > kMuch) malloc_trim(0);
#endif
  }

 private:
  static constexpr size_t kMuch = 1 << 20;
  size_t bytes_ = 0;
};

}  // namespace trellis
