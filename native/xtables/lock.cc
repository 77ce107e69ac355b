#include "xtables/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/error.h"

namespace trellis::xtables {

namespace {

bool IsSameFile(int fd, const std::string& path) {
  struct stat opened {
  }, there{};
  return fstat(fd, &opened) == 0 && stat(path.c_str(), &there) == 0 && opened.st_dev == there.st_dev &&
         opened.st_ino == there.st_ino;
}

Fd OpenFile(const std::string& path) { return Fd(open(path.c_str(), O_CREAT | O_RDONLY | O_CLOEXEC, 0600)); }

}  // namespace

// It stays open between two changes: closing it would look like somebody else's doing.
void Lock::Open() {
  undisturbed_ = false;
  file_ = OpenFile(path_);
  if (!file_) ThrowErrno("open " + path_);
  watch_ = Fd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (watch_ && inotify_add_watch(watch_.get(), path_.c_str(), IN_CLOSE) < 0) watch_.Close();
}

void Lock::Take() {
  if (!file_ || !IsSameFile(file_.get(), path_)) Open();
  if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0) ThrowErrno("lock " + path_);
  // The kernel tells of a close before it lets go of the lock: who held it before us is among these.
  if (Drain()) undisturbed_ = false;
}

void Lock::Leave(bool changed) {
  if (changed) OpenFile(path_).Close();
  // What others closed while we held it, and our own, is no change.
  Drain();
  undisturbed_ = static_cast<bool>(watch_);
  flock(file_.get(), LOCK_UN);
}

bool Lock::Drain() const {
  if (!watch_) return true;
  alignas(inotify_event) char events[4096];
  bool any = false;
  while (read(watch_.get(), events, sizeof events) > 0) any = true;
  return any;
}

}  // namespace trellis::xtables
