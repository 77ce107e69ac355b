#include "netns/netns.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <exception>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/guard.h"

namespace trellis {

namespace {

// A pool thread must never be left in a foreign namespace, so each step gets a thread of its own.
void RunOnThread(const std::function<void()>& step) {
  std::exception_ptr failure;
  std::thread([&] {
    try {
      step();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
}

void RequireNamespaceFile(const Fd& fd, const std::string& what) {
  struct statfs info {};
  if (fstatfs(fd.get(), &info) != 0) ThrowErrno("open " + what);
  if (info.f_type != NSFS_MAGIC || ioctl(fd.get(), NS_GET_NSTYPE) != CLONE_NEWNET)
    throw KernelError(EINVAL, "open " + what, "not a network namespace");
}

Fd OpenNamespaceFile(const std::string& path) {
  Fd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));  // a pipe would wait for its other end
  if (!fd) ThrowErrno("open network namespace " + path);
  RequireNamespaceFile(fd, "network namespace " + path);
  return fd;
}

// Shared propagation, so that removing the pin also frees it in mount namespaces that were made meanwhile.
void ShareDirectory(const std::string& directory) {
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);
  if (mount("", directory.c_str(), "none", MS_SHARED | MS_REC, nullptr) == 0) return;
  if (errno != EINVAL) ThrowErrno("share " + directory);
  if (mount(directory.c_str(), directory.c_str(), "none", MS_BIND | MS_REC, nullptr) != 0 ||
      mount("", directory.c_str(), "none", MS_SHARED | MS_REC, nullptr) != 0)
    ThrowErrno("share " + directory);
}

}  // namespace

NetNs::NetNs(Fd fd) : fd_(std::make_shared<Fd>(std::move(fd))) {}

NetNs NetNs::OpenPath(const std::string& path) { return NetNs(OpenNamespaceFile(path)); }

NetNs NetNs::OpenPid(int pid) { return OpenPath("/proc/" + std::to_string(pid) + "/ns/net"); }

NetNs NetNs::OpenFd(int fd) {
  Fd copy(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy) ThrowErrno("open network namespace by descriptor " + std::to_string(fd));
  RequireNamespaceFile(copy, "network namespace by descriptor " + std::to_string(fd));
  return NetNs(std::move(copy));
}

NetNs NetNs::Create(const std::string& path) {
  const std::string operation = "create network namespace " + path;
  const auto parent = std::filesystem::path(path).parent_path();
  if (parent == "/run/netns" || parent == "/var/run/netns") ShareDirectory(parent);
  Fd file(open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
  if (!file) ThrowErrno(operation);
  Guard removeFile([&] { unlink(path.c_str()); });
  RunOnThread([&] {
    if (unshare(CLONE_NEWNET) != 0) ThrowErrno(operation);
    if (mount("/proc/thread-self/ns/net", path.c_str(), "none", MS_BIND, nullptr) != 0) ThrowErrno(operation);
  });
  Guard removeMount([&] { umount2(path.c_str(), MNT_DETACH); });
  NetNs created = OpenPath(path);
  removeMount.Dismiss();
  removeFile.Dismiss();
  return created;
}

void NetNs::Remove(const std::string& path) {
  const std::string operation = "remove network namespace " + path;
  if (umount2(path.c_str(), MNT_DETACH) != 0) {
    if (errno == ENOENT) return;
    // EINVAL: the file is there but nothing is mounted on it, as after a crash between the two steps.
    struct stat info {};
    if (errno != EINVAL || stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size != 0) ThrowErrno(operation);
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) ThrowErrno(operation);
}

void NetNs::Run(const std::function<void()>& step) const {
  if (IsCurrent()) return step();
  RunOnThread([&] {
    if (setns(fd(), CLONE_NEWNET) != 0) ThrowErrno("enter network namespace");
    step();
  });
}

void NetNs::RunHere(const std::function<void()>& step) const {
  if (IsCurrent()) return step();
  const NetNs own = OpenPath("/proc/thread-self/ns/net");
  if (setns(fd(), CLONE_NEWNET) != 0) ThrowErrno("enter network namespace");
  std::exception_ptr failure;
  try {
    step();
  } catch (...) {
    failure = std::current_exception();
  }
  if (setns(own.fd(), CLONE_NEWNET) != 0) ThrowErrno("return to the own network namespace");
  if (failure) std::rethrow_exception(failure);
}

}  // namespace trellis
