#include "cni/files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace trellis::cni {

namespace {

bool IsRegular(const Fd& fd, struct stat& info) {
  if (!fd || fstat(fd.get(), &info) != 0) return false;
  if (S_ISREG(info.st_mode)) return true;
  errno = EINVAL;
  return false;
}

}  // namespace

int MakeDirectories(const std::string& path) {
  for (size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    const bool isLast = at == std::string::npos;
    if (!part.empty() && mkdir(part.c_str(), isLast ? 0700 : 0755) != 0 && errno != EEXIST) return errno;
    if (isLast) break;
  }
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return errno;
  return S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
}

// Without waiting: opening a pipe that nobody writes to would never return.
std::optional<std::string> ReadRegular(const std::string& path, size_t most, Links links) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | (links == Links::Refuse ? O_NOFOLLOW : 0)));
  struct stat info {};
  if (!IsRegular(fd, info)) return std::nullopt;
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t size = read(fd.get(), buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return std::nullopt;
    if (size == 0) return text;
    text.append(buffer, static_cast<size_t>(size));
    if (text.size() <= most) continue;
    errno = EFBIG;
    return std::nullopt;
  }
}

Fd OpenOwn(const std::string& path, int flags) {
  Fd fd(open(path.c_str(), flags | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  struct stat info {};
  if (!IsRegular(fd, info)) {
    const int error = errno;
    fd.Close();
    errno = error;
  }
  return fd;
}

}  // namespace trellis::cni
