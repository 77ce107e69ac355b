// The kernel's texts about control groups and network devices.
// Property: any text gives numbers or nothing.
#include "cgroup/stats.h"
#include "fuzz/fuzz.h"

FUZZ_TARGET {
  using namespace trellis;
  const std::string text(fuzz::TextOf(input));
  for (const char* name : {"", "rss ", "usage_usec ", "total_inactive_file "}) cgroup::FieldOf(text, name);
  double row[cgroup::kColumns] = {};
  cgroup::ReadNetworkDevices(text, row);
}
