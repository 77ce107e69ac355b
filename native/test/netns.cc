// Network namespaces: made, entered, removed, and nothing left of what failed.
#include "test/netns.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/error.h"

using namespace trellis;
using test::ThrowAwayNetNs;

namespace {

ino_t Inode(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

}  // namespace

TEST("a namespace is another one, and steps run inside it without moving the caller") {
  const ThrowAwayNetNs made;
  const ino_t own = Inode("/proc/thread-self/ns/net");
  CHECK(Inode(made.path()) != own);
  ino_t inside = 0;
  made.ns().Run([&] { inside = Inode("/proc/thread-self/ns/net"); });
  CHECK_EQUAL(inside, Inode(made.path()));
  CHECK_EQUAL(Inode("/proc/thread-self/ns/net"), own);
  CHECK_THROWS(InputError, "from inside", made.ns().Run([] { throw InputError("from inside"); }));
}

TEST("a namespace is opened by path, process and descriptor") {
  const ThrowAwayNetNs made;
  const NetNs byPath = NetNs::OpenPath(made.path());
  const NetNs byFd = NetNs::OpenFd(byPath.fd());
  CHECK(byFd.fd() != byPath.fd());
  ino_t inside = 0;
  byFd.Run([&] { inside = Inode("/proc/thread-self/ns/net"); });
  CHECK_EQUAL(inside, Inode(made.path()));
  NetNs::OpenPid(getpid()).Run([&] { inside = Inode("/proc/thread-self/ns/net"); });
  CHECK_EQUAL(inside, Inode("/proc/self/ns/net"));
}

TEST("what is no namespace is refused") {
  CHECK_THROWS(KernelError, "No such file", NetNs::OpenPath("/run/netns/trellis-no-such"));
  CHECK_THROWS(KernelError, "not a network namespace", NetNs::OpenPath("/etc/passwd"));
  CHECK_THROWS(KernelError, "No such file", NetNs::OpenPid(0x3FFFFFFF));
  CHECK_THROWS(KernelError, "Bad file descriptor", NetNs::OpenFd(-1));
}

TEST("a second create at the same path is refused and leaves the first") {
  const ThrowAwayNetNs made;
  const ino_t before = Inode(made.path());
  CHECK_THROWS(KernelError, "File exists", NetNs::Create(made.path()));
  CHECK_EQUAL(Inode(made.path()), before);
}

TEST("a create that fails leaves no file") {
  test::NeedRoot();
  CHECK_THROWS(KernelError, "No such file", NetNs::Create("/run/trellis-no-such-folder/a"));
  CHECK(!std::filesystem::exists("/run/trellis-no-such-folder"));
}

TEST("removing is idempotent, also half way, and touches nothing else") {
  test::NeedRoot();
  const std::string path = ThrowAwayNetNs::MakePath();
  NetNs::Create(path);
  NetNs::Remove(path);
  CHECK(!std::filesystem::exists(path));
  NetNs::Remove(path);
  Fd(open(path.c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0444)).Close();  // as after a crash between file and mount
  NetNs::Remove(path);
  CHECK(!std::filesystem::exists(path));
  CHECK_THROWS(KernelError, "remove network namespace", NetNs::Remove("/etc/passwd"));
  CHECK(std::filesystem::exists("/etc/passwd"));
}

TEST("a hundred namespaces made and removed leave no descriptor") {
  test::NeedRoot();
  const auto descriptors = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); };
  const std::string path = ThrowAwayNetNs::MakePath();
  NetNs::Create(path);
  NetNs::Remove(path);
  const auto before = descriptors();
  for (int i = 0; i < 100; ++i) {
    NetNs::Create(path);
    NetNs::Remove(path);
  }
  CHECK_EQUAL(descriptors(), before);
}
