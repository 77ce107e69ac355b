#include "vxlan/saved.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/fd.h"
#include "cni/error.h"
#include "cni/files.h"

namespace trellis::cni {

namespace {

constexpr size_t kMaxSaved = 16 * 1024 * 1024;

[[noreturn]] void Fail(const std::string& what, int error = errno) {
  throw Error(Code::IoFailure, "vxlan: " + what + ": " + strerror(error), "dataDir must be a directory that can be written");
}

void WriteAll(const std::string& path, const std::string& text) {
  const Fd fd = OpenOwn(path, O_WRONLY | O_TRUNC);
  if (!fd) Fail("open " + path);
  for (size_t at = 0; at < text.size();) {
    const ssize_t size = write(fd.get(), text.data() + at, text.size() - at);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) Fail("write " + path);
    at += static_cast<size_t>(size);
  }
}

}  // namespace

std::optional<std::string> SavedDelegates::Find(const std::string& containerId) const {
  return ReadRegular(PathOf(containerId), kMaxSaved, Links::Refuse);
}

void SavedDelegates::Save(const std::string& containerId, const std::string& text) const {
  if (const int error = MakeDirectories(directory_)) Fail("make " + directory_, error);
  const std::string aside = AsideOf(containerId), path = PathOf(containerId);
  WriteAll(aside, text);
  if (rename(aside.c_str(), path.c_str()) != 0) Fail("write " + path);
}

// What cannot be removed does no harm but lie there: DEL has done its work by now, and must not be asked for again.
void SavedDelegates::Remove(const std::string& containerId) const {
  unlink(PathOf(containerId).c_str());
  unlink(AsideOf(containerId).c_str());
}

std::vector<std::string> SavedDelegates::ContainerIds() const {
  std::vector<std::string> ids;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(directory_.c_str()), closedir);
  if (!directory) return ids;
  while (const dirent* entry = readdir(directory.get()))
    if (entry->d_name[0] != '.') ids.emplace_back(entry->d_name);
  return ids;
}

}  // namespace trellis::cni
