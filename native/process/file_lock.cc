#include "process/file_lock.h"

#include <sys/file.h>

#include <cerrno>

#include "base/error.h"

namespace trellis {

bool TryLockFile(int fd) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno != EWOULDBLOCK) ThrowErrno("lock a file");
  return false;
}

}  // namespace trellis
