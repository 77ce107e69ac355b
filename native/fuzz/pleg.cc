// A runtime's two lists, cut out of one input; and again over what they left behind.
#include "fuzz/fuzz.h"
#include "pleg/differ.h"

FUZZ_TARGET {
  using namespace trellis;
  // The first byte says where the second list begins, in sixteenths.
  const size_t cut = input.empty() ? 0 : 1 + (input.size() - 1) * (input[0] & 15) / 16;
  const Bytes sandboxes = input.empty() ? input : input.subspan(1, cut - 1);
  const Bytes containers = input.subspan(cut);
  pleg::Differ differ;
  fuzz::Reads([&] {
    const pleg::Changes first = differ.Diff(sandboxes, containers);
    json::Document{first.json};
    // Undelivered, the same events are found again; once they are, none.
    MUST(differ.Diff(sandboxes, containers).json == first.json);
    differ.Commit(first.token + 1);
    MUST(differ.Diff(sandboxes, containers).json == "[]");
    const bool any = differ.Pods() != "[]";
    MUST((differ.Diff({}, {}).json != "[]") == any);
  });
}
