#include <fcntl.h>

#include <cerrno>
#include <unordered_set>

#include "base/error.h"
#include "tree/tree.h"

namespace trellis::tree {

namespace {

constexpr uint64_t kBlock = 512;

// What vanished, or became something else, while we looked is nobody's use any more.
bool IsGone(int error) { return error == ENOENT || error == ENOTDIR || error == ELOOP; }

class Meter : public Visitor {
 public:
  void File(int parent, const char* name) override {
    struct stat info {};
    if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) == 0) return Count(info);
    if (!IsGone(errno)) ++use.unread;
  }
  void Enter(int directory) override {
    struct stat info {};
    if (fstat(directory, &info) != 0) return void(++use.unread);
    if (device_ == 0) device_ = info.st_dev;
    Count(info);
  }
  bool Leave(int, const std::string&, int) override { return false; }
  void Unread(int, const char*, int error) override {
    if (!IsGone(error) && error != EXDEV) ++use.unread;
  }

  Use use;

 private:
  void Count(const struct stat& info) {
    if (info.st_dev != device_) return;
    // Only these can be met twice.
    if (!S_ISDIR(info.st_mode) && info.st_nlink > 1 && !seen_.insert(info.st_ino).second) return;
    use.bytes += static_cast<uint64_t>(info.st_blocks) * kBlock;
    ++use.inodes;
  }

  dev_t device_ = 0;
  std::unordered_set<ino_t> seen_;
};

}  // namespace

Use Measure(const std::string& path, Stop stop) {
  Fd root(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root && IsGone(errno)) return {};
  if (!root) ThrowErrno("measure " + path);
  Meter meter;
  Walk(std::move(root), Borders::Stay, meter, stop);
  return meter.use;
}

}  // namespace trellis::tree
