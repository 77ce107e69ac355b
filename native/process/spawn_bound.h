// Starts a program that does not outlive who started it, which posix_spawn cannot.
// Guarantees: between fork and exec the child calls only what is allowed there; it never runs once its parent has gone.
#pragma once
#include <sys/types.h>

#include <vector>

namespace trellis {

// Like posix_spawnp: 0, or why it could not. `ends`, which are numbers above their count, become the program's descriptors
// 0, 1, 2 ...; it has no others. It leads a group of its own and is killed when the calling thread ends, or the process.
int SpawnBound(pid_t& pid, char* const* argv, char* const* envp, const std::vector<int>& ends);

}  // namespace trellis
