// A lock between processes that change the rules of one network namespace; those of another do not wait.
// Guarantees: released when it goes out of scope, also when the process is killed; it leaves no file behind.
#pragma once
#include "base/fd.h"

namespace trellis::cni {

class RulesLock {
 public:
  // Waits for its turn. A process holds at most one: a second would wait for the first.
  RulesLock();

 private:
  Fd fd_;
};

}  // namespace trellis::cni
