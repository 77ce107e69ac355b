#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/error.h"
#include "tree/tree.h"

namespace trellis::tree {

namespace {

// A directory into which somebody goes on writing is given up in the end.
constexpr int kRereads = 10'000;

class Remover : public Visitor {
 public:
  void File(int parent, const char* name) override { Unlink(parent, name, 0); }
  void Enter(int) override {}
  bool Leave(int parent, const std::string& name, int) override {
    if (parent < 0) return false;
    const uint64_t before = removed_;
    if (Unlink(parent, name.c_str(), AT_REMOVEDIR)) return false;
    // Names that came while it was read, or that the file system passed over since others went.
    const bool again = lastError_ == ENOTEMPTY && before != atLastReread_ && rereads_ < kRereads;
    if (again) {
      ++rereads_;
      atLastReread_ = before;
    } else {
      Note(lastError_);
    }
    return again;
  }
  void Unread(int, const char*, int error) override {
    if (error != ENOENT) Note(error);
  }

  bool Unlink(int parent, const char* name, int flags) {
    if (unlinkat(parent, name, flags) == 0) {
      ++removed_;
      return true;
    }
    lastError_ = errno;
    if (lastError_ == ENOENT) return true;
    if (flags == 0) Note(lastError_);
    return false;
  }
  void Note(int error) {
    if (error_ == 0) error_ = error;
  }
  int error() const { return error_; }

 private:
  uint64_t removed_ = 0, atLastReread_ = UINT64_MAX;
  int rereads_ = 0, lastError_ = 0, error_ = 0;
};

// Only what is in the same mount as its parent.
Fd OpenBelow(int parent, const std::string& name) {
  struct stat above {
  }, info{};
  Fd fd(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (fd && fstat(parent, &above) == 0 && fstat(fd.get(), &info) == 0 && above.st_dev != info.st_dev) {
    fd.Close();
    errno = EXDEV;
  }
  return fd;
}

}  // namespace

void Remove(const std::string& path, Stop stop) {
  const std::string operation = "remove " + path;
  const std::filesystem::path whole(path);
  const std::string name = whole.filename();
  if (name.empty() || name == "." || name == "..") throw InputError("\"" + path + "\" does not name a directory to remove");
  const Fd parent(open(whole.has_parent_path() ? whole.parent_path().c_str() : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent && errno == ENOENT) return;
  if (!parent) ThrowErrno(operation);
  Remover remover;
  Fd root = OpenBelow(parent.get(), name);
  if (root) {
    Walk(std::move(root), Borders::Stay, remover, stop);
    if (remover.error() == 0 && !remover.Unlink(parent.get(), name.c_str(), AT_REMOVEDIR)) ThrowErrno(operation);
  } else if (errno == ENOTDIR || errno == ELOOP) {
    remover.Unlink(parent.get(), name.c_str(), 0);
  } else if (errno != ENOENT) {
    ThrowErrno(operation);
  }
  if (remover.error() == EXDEV)
    throw KernelError(EXDEV, operation, "something below it lies on another file system and was not removed");
  if (remover.error() != 0) throw KernelError(remover.error(), operation);
}

}  // namespace trellis::tree
