// Locks between processes: that of one file, and that of the rules of one network namespace.
// Guarantees: nobody but root can take them; who waits too long is told to try again later (CNI's code 11); a lock is
// released when it goes out of scope and every program that was given it has ended, also when the process is killed.
#pragma once
#include <chrono>
#include <string>

#include "base/fd.h"

namespace trellis::cni {

inline constexpr std::chrono::milliseconds kLockPatience{20'000};

// Locks a regular file, made if need be; others may not open it from then on. `what` is for the error's message.
Fd LockFile(const std::string& path, const std::string& what, std::chrono::milliseconds patience = kLockPatience);

// Held by those who read the rules of a network namespace and write them. Programs that they run get it too, so that one
// that outlives a killed plugin keeps the next plugin waiting. Its file, and the directory with the last one, go with
// the last holder that ends in order.
class RulesLock {
 public:
  // Waits for its turn. A process holds at most one: a second would wait for the first.
  explicit RulesLock(const std::string& directory = "/run/trellis-cni", std::chrono::milliseconds patience = kLockPatience);
  ~RulesLock();
  RulesLock(const RulesLock&) = delete;
  RulesLock& operator=(const RulesLock&) = delete;

  // The descriptor of the one that this process holds, or -1.
  static int Held();

 private:
  std::string directory_;
  std::string path_;
  Fd fd_;
};

}  // namespace trellis::cni
