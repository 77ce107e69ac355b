// Locks, comments and files of the CNI plugins.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "cni/error.h"
#include "cni/files.h"
#include "cni/lock.h"
#include "cni/owner.h"
#include "process/run.h"
#include "test/check.h"

using namespace trellis;
using namespace trellis::cni;
using namespace std::chrono_literals;

namespace {

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/trellis-cni-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

unsigned ModeOf(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777u : 0;
}

}  // namespace

TEST("cni: a lock that is held too long is told as CNI's code 11, and taken when it is free") {
  const Folder folder;
  const std::string path = folder.path + "/lock";
  {
    const Fd held = LockFile(path, "it");
    try {
      LockFile(path, "it", 20ms);
      CHECK(false);
    } catch (const Error& error) {
      CHECK_EQUAL(static_cast<unsigned>(error.code()), 11u);
      CHECK(std::string(error.what()).find("the lock of it") != std::string::npos);
    }
  }
  CHECK(static_cast<bool>(LockFile(path, "it", 20ms)));
  CHECK_EQUAL(ModeOf(path), 0600u);
}

TEST("cni: a lock waits for its turn") {
  const Folder folder;
  const std::string path = folder.path + "/lock";
  Fd held = LockFile(path, "it");
  const pid_t child = fork();
  if (child == 0) {
    // A process of its own, as alarms belong to the process.
    held.Close();
    try {
      LockFile(path, "it", 30s);
      _exit(0);
    } catch (...) {
      _exit(1);
    }
  }
  held.Close();
  int status = -1;
  waitpid(child, &status, 0);
  CHECK_EQUAL(status, 0);
}

TEST("cni: the rules' lock lies in a directory of root alone, and a program that was given it holds it") {
  test::NeedRoot();
  const Folder folder;
  const std::string directory = folder.path + "/run/locks";
  std::filesystem::create_directories(directory);
  chmod(directory.c_str(), 0777);
  {
    const RulesLock lock(directory);
    CHECK_EQUAL(ModeOf(directory), 0700u);
    CHECK(RulesLock::Held() >= 0);
  }
  CHECK_EQUAL(RulesLock::Held(), -1);
  CHECK(!std::filesystem::exists(directory));
  RunRequest request;
  request.argv = {"sh", "-c", "sleep 1000 >/dev/null 2>&1 </dev/null & echo $!"};
  pid_t background = 0;
  {
    const RulesLock lock(directory, 20ms);
    request.keep = RulesLock::Held();
    background = std::stoi(RunProgram(request, NetNs()).output);
  }
  CHECK_THROWS(Error, "held by another process", RulesLock(directory, 20ms));
  kill(background, SIGKILL);
  RulesLock again(directory, 10s);
}

TEST("cni: the rules' lock is had by all who come while its directory comes and goes") {
  test::NeedRoot();
  const Folder folder;
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        for (int round = 0; round < 2000; ++round) RulesLock lock(folder.path + "/locks", 30s);
        _exit(0);
      } catch (...) {
        _exit(1);
      }
    }
    children.push_back(child);
  }
  int failed = 0;
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    failed += status != 0;
  }
  CHECK_EQUAL(failed, 0);
  CHECK(!std::filesystem::exists(folder.path + "/locks"));
}

TEST("cni: comments of long names differ, keep the network readable and are found by GC") {
  const std::string network(90, 'n'), id(64, 'c');
  const Owner one{network, id, "eth0"}, two{network, id, "eth1"}, other{network + "x", id, "eth0"};
  CHECK(one.Comment().size() <= 120);
  CHECK(one.Comment() != two.Comment());
  CHECK(one.Comment().starts_with("nnnnnnnnnn"));
  CHECK(IsStale(one.Comment(), network, {two}));
  CHECK(!IsStale(one.Comment(), network, {one, two}));
  CHECK(!IsStale(other.Comment(), network, {}));
  CHECK_EQUAL((Owner{"net", "c1", "eth0"}.Comment()), "net c1 eth0");
  CHECK_EQUAL((Owner{"net", "c1", "e\"\\\xff"}.Comment()), "net c1 e%22%5c%ff");
}

TEST("cni: only regular files are read, and no more of them than asked for") {
  const Folder folder;
  const std::string pipe = folder.path + "/pipe", link = folder.path + "/link", file = folder.path + "/file";
  CHECK_EQUAL(mkfifo(pipe.c_str(), 0600), 0);
  {
    const Fd fd = OpenOwn(file, O_WRONLY);
    CHECK_EQUAL(write(fd.get(), "12345", 5), 5);
  }
  std::filesystem::create_symlink(file, link);
  CHECK_EQUAL(ReadRegular(file, 5, Links::Refuse).value_or(""), "12345");
  CHECK_EQUAL(ReadRegular(link, 5, Links::Follow).value_or(""), "12345");
  CHECK(!ReadRegular(file, 4, Links::Refuse) && errno == EFBIG);
  CHECK(!ReadRegular(link, 5, Links::Refuse) && errno == ELOOP);
  CHECK(!ReadRegular(pipe, 5, Links::Follow) && errno == EINVAL);
  CHECK(!ReadRegular("/dev/zero", 5, Links::Follow) && errno == EINVAL);
  CHECK(!OpenOwn(link, O_WRONLY) && !OpenOwn(pipe, O_RDONLY));
}

TEST("cni: directories are their owner's to write, whatever the umask") {
  const Folder folder;
  const mode_t before = umask(0);
  const int error = MakeDirectories(folder.path + "/a/b/c");
  umask(before);
  CHECK_EQUAL(error, 0);
  CHECK_EQUAL(ModeOf(folder.path + "/a"), 0755u);
  CHECK_EQUAL(ModeOf(folder.path + "/a/b/c"), 0700u);
  { const Fd fd = OpenOwn(folder.path + "/file", O_WRONLY); }
  CHECK_EQUAL(MakeDirectories(folder.path + "/file"), ENOTDIR);
}
