#include "cni/lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <string>

#include "cni/error.h"

namespace trellis::cni {

FileLock::FileLock(const char* path) : fd_(open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0600)) {
  if (!fd_) throw Error(Code::IoFailure, std::string("cannot open ") + path);
  while (flock(fd_.get(), LOCK_EX) != 0)
    if (errno != EINTR) throw Error(Code::IoFailure, std::string("cannot lock ") + path);
}

}  // namespace trellis::cni
