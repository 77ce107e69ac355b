#include "tree/walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/error.h"

namespace trellis::tree {

namespace {

// Deeper levels close their descriptor and find back through "..", which is checked.
constexpr size_t kOpenLevels = 32;
constexpr size_t kBuffer = 64 * 1024;
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;

// What getdents64 writes; the C library does not declare it.
struct RawEntry {
  uint64_t inode;
  int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[1];
};

bool IsSelfOrParent(const char* name) { return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0')); }

// One level of the way down. `waiting` holds names of directories that were read and not yet entered, a zero byte behind each.
struct Level {
  Fd fd;
  std::string name;
  dev_t device;
  ino_t inode;
  off_t offset = 0;
  std::string waiting;
  size_t next = 0;
};

class Walker {
 public:
  Walker(Borders borders, Visitor& visitor, Stop stop)
      : borders_(borders), visitor_(visitor), stop_(stop), buffer_(new char[kBuffer]) {}

  void Run(Fd root) {
    Push(std::move(root), {});
    while (!levels_.empty()) {
      if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) throw KernelError(ECANCELED, "walk a directory tree");
      if (levels_.back().next < levels_.back().waiting.size()) Descend();
      else if (!Read()) Ascend();
    }
  }

 private:
  void Push(Fd fd, std::string name) {
    struct stat info {};
    if (fstat(fd.get(), &info) != 0) ThrowErrno("read a directory");
    visitor_.Enter(fd.get());
    levels_.push_back({std::move(fd), std::move(name), info.st_dev, info.st_ino});
    // The root stays open: whatever is moved about below, there is a way back to it.
    if (levels_.size() <= kOpenLevels + 1) return;
    Level& far = levels_[levels_.size() - 1 - kOpenLevels];
    far.offset = lseek(far.fd.get(), 0, SEEK_CUR);
    far.fd.Close();
  }

  void Descend() {
    Level& level = levels_.back();
    std::string name = level.waiting.c_str() + level.next;
    level.next += name.size() + 1;
    Fd child = Open(level, name);
    if (child) return Push(std::move(child), std::move(name));
    visitor_.Unread(level.fd.get(), name.c_str(), errno);
  }

  Fd Open(const Level& level, const std::string& name) const {
    if (borders_ == Borders::Cross) return Fd(openat(level.fd.get(), name.c_str(), kDirectory));
    open_how how{};
    how.flags = kDirectory;
    how.resolve = RESOLVE_NO_XDEV;  // sees bind mounts of the same file system too
    Fd child(static_cast<int>(syscall(SYS_openat2, level.fd.get(), name.c_str(), &how, sizeof how)));
    if (child || errno != ENOSYS) return child;
    child = Fd(openat(level.fd.get(), name.c_str(), kDirectory));  // before Linux 5.6
    struct stat info {};
    if (child && fstat(child.get(), &info) == 0 && info.st_dev != level.device) {
      child.Close();
      errno = EXDEV;
    }
    return child;
  }

  // Reads a buffer of names; false at the end of the directory.
  bool Read() {
    Level& level = levels_.back();
    level.waiting.clear();
    level.next = 0;
    const long size = syscall(SYS_getdents64, level.fd.get(), buffer_.get(), kBuffer);
    if (size < 0) visitor_.Unread(level.fd.get(), ".", errno);
    if (size <= 0) return false;
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const RawEntry*>(buffer_.get() + at);
      const char* name = buffer_.get() + at + offsetof(RawEntry, name);
      at += entry->length;
      if (IsSelfOrParent(name)) continue;
      if (IsDirectory(level.fd.get(), name, entry->type)) level.waiting.append(name, strlen(name) + 1);
      else visitor_.File(level.fd.get(), name);
    }
    return true;
  }

  static bool IsDirectory(int parent, const char* name, unsigned char type) {
    if (type != DT_UNKNOWN) return type == DT_DIR;
    struct stat info {};
    return fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
  }

  void Ascend() {
    Level& done = levels_.back();
    if (levels_.size() > 1 && !Restore(levels_[levels_.size() - 2], done.fd)) return Lose();
    const int parent = levels_.size() > 1 ? levels_[levels_.size() - 2].fd.get() : -1;
    if (visitor_.Leave(parent, done.name, done.fd.get())) lseek(done.fd.get(), 0, SEEK_SET);
    else levels_.pop_back();
  }

  bool Restore(Level& parent, const Fd& child) {
    if (parent.fd) return true;
    Fd fd(openat(child.get(), "..", kDirectory));
    struct stat info {};
    if (!fd || fstat(fd.get(), &info) != 0 || info.st_dev != parent.device || info.st_ino != parent.inode) return false;
    lseek(fd.get(), parent.offset, SEEK_SET);
    parent.fd = std::move(fd);
    return true;
  }

  // Somebody moved a directory while we were below it: on with the nearest one above that is still open.
  void Lose() {
    std::string name;
    do {
      name = std::move(levels_.back().name);
      levels_.pop_back();
    } while (!levels_.back().fd);
    visitor_.Unread(levels_.back().fd.get(), name.c_str(), ESTALE);
  }

  const Borders borders_;
  Visitor& visitor_;
  const Stop stop_;
  std::unique_ptr<char[]> buffer_;
  std::vector<Level> levels_;
};

}  // namespace

void Walk(Fd root, Borders borders, Visitor& visitor, Stop stop) { Walker(borders, visitor, stop).Run(std::move(root)); }

}  // namespace trellis::tree
