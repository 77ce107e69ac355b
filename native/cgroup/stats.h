// Reads what control groups used, many at once: cpu, memory, processes, and the network of their processes.
// Guarantees: a file that is missing or unreadable leaves its columns empty (NaN); a group that is gone is a row of them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trellis::cgroup {

// Where the controllers are mounted. With v2 they are all the same directory.
struct Mounts {
  bool v2 = false;
  std::string cpu, cpuacct, memory, pids;
};

struct Request {
  std::string group;     // from the root of each hierarchy, such as "/kubepods/pod1234"
  bool network = false;  // also the devices of the network namespace that its first process is in
};

// The columns of a row. src/kernel/cgroup/stats.ts has the same list.
enum Column : size_t {
  kCpuNanos,
  kMemoryBytes,
  kInactiveFileBytes,
  kRssBytes,
  kPageFaults,
  kMajorPageFaults,
  kMemoryLimitBytes,
  kProcesses,
  kPeriods,
  kThrottledPeriods,
  kThrottledNanos,
  kRxBytes,
  kRxPackets,
  kRxErrors,
  kRxDropped,
  kTxBytes,
  kTxPackets,
  kTxErrors,
  kTxDropped,
  kColumns,
};

// One row of kColumns numbers for each request, in order.
std::vector<double> ReadStats(const Mounts& mounts, const std::vector<Request>& requests);

// The number after `name` at the beginning of a line, or NaN. Pure.
double FieldOf(std::string_view text, std::string_view name);

// Sums every device but the loopback of a /proc/<pid>/net/dev into the network columns of a row. Pure.
void ReadNetworkDevices(std::string_view text, double* row);

}  // namespace trellis::cgroup
