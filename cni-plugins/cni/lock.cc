#include "cni/lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cni/error.h"
#include "cni/files.h"

namespace trellis::cni {

namespace {

using Clock = std::chrono::steady_clock;

int held = -1;

[[noreturn]] void FailToLock(const std::string& path, int error) {
  throw Error(Code::IoFailure, "cannot lock " + path + ": " + strerror(error),
              "its directory must be root's, and the file a regular one");
}

// A signal ends flock's wait when the patience is over, and again and again, as one may come just before the wait.
class Alarm {
 public:
  explicit Alarm(std::chrono::milliseconds patience) {
    struct sigaction nothing {};
    nothing.sa_handler = [](int) {};  // no SA_RESTART
    sigaction(SIGALRM, &nothing, &before_);
    sigset_t alarm;  // the runtime may have started us with it blocked
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &alarm, nullptr);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
    const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(patience - seconds);
    const itimerval timer{{0, 50'000}, {seconds.count(), std::max<suseconds_t>(rest.count(), 1)}};
    setitimer(ITIMER_REAL, &timer, nullptr);
  }
  ~Alarm() {
    const itimerval off{};
    setitimer(ITIMER_REAL, &off, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  struct sigaction before_ {};
};

// Whoever queues up is served in turn; the common case costs one call.
bool Lock(int fd, std::chrono::milliseconds patience) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno != EWOULDBLOCK) return false;
  const auto deadline = Clock::now() + patience;
  const Alarm alarm(patience);
  while (flock(fd, LOCK_EX) != 0)
    if (errno != EINTR || Clock::now() >= deadline) return false;
  return true;
}

// Ours alone, also where somebody made it before us. False when its last user has just taken it away.
bool MakePrivate(const std::string& directory) {
  struct stat found {};
  const int error = MakeDirectories(directory);
  const bool isLink = lstat(directory.c_str(), &found) == 0 && S_ISLNK(found.st_mode);  // one that leads nowhere stays so
  if (error == ENOENT && !isLink) return false;
  if (error != 0) FailToLock(directory, error);
  const Fd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!fd && errno == ENOENT) return false;
  if (!fd || fstat(fd.get(), &info) != 0) FailToLock(directory, errno);
  if (info.st_uid != geteuid()) FailToLock(directory, EPERM);
  if ((info.st_mode & 077) != 0 && fchmod(fd.get(), 0700) != 0) FailToLock(directory, errno);
  return true;
}

// Whether the path still leads to the file that was locked: whoever held it before may have removed it.
bool IsThere(const std::string& path, int fd) {
  struct stat locked {
  }, found{};
  return fstat(fd, &locked) == 0 && lstat(path.c_str(), &found) == 0 && found.st_ino == locked.st_ino &&
         found.st_dev == locked.st_dev;
}

std::string OwnNamespace() {
  struct stat info {};
  if (stat("/proc/thread-self/ns/net", &info) != 0) FailToLock("/proc/thread-self/ns/net", errno);
  return std::to_string(info.st_ino);
}

}  // namespace

namespace {

Fd LockOpened(Fd fd, const std::string& path, const std::string& what, std::chrono::milliseconds patience) {
  struct stat info {};
  if (!fd || fstat(fd.get(), &info) != 0) FailToLock(path, errno);
  // Whoever may open it may hold it. Another plugin may have made it so that everybody can.
  if ((info.st_mode & 077) != 0 && fchmod(fd.get(), 0600) != 0) FailToLock(path, errno);
  if (Lock(fd.get(), patience)) return fd;
  if (errno != EINTR) FailToLock(path, errno);
  throw Error(Code::TryAgainLater, "the lock of " + what + " is held by another process",
              path + " was waited for " + std::to_string(patience.count()) + " ms");
}

}  // namespace

Fd LockFile(const std::string& path, const std::string& what, std::chrono::milliseconds patience) {
  return LockOpened(OpenOwn(path, O_RDONLY), path, what, patience);
}

RulesLock::RulesLock(const std::string& directory, std::chrono::milliseconds patience)
    : directory_(directory), path_(directory + "/rules-" + OwnNamespace()) {
  // Each holder leaves nothing behind, so that those who waited for it begin anew.
  do {
    do {
      fd_ = MakePrivate(directory_) ? OpenOwn(path_, O_RDONLY) : Fd();
    } while (!fd_ && errno == ENOENT);
    fd_ = LockOpened(std::move(fd_), path_, "the rules of this network namespace", patience);
  } while (!IsThere(path_, fd_.get()));
  held = fd_.get();
}

RulesLock::~RulesLock() {
  held = -1;
  // Once more, by a descriptor of our own: a program that was given the lock may still have it, or the next one already.
  const Fd own = OpenOwn(path_, O_RDONLY);
  fd_ = Fd();
  if (!own || flock(own.get(), LOCK_EX | LOCK_NB) != 0 || !IsThere(path_, own.get())) return;
  unlink(path_.c_str());
  rmdir(directory_.c_str());  // stays while others have locks in it
}

int RulesLock::Held() { return held; }

}  // namespace trellis::cni
