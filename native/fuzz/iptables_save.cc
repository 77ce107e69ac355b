// Lines of iptables-save, among which a plugin finds its own by their comments.
// Property: a comment is part of its line and holds no quote; one that we write ourselves is found again as it was.
#include "cni/iptables.h"
#include "cni/owner.h"
#include "fuzz/fuzz.h"

FUZZ_TARGET {
  using namespace trellis;
  using namespace trellis::cni;
  const std::string line(fuzz::TextOf(input));
  const std::string_view comment = iptables::CommentOf(line);
  MUST(comment.size() <= line.size() && comment.find('"') == std::string_view::npos);
  iptables::HasChain({line}, "TRELLIS-CNI");
  const Owner owner{"net", "c1", line.substr(0, 15)};
  const std::string ours = owner.Comment();
  MUST(ours.size() <= 120);
  MUST(iptables::CommentOf("-A X -m comment --comment \"" + ours + "\" -j Y") == ours);
  MUST(!IsStale(ours, "net", {owner}) && IsStale(ours, "net", {}));
  MUST(ours != Owner{"net", "c1", owner.interfaceName + "x"}.Comment());
}
