// A lock between processes: a file that one of them holds at a time.
// Guarantees: released when it goes out of scope, also when the process is killed; the file stays, as removing it would race.
#pragma once
#include "base/fd.h"

namespace trellis::cni {

class FileLock {
 public:
  // Waits for its turn; Error IoFailure when the file cannot be made.
  explicit FileLock(const char* path);

 private:
  Fd fd_;
};

}  // namespace trellis::cni
