// Runs a program to its end inside a network namespace: input in, output and exit status out. No shell.
// Guarantees: no thread of ours changes its namespace; the child gets only its three pipes and what it is to keep; no descriptor,
// thread or zombie is left, whichever way it ends; one that is bound does not outlive us, even where we are killed.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "netns/netns.h"

namespace trellis {

struct RunRequest {
  std::vector<std::string> argv;   // argv[0] is looked up on PATH unless it has a slash
  std::vector<std::string> input;  // written to standard input one after the other, then it is closed
  std::vector<std::pair<std::string, std::string>> environment;  // set over what we have ourselves
  int timeoutMs = 60'000;                                        // 0: as long as it takes
  size_t maxOutput = 64 * 1024 * 1024;                           // bytes of standard output and error together
  int keep = -1;       // a descriptor that the program gets as its fourth, such as a lock it shares
  bool bound = false;  // killed with the thread that runs it; in the own namespace alone
};

struct RunResult {
  int status = -1;  // exit code, or -1 when a signal ended it
  int signal = 0;
  std::string output;
  std::string error;
};

// Returns when the program has ended; what it left in the background goes on without us. KernelError ENOENT when there is
// no such program, ETIMEDOUT and ENOBUFS when it ran or wrote too long, ECANCELED when the descriptor `stop` became readable:
// its whole process group is killed then.
RunResult RunProgram(const RunRequest& request, const NetNs& ns, int stop = -1);

}  // namespace trellis
