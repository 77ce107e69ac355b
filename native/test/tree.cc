// Trees that change under the walk: what a process of a pod could do at the worst moment, done at exactly that moment.
#include "tree/tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "base/error.h"
#include "test/check.h"

using namespace trellis;
namespace fs = std::filesystem;

namespace {

class Scene {
 public:
  Scene() {
    char name[] = "/tmp/trellis-tree-XXXXXX";
    root = mkdtemp(name);
  }
  ~Scene() { tree::Remove(root); }
  void File(const std::string& path) const {
    fs::create_directories(fs::path(root + "/" + path).parent_path());
    std::ofstream(root + "/" + path) << "x";
    chmod((root + "/" + path).c_str(), 0600);
  }
  std::string root;
};

ino_t InodeOf(int fd) {
  struct stat info {};
  fstat(fd, &info);
  return info.st_ino;
}
ino_t InodeOf(const std::string& path) {
  struct stat info {};
  stat(path.c_str(), &info);
  return info.st_ino;
}

// Does something when a directory is entered for which it is asked to, and notes what it is handed.
class Meddler : public tree::Visitor {
 public:
  void File(int, const char* name) override { files.insert(name); }
  void Enter(int directory) override {
    ++entered;
    if (InodeOf(directory) == at && meddle) std::exchange(meddle, nullptr)();
  }
  bool Leave(int, const std::string&, int directory) override { return left.insert(InodeOf(directory)), false; }
  void Unread(int, const char*, int error) override { errors.insert(error); }

  ino_t at = 0;
  std::function<void()> meddle;
  std::set<std::string> files;
  std::set<ino_t> left;
  std::set<int> errors;
  int entered = 0;
};

Fd OpenDirectory(const std::string& path) { return Fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); }

std::string Deep(int levels) {
  std::string path;
  for (int i = 0; i < levels; ++i) path += "/d";
  return path;
}

size_t OpenDescriptors() {
  return static_cast<size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

}  // namespace

TEST("tree: a directory that becomes a link after it was entered is still the directory") {
  const Scene scene;
  scene.File("outside/secret");
  scene.File("volume/sub/mine");
  Meddler meddler;
  meddler.at = InodeOf(scene.root + "/volume/sub");
  meddler.meddle = [&] {
    fs::rename(scene.root + "/volume/sub", scene.root + "/volume/aside");
    fs::create_directory_symlink(scene.root + "/outside", scene.root + "/volume/sub");
  };
  tree::Walk(OpenDirectory(scene.root + "/volume"), tree::Borders::Cross, meddler, nullptr);
  CHECK(meddler.files.contains("mine"));
  CHECK(!meddler.files.contains("secret"));
  CHECK(!meddler.left.contains(InodeOf(scene.root + "/outside")));
}

TEST("tree: a directory that becomes a link before it is entered is not entered") {
  const Scene scene;
  scene.File("outside/secret");
  scene.File("volume/sub/mine");
  // The names of the root are read when the first of its directories is entered, so one is the other's chance.
  scene.File("volume/trigger/x");
  Meddler meddler;
  meddler.at = InodeOf(scene.root + "/volume/trigger");
  meddler.meddle = [&] {
    fs::rename(scene.root + "/volume/sub", scene.root + "/gone");
    fs::create_directory_symlink(scene.root + "/outside", scene.root + "/volume/sub");
  };
  tree::Walk(OpenDirectory(scene.root + "/volume"), tree::Borders::Cross, meddler, nullptr);
  CHECK(!meddler.files.contains("secret"));
  CHECK(!meddler.left.contains(InodeOf(scene.root + "/outside")));
}

TEST("tree: the way back out of a directory that was moved elsewhere is not taken") {
  const Scene scene;
  scene.File("elsewhere/secret");
  const std::string deep = scene.root + "/volume" + Deep(80);
  fs::create_directories(deep);
  Meddler meddler;
  meddler.at = InodeOf(deep);
  // The parents of this one are closed by now: ".." is all that leads back to them.
  meddler.meddle = [&] { fs::rename(scene.root + "/volume" + Deep(30), scene.root + "/elsewhere/moved"); };
  tree::Walk(OpenDirectory(scene.root + "/volume"), tree::Borders::Stay, meddler, nullptr);
  CHECK_EQUAL(meddler.entered, 81);
  CHECK(meddler.errors.contains(ESTALE));
  CHECK(!meddler.files.contains("secret"));
  CHECK(!meddler.left.contains(InodeOf(scene.root + "/elsewhere")));
  CHECK(meddler.left.contains(InodeOf(scene.root + "/volume")));
}

TEST("tree: a walk through many levels holds few descriptors") {
  const Scene scene;
  const std::string deep = scene.root + "/volume" + Deep(500);
  fs::create_directories(deep);
  Meddler meddler;
  meddler.at = InodeOf(deep);
  const size_t before = OpenDescriptors();
  size_t most = 0;
  meddler.meddle = [&] { most = OpenDescriptors() - before; };
  tree::Walk(OpenDirectory(scene.root + "/volume"), tree::Borders::Stay, meddler, nullptr);
  CHECK_EQUAL(meddler.entered, 501);
  CHECK(most <= 34);
  CHECK_EQUAL(meddler.left.size(), size_t{501});
}

TEST("tree: owning follows no link and opens neither pipes nor sockets") {
  test::NeedRoot();
  const Scene scene;
  scene.File("outside");
  scene.File("volume/file");
  fs::create_symlink(scene.root + "/outside", scene.root + "/volume/link");
  CHECK_EQUAL(mkfifo((scene.root + "/volume/pipe").c_str(), 0600), 0);
  const tree::Owned owned = tree::Own(scene.root + "/volume", {4242, true, false});
  CHECK_EQUAL(owned.changed, 4u);
  CHECK_EQUAL(owned.refused, 0u);
  struct stat info {};
  CHECK_EQUAL(stat((scene.root + "/outside").c_str(), &info), 0);
  CHECK_EQUAL(info.st_gid, 0u);
  CHECK_EQUAL(info.st_mode & 07777u, 0600u);
  CHECK_EQUAL(stat((scene.root + "/volume/pipe").c_str(), &info), 0);
  CHECK_EQUAL(info.st_mode & 07777u, 0660u);
}

TEST("tree: names that come while a directory is emptied go too") {
  const Scene scene;
  for (int i = 0; i < 5000; ++i) scene.File("volume/many/" + std::to_string(i));
  for (int i = 0; i < 200; ++i) scene.File("volume/dirs/" + std::to_string(i) + "/x");
  tree::Remove(scene.root + "/volume");
  CHECK(!fs::exists(scene.root + "/volume"));
}

TEST("tree: who no longer waits ends the walk") {
  const Scene scene;
  scene.File("volume/file");
  const std::atomic<bool> stop = true;
  CHECK_THROWS(KernelError, "canceled", tree::Remove(scene.root + "/volume", &stop));
  CHECK(fs::exists(scene.root + "/volume/file"));
}

TEST("tree: a link, a file and nothing are removed as what they are") {
  const Scene scene;
  scene.File("outside/kept");
  fs::create_directory_symlink(scene.root + "/outside", scene.root + "/link");
  tree::Remove(scene.root + "/link");
  tree::Remove(scene.root + "/none/below");
  CHECK(!fs::is_symlink(scene.root + "/link"));
  CHECK(fs::exists(scene.root + "/outside/kept"));
  tree::Remove(scene.root + "/outside/kept");
  CHECK(!fs::exists(scene.root + "/outside/kept"));
  CHECK_THROWS(InputError, "does not name", tree::Remove(scene.root + "/.."));
}
