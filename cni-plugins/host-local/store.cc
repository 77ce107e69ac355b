#include "host-local/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <cstdio>
#include <memory>

#include "cni/error.h"
#include "cni/files.h"
#include "cni/lock.h"

namespace trellis::cni {

namespace {

constexpr const char* kBreak = "\r\n";
constexpr const char* kBootFile = "boot_id";
constexpr size_t kMaxFile = 256 * 1024;  // the longest name of a container that an environment can hold

[[noreturn]] void Fail(const std::string& what, int error = errno) {
  throw Error(Code::IoFailure, "host-local: " + what + ": " + strerror(error), "dataDir must be a directory that can be written");
}

std::string TextOf(const Holder& holder) { return holder.containerId + kBreak + holder.interfaceName; }

// The whole of a small file; empty if it cannot be read.
std::string ReadFile(const std::string& path) { return ReadRegular(path, kMaxFile, Links::Refuse).value_or(std::string()); }

std::string Trim(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string BootId() { return Trim(ReadFile("/proc/sys/kernel/random/boot_id")); }

time_t BootTime() {
  timespec now{}, up{};
  clock_gettime(CLOCK_REALTIME, &now);
  clock_gettime(CLOCK_BOOTTIME, &up);
  return now.tv_sec - up.tv_sec;
}

}  // namespace

Store::Store(const std::string& dataDir, const std::string& network) : directory_(dataDir + "/" + network) {
  if (const int error = MakeDirectories(directory_)) Fail("make " + directory_, error);
  lock_ = LockFile(PathOf("lock"), "the addresses of " + network);
  ForgetFormerBoot();
}

bool Store::Exists(const std::string& dataDir, const std::string& network) {
  return access((dataDir + "/" + network).c_str(), F_OK) == 0 || errno != ENOENT;
}

bool Store::Reserve(const IpAddress& address, const Holder& holder) {
  const std::string name = address.ToString();
  if (access(PathOf(name).c_str(), F_OK) == 0) return false;
  const int error = Write(name, TextOf(holder), true);
  if (error != 0 && error != EEXIST) Fail("reserve " + PathOf(name), error);
  return error == 0;
}

void Store::Release(const IpAddress& address) {
  if (unlink(PathOf(address.ToString()).c_str()) != 0 && errno != ENOENT) Fail("release " + address.ToString());
}

std::vector<IpAddress> Store::Find(const Holder& holder, const std::vector<IpAddress>& hints) const {
  std::vector<IpAddress> found;
  for (const IpAddress& address : hints)
    if (IsHeldBy(address.ToString(), holder)) found.push_back(address);
  if (!found.empty()) return found;
  std::vector<IpAddress> old;  // the oldest plugins wrote the container alone
  for (const IpAddress& address : Reserved()) {
    const std::string text = Trim(ReadFile(PathOf(address.ToString())));
    if (text == TextOf(holder)) found.push_back(address);
    else if (text == holder.containerId) old.push_back(address);
  }
  return found.empty() ? old : found;
}

std::optional<IpAddress> Store::Last(size_t set) const {
  return IpAddress::Parse(Trim(ReadFile(PathOf("last_reserved_ip." + std::to_string(set)))));
}

// In place: the file is a hint, and one torn by a crash means "from the start". Replacing a file by another, or cutting it
// to nothing first, makes ext4 write it to disk at once, which takes longer than all else here.
void Store::SetLast(size_t set, const IpAddress& address) {
  const std::string path = PathOf("last_reserved_ip." + std::to_string(set));
  const std::string text = address.ToString();
  const Fd fd = OpenOwn(path, O_WRONLY);
  if (!fd || pwrite(fd.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      ftruncate(fd.get(), static_cast<off_t>(text.size())) != 0)
    Fail("write " + path);
}

void Store::Keep(const std::vector<Holder>& valid) {
  for (const IpAddress& address : Reserved()) {
    const std::string name = address.ToString();
    const bool kept = std::any_of(valid.begin(), valid.end(), [&](const Holder& holder) {
      return IsHeldBy(name, holder) || Trim(ReadFile(PathOf(name))) == holder.containerId;
    });
    if (!kept) Release(address);
  }
}

// A name that appears is whole: it is written aside first, so that a crash between the two steps reserves nothing.
int Store::Write(const std::string& name, const std::string& text, bool exclusive) const {
  const std::string aside = PathOf(".new");
  const std::string path = PathOf(name);
  const Fd fd = OpenOwn(aside, O_WRONLY | O_TRUNC);
  if (!fd) return errno;
  const ssize_t written = write(fd.get(), text.data(), text.size());
  int error = written == static_cast<ssize_t>(text.size()) ? 0 : written < 0 ? errno : ENOSPC;
  if (error == 0 && renameat2(AT_FDCWD, aside.c_str(), AT_FDCWD, path.c_str(), exclusive ? RENAME_NOREPLACE : 0) != 0)
    error = errno;
  // File systems without the flag, such as NFS: the same in two steps.
  if (error == EINVAL && exclusive) error = link(aside.c_str(), path.c_str()) == 0 ? 0 : errno;
  unlink(aside.c_str());
  return error;
}

bool Store::IsHeldBy(const std::string& name, const Holder& holder) const {
  return Trim(ReadFile(PathOf(name))) == TextOf(holder);
}

std::vector<IpAddress> Store::Reserved() const {
  std::vector<IpAddress> addresses;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(directory_.c_str()), closedir);
  if (!directory) Fail("read " + directory_);
  while (const dirent* entry = readdir(directory.get()))
    if (const auto address = IpAddress::Parse(entry->d_name)) addresses.push_back(*address);
  return addresses;
}

// No container outlives a reboot, but its reservation does. The time of a file decides too: the reference plugin may
// have handed out addresses since the boot without leaving its mark.
void Store::ForgetFormerBoot() {
  const std::string now = BootId();
  const std::string then = Trim(ReadFile(PathOf(kBootFile)));
  if (now.empty() || now == then) return;
  if (!then.empty()) {
    for (const IpAddress& address : Reserved()) {
      struct stat info {};
      if (stat(PathOf(address.ToString()).c_str(), &info) == 0 && info.st_mtime < BootTime()) Release(address);
    }
  }
  Write(kBootFile, now, false);  // on a full disk the next one writes it: until then the same is done again
}

}  // namespace trellis::cni
