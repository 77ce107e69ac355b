// Runs an undo step at the end of a scope.
// Guarantees: the step runs exactly once unless the guard was dismissed.
#pragma once
#include <utility>

namespace trellis {

template <class Undo>
class Guard {
 public:
  explicit Guard(Undo undo) : undo_(std::move(undo)) {}
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() {
    if (armed_) undo_();
  }
  void Dismiss() { armed_ = false; }

 private:
  Undo undo_;
  bool armed_ = true;
};

}  // namespace trellis
