#include "cgroup/stats.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <charconv>
#include <limits>
#include <optional>

#include "base/fd.h"

namespace trellis::cgroup {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kMaxText = 16 * 1024;  // memory.stat of a large machine has some 4 KB; net/dev grows with devices
// "No limit" of v1 is the largest multiple of a page; nothing real is near it.
constexpr double kNoLimit = 1e18;

// A small file of the kernel, whole; nullopt when it is not there. The text lives until the next call.
class SmallFiles {
 public:
  std::optional<std::string_view> Read(const std::string& path) {
    const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return std::nullopt;
    size_t size = 0;
    while (size < text_.size()) {
      const ssize_t got = read(file.get(), text_.data() + size, text_.size() - size);
      if (got < 0) return std::nullopt;
      if (got == 0) break;
      size += static_cast<size_t>(got);
    }
    return std::string_view(text_.data(), size);
  }

  double Number(const std::string& path) {
    const auto text = Read(path);
    return text ? FieldOf(*text, "") : kNone;
  }

 private:
  std::array<char, kMaxText> text_;
};

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

double NumberAt(std::string_view text) {
  text = Trimmed(text);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? static_cast<double>(value) : kNone;
}

void ReadCpu(SmallFiles& files, const Mounts& mounts, const std::string& group, double* row) {
  const auto stat = files.Read(mounts.cpu + group + "/cpu.stat");
  if (stat) {
    row[kPeriods] = FieldOf(*stat, "nr_periods ");
    row[kThrottledPeriods] = FieldOf(*stat, "nr_throttled ");
    row[kThrottledNanos] = mounts.v2 ? FieldOf(*stat, "throttled_usec ") * 1000 : FieldOf(*stat, "throttled_time ");
    if (mounts.v2) row[kCpuNanos] = FieldOf(*stat, "usage_usec ") * 1000;
  }
  if (!mounts.v2) row[kCpuNanos] = files.Number(mounts.cpuacct + group + "/cpuacct.usage");
}

void ReadMemory(SmallFiles& files, const Mounts& mounts, const std::string& group, double* row) {
  const std::string directory = mounts.memory + group;
  if (const auto stat = files.Read(directory + "/memory.stat")) {
    // v1 has the numbers of the group alone and, under "total_", of everything below it as well.
    row[kInactiveFileBytes] = FieldOf(*stat, mounts.v2 ? "inactive_file " : "total_inactive_file ");
    row[kRssBytes] = FieldOf(*stat, mounts.v2 ? "anon " : "total_rss ");
    row[kPageFaults] = FieldOf(*stat, mounts.v2 ? "pgfault " : "total_pgfault ");
    row[kMajorPageFaults] = FieldOf(*stat, mounts.v2 ? "pgmajfault " : "total_pgmajfault ");
  }
  row[kMemoryBytes] = files.Number(directory + (mounts.v2 ? "/memory.current" : "/memory.usage_in_bytes"));
  const double limit = files.Number(directory + (mounts.v2 ? "/memory.max" : "/memory.limit_in_bytes"));
  row[kMemoryLimitBytes] = limit < kNoLimit ? limit : kNone;
}

void ReadNetwork(SmallFiles& files, const Mounts& mounts, const std::string& group, double* row) {
  const double pid = files.Number(mounts.pids + group + "/cgroup.procs");
  if (!(pid > 0)) return;  // no process, or one outside of our process namespace
  const auto text = files.Read("/proc/" + std::to_string(static_cast<uint64_t>(pid)) + "/net/dev");
  if (text) ReadNetworkDevices(*text, row);
}

}  // namespace

double FieldOf(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(name)) return NumberAt(line.substr(name.size()));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return kNone;
}

void ReadNetworkDevices(std::string_view text, double* row) {
  // receive: bytes packets errs drop fifo frame compressed multicast; transmit: bytes packets errs drop ...
  constexpr std::array<std::pair<size_t, Column>, 8> kFields = {{{0, kRxBytes},
                                                                 {1, kRxPackets},
                                                                 {2, kRxErrors},
                                                                 {3, kRxDropped},
                                                                 {8, kTxBytes},
                                                                 {9, kTxPackets},
                                                                 {10, kTxErrors},
                                                                 {11, kTxDropped}}};
  for (const auto& [place, column] : kFields) row[column] = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || Trimmed(line.substr(0, colon)) == "lo") continue;
    line.remove_prefix(colon + 1);
    size_t next = 0;
    for (size_t place = 0; next < kFields.size(); place++) {
      line = Trimmed(line);
      if (line.empty()) break;
      if (kFields[next].first == place) row[kFields[next++].second] += NumberAt(line);
      const size_t space = line.find(' ');
      if (space == std::string_view::npos) break;
      line.remove_prefix(space);
    }
  }
}

std::vector<double> ReadStats(const Mounts& mounts, const std::vector<Request>& requests) {
  std::vector<double> rows(requests.size() * kColumns, kNone);
  const auto files = std::make_unique<SmallFiles>();
  for (size_t i = 0; i < requests.size(); i++) {
    double* row = rows.data() + i * kColumns;
    const std::string& group = requests[i].group;
    ReadCpu(*files, mounts, group, row);
    ReadMemory(*files, mounts, group, row);
    row[kProcesses] = files->Number(mounts.pids + group + "/pids.current");
    if (requests[i].network) ReadNetwork(*files, mounts, group, row);
  }
  return rows;
}

}  // namespace trellis::cgroup
