// Legacy tables: steps on one in memory, and bytes that are none.
#include "xtables/table.h"

#include <algorithm>

#include "base/error.h"
#include "test/check.h"

using namespace trellis;
using namespace trellis::xtables;

namespace {

// A table of one built-in chain, INPUT, that holds these entries before its policy.
struct Small {
  std::string bytes;
  Hooks hooks{.valid = 2};

  explicit Small(std::string rules = {}) : bytes(std::move(rules)) {
    hooks.underflow[1] = static_cast<uint32_t>(bytes.size());
    bytes += Entry(kIpv4, {}, {}, StandardTarget(-2)) + ChainHead(kIpv4, "ERROR");
  }
  Table Read() const { return Table(kIpv4, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, hooks); }
};

const std::string kReturn = Return(kIpv4);
NewRule Jump(std::string chain) { return {Entry(kIpv4, {}, {}, StandardTarget(0)), std::move(chain)}; }

std::vector<uint32_t> Origins(Table& table, std::string found) {
  const Arrangement to = table.Arrange();
  std::vector<uint8_t> bytes(to.size.bytes);
  to.WriteTo(bytes.data(), reinterpret_cast<const uint8_t*>(found.data()));
  Table(kIpv4, bytes, to.hooks);  // it reads again
  CHECK(to.inOrder);
  found.resize(std::max(found.size(), bytes.size()));
  to.WriteOver(reinterpret_cast<uint8_t*>(found.data()));
  CHECK(std::equal(bytes.begin(), bytes.end(), reinterpret_cast<const uint8_t*>(found.data())));
  return to.origins;
}

}  // namespace

TEST("a legacy table keeps its entries where a step puts others between them") {
  const Small small(kReturn + kReturn);
  Table table = small.Read();
  table.Declare("B");
  table.Declare("A");
  table.Insert("INPUT", Jump("B"));
  table.Append("A", Jump("B"));
  constexpr uint32_t kNew = Arrangement::kNew;
  // INPUT: the new jump, both rules, the policy; A: its head, a jump, its end; B: head and end; the last.
  CHECK(Origins(table, small.bytes) == std::vector<uint32_t>({kNew, 0, 1, 2, kNew, kNew, kNew, kNew, kNew, 3}));
  table.Delete("INPUT", Jump("B"));
  table.Declare("A");
  table.Remove("A");
  table.Remove("B");
  CHECK(Origins(table, small.bytes) == std::vector<uint32_t>({0, 1, 2, 3}));
}

TEST("a legacy table is changed where it was found, whatever grows and shrinks in it") {
  const Small small;
  Table before = small.Read();
  for (const auto& [chain, rules] : {std::pair("A", 1), {"C", 9}, {"E", 2}, {"G", 1}}) {
    before.Declare(chain);
    for (int i = 0; i < rules; ++i) before.Append(chain, {kReturn, {}});
    before.Append("INPUT", Jump(chain));
  }
  const Arrangement made = before.Arrange();
  std::string found(made.size.bytes, '\0');
  made.WriteTo(reinterpret_cast<uint8_t*>(found.data()), reinterpret_cast<const uint8_t*>(small.bytes.data()));
  Table table(kIpv4, {reinterpret_cast<const uint8_t*>(found.data()), found.size()}, made.hooks);
  for (int i = 0; i < 4; ++i) table.Append("A", {kReturn, {}});  // what is behind it moves up
  table.Declare("C");                                            // and from here on down
  table.Declare("B");
  table.Append("B", Jump("E"));
  for (int i = 0; i < 9; ++i) table.Insert("G", Jump("B"));
  CHECK(Origins(table, found).size() == made.size.entries + 4 - 9 + 3 + 9);
}

TEST("a step that a legacy table cannot take is refused") {
  const Small small;
  Table table = small.Read();
  CHECK_THROWS(InputError, "no chain 'X'", table.Append("X", Jump("INPUT")));
  CHECK_THROWS(InputError, "built-in", table.Append("INPUT", Jump("INPUT")));
  CHECK_THROWS(InputError, "built-in", table.Declare("INPUT"));
  CHECK_THROWS(InputError, "1 to 28", table.Declare(std::string(29, 'x')));
  CHECK_THROWS(InputError, "no such rule", table.Delete("INPUT", {kReturn, {}}));
  table.Declare("X");
  table.Append("INPUT", Jump("X"));
  table.Remove("X");
  CHECK_THROWS(InputError, "jumps to 'X'", table.Arrange());
}

TEST("bytes that are no legacy table are refused, however they are cut") {
  const Small whole(kReturn);
  for (size_t size = 0; size < whole.bytes.size(); ++size) {
    Small cut = whole;
    cut.bytes.resize(size);
    cut.bytes.shrink_to_fit();
    CHECK_THROWS(KernelError, "read the table", cut.Read());
  }
  Small other = whole;
  other.hooks.underflow[1] = 0;
  CHECK_THROWS(KernelError, "policy", other.Read());
  other.hooks.entry[1] = 8;
  CHECK_THROWS(KernelError, "read the table", other.Read());
  CHECK_THROWS(KernelError, "jump", Small(Entry(kIpv4, {}, {}, StandardTarget(8))).Read());
}
