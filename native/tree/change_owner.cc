#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "tree/tree.h"

namespace trellis::tree {

namespace {

constexpr mode_t kBits = 07777;

mode_t WantedBits(const Ownership& wanted, bool isDirectory) {
  const mode_t bits = wanted.writable ? 0660 : 0440;
  return isDirectory ? bits | S_ISGID | 0110 : bits;
}

bool Matches(const struct stat& info, const Ownership& wanted) {
  const mode_t bits = S_ISLNK(info.st_mode) ? 0 : WantedBits(wanted, S_ISDIR(info.st_mode));
  return info.st_gid == wanted.gid && (info.st_mode & bits) == bits;
}

class Giver : public Visitor {
 public:
  explicit Giver(const Ownership& wanted) : wanted_(wanted) {}

  // A descriptor of the file itself, which is never opened for reading: that could wait for ever, or wake a device.
  void File(int parent, const char* name) override {
    const Fd fd(openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (fd) return Give(fd.get());
    if (errno != ENOENT) Refuse(errno);
  }
  void Enter(int) override {}
  bool Leave(int, const std::string&, int directory) override {
    Give(directory);
    return false;
  }
  void Unread(int, const char*, int error) override {
    if (error != ENOENT && error != ENOTDIR && error != ELOOP) Refuse(error);
  }

  Owned owned;

 private:
  void Give(int fd) {
    struct stat info {};
    if (fstat(fd, &info) != 0) return Refuse(errno);
    if (Matches(info, wanted_)) return;
    if (fchownat(fd, "", static_cast<uid_t>(-1), wanted_.gid, AT_EMPTY_PATH) != 0) return Refuse(errno);
    // After chown: the kernel takes the set-group bit away there. By /proc, as fchmod does not take such a descriptor.
    const mode_t mode = (info.st_mode & kBits) | WantedBits(wanted_, S_ISDIR(info.st_mode));
    if (!S_ISLNK(info.st_mode) && chmod(("/proc/self/fd/" + std::to_string(fd)).c_str(), mode) != 0) return Refuse(errno);
    ++owned.changed;
  }
  void Refuse(int error) {
    if (owned.refused++ == 0) owned.error = error;
  }

  const Ownership& wanted_;
};

}  // namespace

Owned Own(const std::string& path, const Ownership& wanted, Stop stop) {
  const std::string operation = "own " + path;
  Fd root(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (!root || fstat(root.get(), &info) != 0) ThrowErrno(operation);
  if (wanted.unlessRootMatches && Matches(info, wanted)) return {};
  Giver giver(wanted);
  Walk(std::move(root), Borders::Cross, giver, stop);
  return giver.owned;
}

}  // namespace trellis::tree
