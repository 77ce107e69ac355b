// Files that plugins keep on the host, and those that a configuration names.
// Guarantees: only regular files are read, and no more of them than asked for; links in the place of a plugin's own file are
// not followed; directories are writable by their owner alone, whatever the umask is.
#pragma once
#include <optional>
#include <string>

#include "base/fd.h"

namespace trellis::cni {

// Makes the directory and those above it. Returns 0 or the errno.
int MakeDirectories(const std::string& path);

enum class Links { Follow, Refuse };

// The whole of a regular file of at most `most` bytes; nothing, with errno, for anything else (EFBIG, EINVAL, ENOENT, ...).
std::optional<std::string> ReadRegular(const std::string& path, size_t most, Links links);

// Opens a file of a plugin's own to write to it, made if need be. No descriptor, with errno, where it is something else.
Fd OpenOwn(const std::string& path, int flags);

}  // namespace trellis::cni
