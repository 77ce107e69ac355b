#include "process/mapped_file.h"

#include <sys/mman.h>

#include <cstdio>
#include <fstream>

#include "base/error.h"

namespace trellis {

namespace {

struct Mapping {
  unsigned long start = 0, end = 0;
  char access[5] = {};  // such as "r--s"
  std::string path;
};

// A line of /proc/self/maps: start-end access offset device inode path.
Mapping ReadMapping(const std::string& line) {
  Mapping mapping;
  int path = 0;
  if (sscanf(line.c_str(), "%lx-%lx %4s %*s %*s %*s %n", &mapping.start, &mapping.end, mapping.access, &path) == 3 && path > 0)
    mapping.path = line.substr(path);
  return mapping;
}

}  // namespace

size_t ReleaseMappedPages(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  size_t bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    const Mapping mapping = ReadMapping(line);
    if (mapping.path != path || std::string_view(mapping.access) != "r--s") continue;
    // In a shared mapping of a file this drops our view of the pages, never the pages' content.
    if (madvise(reinterpret_cast<void*>(mapping.start), mapping.end - mapping.start, MADV_DONTNEED) != 0)
      ThrowErrno("release the pages of " + path);
    bytes += mapping.end - mapping.start;
  }
  return bytes;
}

}  // namespace trellis
