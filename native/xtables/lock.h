// The lock that all who change legacy tables take, and whether anybody has held it since we last did.
// Guarantees: never waited for, which would keep a thread of the pool. Whoever holds it and closes the file, as iptables
// does, or is another one of these, is noticed; where that cannot be watched, everybody counts as having held it.
#pragma once
#include <string>

#include "base/fd.h"

namespace trellis::xtables {

class Lock {
 public:
  explicit Lock(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  // KernelError EAGAIN while another holds it.
  void Take();
  // While it is held: whether nobody else has held it since Leave.
  bool IsUndisturbed() const { return undisturbed_; }
  // Others like this one notice it only if `changed`.
  void Leave(bool changed);

 private:
  void Open();
  bool Drain() const;  // whether somebody closed the file since it was last asked

  std::string path_;
  Fd file_, watch_;
  bool undisturbed_ = false;
};

}  // namespace trellis::xtables
