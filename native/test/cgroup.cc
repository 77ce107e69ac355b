// Statistics of control groups: the kernel's texts in, rows of numbers out.
#include "cgroup/stats.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "test/check.h"

using namespace trellis::cgroup;

namespace {

class Tree {
 public:
  Tree() {
    char name[] = "/tmp/trellis-cgroup-XXXXXX";
    root_ = mkdtemp(name);
  }
  ~Tree() { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

}  // namespace

TEST("cgroup: a field is the number after its name at the beginning of a line") {
  CHECK_EQUAL(FieldOf("rss 5\ntotal_rss 7\n", "rss "), 5.0);
  CHECK_EQUAL(FieldOf("rss 5\ntotal_rss 7", "total_rss "), 7.0);
  CHECK_EQUAL(FieldOf("42\n", ""), 42.0);
  CHECK_EQUAL(std::isnan(FieldOf("max\n", "")), true);
  CHECK_EQUAL(std::isnan(FieldOf("", "rss ")), true);
}

TEST("cgroup: v2's files become a row, and a group that is gone an empty one") {
  const Tree tree;
  tree.Write("/g/cpu.stat", "usage_usec 3\nnr_periods 4\nnr_throttled 1\nthrottled_usec 2\n");
  tree.Write("/g/memory.stat", "anon 10\ninactive_file 20\npgfault 30\npgmajfault 40\n");
  tree.Write("/g/memory.current", "100\n");
  tree.Write("/g/memory.max", "max\n");
  tree.Write("/g/pids.current", "6\n");
  const std::string& at = tree.root();
  const auto rows = ReadStats({true, at, at, at, at}, {{"/g", true}, {"/gone", false}});
  CHECK_EQUAL(rows.size(), 2 * size_t{kColumns});
  CHECK_EQUAL(rows[kCpuNanos], 3000.0);
  CHECK_EQUAL(rows[kThrottledNanos], 2000.0);
  CHECK_EQUAL(rows[kMemoryBytes], 100.0);
  CHECK_EQUAL(rows[kInactiveFileBytes], 20.0);
  CHECK_EQUAL(rows[kRssBytes], 10.0);
  CHECK_EQUAL(std::isnan(rows[kMemoryLimitBytes]), true);
  CHECK_EQUAL(rows[kProcesses], 6.0);
  CHECK_EQUAL(std::isnan(rows[kRxBytes]), true);
  for (size_t i = kColumns; i < rows.size(); i++) CHECK_EQUAL(std::isnan(rows[i]), true);
}

TEST("cgroup: devices are summed without the loopback, in whatever width they are printed") {
  double row[kColumns] = {};
  ReadNetworkDevices(
      "Inter-| Receive | Transmit\n face |bytes packets|bytes\n"
      "    lo: 9 9 9 9 0 0 0 0 9 9 9 9 0 0 0 0\n"
      "  eth0:1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n eth1: 10 0 0 0 0 0 0 0 0 0 0 1 0 0 0 0\n",
      row);
  CHECK_EQUAL(row[kRxBytes], 11.0);
  CHECK_EQUAL(row[kRxDropped], 4.0);
  CHECK_EQUAL(row[kTxBytes], 5.0);
  CHECK_EQUAL(row[kTxDropped], 9.0);
}
