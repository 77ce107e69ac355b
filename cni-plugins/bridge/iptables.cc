// nat: POSTROUTING -j TRELLIS-CNI
//      TRELLIS-CNI  -s 10.1.0.5/32 -m comment --comment "network container eth0" -j TRELLIS-TO-<hash of 10.1.0.0/16>
//      TRELLIS-TO-… -d 10.1.0.0/16 -j ACCEPT ; ! -d 224.0.0.0/4 -j MASQUERADE
// One read and one write of the table an ADD, under a lock of our own so that two ADDs do not both see a chain missing.
#include "bridge/iptables.h"

#include <functional>

#include "cni/error.h"
#include "cni/iptables.h"
#include "cni/lock.h"
#include "host-local/range.h"

namespace trellis::cni::iptables {

namespace {

constexpr const char* kPods = "TRELLIS-CNI";
const std::string kJump = "-A POSTROUTING -j TRELLIS-CNI";

std::string ChainOf(const IpPrefix& subnet) { return ChainName("TRELLIS-TO-", subnet.ToString()); }

std::string PodRule(const MasqueradeOwner& owner, const IpPrefix& address) {
  const std::string host = address.address.ToString() + (address.address.length == 4 ? "/32" : "/128");
  return std::string("-A ") + kPods + " -s " + host + " -m comment --comment \"" + owner.Comment() + "\" -j " +
         ChainOf({NetworkOf(address), address.length});
}

bool IsPodRule(const std::string& line) { return line.rfind(std::string("-A ") + kPods + " ", 0) == 0; }

// The chains and the jump to them, which go with the last pod.
Lines RemoveAll(const Lines& now) {
  Lines lines;
  if (Has(now, kJump)) lines.push_back("-D" + kJump.substr(2));
  for (const std::string& line : now) {
    const std::string chain = line.substr(0, line.find(' '));
    if (chain.rfind(":TRELLIS-TO-", 0) != 0 && chain != std::string(":") + kPods) continue;
    lines.push_back("-F " + chain.substr(1));
    lines.push_back("-X " + chain.substr(1));
  }
  return lines;
}

// Deletes the pods' rules that `wanted` says yes to.
void DeleteRules(const std::function<bool(const std::string&)>& wanted) {
  for (const bool v6 : {false, true}) {
    const Lines now = ReadNat(v6);
    Lines deletions;
    bool last = true;
    for (const std::string& line : now) {
      if (!IsPodRule(line)) continue;
      if (wanted(line)) deletions.push_back("-D" + line.substr(2));
      else last = false;
    }
    if (last) {
      const Lines all = RemoveAll(now);
      deletions.insert(deletions.end(), all.begin(), all.end());
    }
    WriteNat(v6, deletions);
  }
}

}  // namespace

void Add(const MasqueradeOwner& owner, const std::vector<IpPrefix>& addresses) {
  const RulesLock lock;
  for (const IpPrefix& address : addresses) {
    const bool v6 = address.address.length == 16;
    const auto now = ReadNat(v6);
    const IpPrefix subnet{NetworkOf(address), address.length};
    const std::string chain = ChainOf(subnet);
    Lines lines = {":" + chain + " - [0:0]"};  // declared: emptied, or made
    if (!HasChain(now, kPods)) lines.push_back(std::string(":") + kPods + " - [0:0]");
    lines.push_back("-A " + chain + " -d " + subnet.ToString() + " -j ACCEPT");
    lines.push_back("-A " + chain + " ! -d " + (v6 ? "ff00::/8" : "224.0.0.0/4") + " -j MASQUERADE");
    if (!Has(now, PodRule(owner, address))) lines.push_back(PodRule(owner, address));
    if (!Has(now, kJump)) lines.push_back(kJump);
    WriteNat(v6, lines);
  }
}

void Remove(const MasqueradeOwner& owner) {
  const RulesLock lock;
  DeleteRules([&](const std::string& line) { return CommentOf(line) == owner.Comment(); });
}

void Check(const MasqueradeOwner& owner, const std::vector<IpPrefix>& addresses) {
  for (const IpPrefix& address : addresses) {
    const auto now = ReadNat(address.address.length == 16);
    if (!Has(now, PodRule(owner, address)) || !Has(now, kJump))
      throw Error(Code::Internal, "masquerading of " + address.address.ToString() + " is gone",
                  "the nat table was changed by somebody else; the next ADD puts its chains back");
  }
}

void Collect(const std::string& network, const std::vector<MasqueradeOwner>& valid) {
  const RulesLock lock;
  DeleteRules([&](const std::string& line) { return IsStale(CommentOf(line), network, valid); });
}

}  // namespace trellis::cni::iptables
