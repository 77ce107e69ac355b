#include "cni/container.h"

#include <fcntl.h>

#include <cerrno>

#include "base/error.h"
#include "base/fd.h"
#include "cni/error.h"

namespace trellis::cni {

NetNs OpenContainer(const Request& request) {
  try {
    return NetNs::OpenPath(request.env.netns);
  } catch (const KernelError& error) {
    throw Error(Code::UnknownContainer, "failed to open netns \"" + request.env.netns + "\"", error.what());
  }
}

std::optional<NetNs> FindContainer(const Request& request) {
  if (request.env.netns.empty()) return std::nullopt;
  try {
    return NetNs::OpenPath(request.env.netns);
  } catch (const KernelError& error) {
    // EINVAL: the file is still there, but the namespace is no longer mounted on it, or it never was one.
    if (error.error() == ENOENT || error.error() == EINVAL) return std::nullopt;
    throw;
  }
}

bool SetSysctl(const NetNs& ns, const std::string& name, const std::string& value) {
  const std::string path = "/proc/sys/" + name;
  bool known = true;
  ns.RunHere([&] {
    const Fd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
    char now[64];
    const ssize_t size = fd ? read(fd.get(), now, sizeof now) : -1;
    if (size > 0 && std::string(now, static_cast<size_t>(size) - 1) == value) return;
    if (!fd && errno == ENOENT) return void(known = false);
    if (!fd || pwrite(fd.get(), value.data(), value.size(), 0) < 0) ThrowErrno("set sysctl " + name);
  });
  return known;
}

}  // namespace trellis::cni
