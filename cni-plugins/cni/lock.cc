#include "cni/lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <string>

#include "cni/error.h"

namespace trellis::cni {

namespace {

// Every process of a network namespace opens the same inode here, and it goes away with the namespace.
constexpr const char* kNamespace = "/proc/thread-self/ns/net";

}  // namespace

RulesLock::RulesLock() : fd_(open(kNamespace, O_RDONLY | O_CLOEXEC)) {
  if (!fd_) throw Error(Code::IoFailure, std::string("cannot open ").append(kNamespace));
  while (flock(fd_.get(), LOCK_EX) != 0)
    if (errno != EINTR) throw Error(Code::IoFailure, std::string("cannot lock ").append(kNamespace));
}

}  // namespace trellis::cni
