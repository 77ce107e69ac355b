// A legacy table as the kernel gives it: where its hooks are, then its entries; the first byte says which family.
// Property: what is read can be changed and written, and what is written reads again as the same table.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "xtables/table.h"

FUZZ_TARGET {
  using namespace trellis;
  using namespace trellis::xtables;
  constexpr size_t kPrefix = 8 + 2 * kHooks * sizeof(uint32_t);
  if (input.size() < kPrefix) return;
  const Layout& layout = input[0] % 2 == 0 ? kIpv4 : kIpv6;
  Hooks hooks;
  memcpy(&hooks.valid, input.data() + 4, sizeof hooks.valid);
  memcpy(hooks.entry.data(), input.data() + 8, sizeof hooks.entry);
  memcpy(hooks.underflow.data(), input.data() + 8 + sizeof hooks.entry, sizeof hooks.underflow);
  // Of exactly that size on the heap, so that a read past it is seen.
  const std::vector<uint8_t> found(input.begin() + kPrefix, input.end());
  const auto written = [](Table& table, const std::vector<uint8_t>& from, Hooks& at) {
    const Arrangement to = table.Arrange();
    MUST(to.origins.size() == to.size.entries);
    at = to.hooks;
    std::vector<uint8_t> bytes(to.size.bytes);
    to.WriteTo(bytes.data(), from.data());
    if (to.inOrder) {
      std::vector<uint8_t> over = from;
      over.resize(std::max(from.size(), bytes.size()));
      to.WriteOver(over.data());
      over.resize(bytes.size());
      MUST(over == bytes);
    }
    return bytes;
  };
  fuzz::Reads([&] {
    Table table(layout, found, hooks);
    Hooks first, second;
    const auto same = written(table, found, first);
    MUST(same.size() == found.size() && first.valid == hooks.valid);
    fuzz::Accepts([&] {
      const NewRule jump{Entry(layout, {}, {}, StandardTarget(0)), "FUZZED"};
      table.Declare("FUZZED");
      table.Insert("INPUT", jump);
      table.Append("FUZZED", {Return(layout), {}});
      const auto changed = written(table, found, first);
      Table(layout, changed, first);
      table.Delete("INPUT", jump);
    });
    const auto left = written(table, found, first);
    Table again(layout, left, first);
    MUST(written(again, left, second) == left && first.entry == second.entry);
  });
}
