// nat: PREROUTING, OUTPUT -m addrtype --dst-type LOCAL -j TRELLIS-HOSTPORTS
//      TRELLIS-HOSTPORTS   -j TRELLIS-HP-IP ; -j TRELLIS-HP-ANY       a port of one address goes before a port of all
//      TRELLIS-HP-ANY      -p tcp --dport 8080 <conditions> -m comment --comment "network container eth0" -j TRELLIS-HP-<hash>
//                          … -j DNAT --to-destination 10.1.0.5:80
//      TRELLIS-HP-<hash>   -s 10.1.0.0/16 -j MARK --set-xmark 0x2000/0x2000 ; -s 127.0.0.0/8 likewise
//      POSTROUTING -j TRELLIS-HP-MASQ13 -m mark --mark 0x2000/0x2000 -j MASQUERADE
// New rules go to the head of their chain, so the youngest container has a port that an older one left behind.
#include "portmap/iptables.h"

#include <algorithm>
#include <cstdio>

#include "cni/error.h"
#include "cni/iptables.h"
#include "cni/lock.h"
#include "host-local/range.h"

namespace trellis::cni::portmap::iptables {

using namespace trellis::cni::iptables;

namespace {

const std::string kEntry = "TRELLIS-HOSTPORTS";
const std::string kPrefix = "TRELLIS-HP-";
const std::string kAddressed = kPrefix + "IP";
const std::string kAny = kPrefix + "ANY";

// Answers never find back to ::1 (IPv6 has no route_localnet), so its ports are left alone.
Lines Jumps(bool v6) {
  const std::string local = "-m addrtype --dst-type LOCAL -j " + kEntry;
  return {"-A PREROUTING " + local, std::string("-A OUTPUT ") + (v6 ? "! -d ::1/128 " : "") + local};
}

std::string Declare(const std::string& chain) { return ":" + chain + " - [0:0]"; }

std::string MarkText(const Config& config) {
  char text[32];
  snprintf(text, sizeof text, "0x%x/0x%x", config.Mark(), config.Mark());
  return text;
}

std::string MasqueradeChain(const Config& config) { return kPrefix + "MASQ" + std::to_string(config.markBit); }

std::string Quote(const std::string& word) {
  std::string quoted = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

Lines MarkRules(const Config& config, const IpPrefix& container) {
  const std::string target =
      config.externalSetMarkChain.empty() ? "MARK --set-xmark " + MarkText(config) : config.externalSetMarkChain;
  if (config.masqAll) return {"-j " + target};
  const IpPrefix subnet{NetworkOf(container), container.length};
  Lines rules = {"-s " + subnet.ToString() + " -j " + target};
  if (container.address.length == 4) rules.push_back("-s 127.0.0.0/8 -j " + target);
  return rules;
}

std::string MarkChain(const Lines& rules) {
  std::string text;
  for (const std::string& rule : rules) text.append(rule).append("\n");
  return ChainName(kPrefix.c_str(), text);
}

const std::string& ChainOf(const Publication& publication) { return publication.hostIp ? kAddressed : kAny; }

std::string MatchOf(const Owner& owner, const Config& config, const Publication& publication) {
  std::string match;
  if (publication.hostIp) match += "-d " + publication.hostIp->ToString() + " ";
  match += "-p " + publication.protocol + " --dport " + std::to_string(publication.hostPort);
  for (const std::string& word : publication.IsV6() ? config.conditionsV6 : config.conditionsV4)
    match.append(" ").append(Quote(word));
  return match + " -m comment --comment " + Quote(owner.Comment());
}

std::string DestinationOf(const Publication& publication) {
  const std::string address = publication.container.address.ToString();
  return "--to-destination " + (publication.IsV6() ? "[" + address + "]" : address) + ":" +
         std::to_string(publication.containerPort);
}

bool IsMapping(const std::string& line) {
  return line.starts_with("-A " + kAddressed + " ") || line.starts_with("-A " + kAny + " ");
}

// The rules that every ADD leaves as they should be, whatever it found.
Lines FixedLines(const Lines& now, const Config& config, const Lines& markRules, bool v6) {
  Lines lines = {Declare(kEntry)};  // declared: emptied, or made
  for (const std::string& chain : {kAddressed, kAny})
    if (!HasChain(now, chain)) lines.push_back(Declare(chain));
  for (const std::string& chain : {kAddressed, kAny}) lines.push_back("-A " + kEntry + " -j " + chain);
  for (const std::string& jump : Jumps(v6))
    if (!Has(now, jump)) lines.push_back(jump);
  if (!config.snat) return lines;
  const std::string chain = MarkChain(markRules);
  lines.push_back(Declare(chain));
  for (const std::string& rule : markRules) lines.push_back("-A " + chain + " " + rule);
  if (!config.externalSetMarkChain.empty()) return lines;
  const std::string masquerade = MasqueradeChain(config), jump = "-A POSTROUTING -j " + masquerade;
  lines.push_back(Declare(masquerade));
  lines.push_back("-A " + masquerade + " -m mark --mark " + MarkText(config) + " -j MASQUERADE");
  if (!Has(now, jump)) lines.push_back(jump);
  return lines;
}

void AddFamily(const Owner& owner, const Config& config, const std::vector<Publication>& publications, bool v6) {
  const auto now = ReadNat(v6);
  Lines lines, deletions;
  for (const Publication& publication : publications) {
    if (publication.IsV6() != v6) continue;
    const Lines markRules = MarkRules(config, publication.container);
    if (lines.empty()) lines = FixedLines(now, config, markRules, v6);
    const std::string rule = "-I " + ChainOf(publication) + " 1 " + MatchOf(owner, config, publication);
    lines.push_back(rule + " -j DNAT " + DestinationOf(publication));
    if (config.snat) lines.push_back(rule + " -j " + MarkChain(markRules));
  }
  for (const std::string& line : now)
    if (IsMapping(line) && CommentOf(line) == owner.Comment()) deletions.push_back("-D" + line.substr(2));
  // Chains are declared before rules, and a repeated ADD's own rules go before they come again.
  const auto firstRule = std::find_if(lines.begin(), lines.end(), [](const std::string& line) { return line.starts_with("-I"); });
  lines.insert(firstRule, deletions.begin(), deletions.end());
  WriteNat(v6, lines);
}

bool IsOurs(std::string_view chain) { return chain == kEntry || chain.starts_with(kPrefix); }

std::string_view Word(std::string_view line, size_t at) { return line.substr(at, line.find(' ', at) - at); }

// Takes down every chain of ours and the ways to them.
Lines Dismantle(const Lines& now) {
  Lines lines, removals;
  for (const std::string& line : now) {
    const size_t target = line.rfind(" -j ");
    const bool leads = line.starts_with("-A ") && target != std::string::npos && IsOurs(Word(line, target + 4));
    if (leads && !IsOurs(Word(line, 3))) lines.push_back("-D" + line.substr(2));
  }
  for (const std::string& line : now) {
    if (!line.starts_with(":") || !IsOurs(Word(line, 1))) continue;
    lines.push_back("-F " + std::string(Word(line, 1)));
    removals.push_back("-X " + std::string(Word(line, 1)));
  }
  lines.insert(lines.end(), removals.begin(), removals.end());
  return lines;
}

void Require(bool there, const Publication& publication) {
  if (there) return;
  throw Error(Code::Internal,
              "publication of " + publication.protocol + " port " + std::to_string(publication.hostPort) + " is gone",
              "the nat table was changed by somebody else; run DEL and ADD again");
}

bool IsPublished(const Lines& now, const Owner& owner, const Publication& publication) {
  const std::string port = " --dport " + std::to_string(publication.hostPort) + " ";
  return std::any_of(now.begin(), now.end(), [&](const std::string& line) {
    return line.starts_with("-A " + ChainOf(publication) + " ") && CommentOf(line) == owner.Comment() &&
           line.find(" -p " + publication.protocol + " ") != std::string::npos && line.find(port) != std::string::npos &&
           line.ends_with(DestinationOf(publication));
  });
}

}  // namespace

void Add(const Owner& owner, const Config& config, const std::vector<Publication>& publications) {
  const RulesLock lock;
  for (const bool v6 : {false, true})
    if (std::any_of(publications.begin(), publications.end(), [&](const Publication& one) { return one.IsV6() == v6; }))
      AddFamily(owner, config, publications, v6);
}

void Remove(const std::function<bool(std::string_view)>& wanted) {
  const RulesLock lock;
  for (const bool v6 : {false, true}) {
    const auto now = ReadNat(v6);
    Lines deletions;
    size_t left = 0;
    for (const std::string& line : now) {
      if (!IsMapping(line)) continue;
      if (wanted(CommentOf(line))) deletions.push_back("-D" + line.substr(2));
      else ++left;
    }
    WriteNat(v6, left == 0 ? Dismantle(now) : deletions);
  }
}

void Check(const Owner& owner, const Config& config, const std::vector<Publication>& publications) {
  for (const bool v6 : {false, true}) {
    Lines now;
    for (const Publication& publication : publications) {
      if (publication.IsV6() != v6) continue;
      if (now.empty()) now = ReadNat(v6);
      Require(IsPublished(now, owner, publication), publication);
      for (const std::string& jump : Jumps(v6)) Require(Has(now, jump), publication);
      Require(Has(now, "-A " + kEntry + " -j " + ChainOf(publication)), publication);
      const bool masquerades = config.snat && config.externalSetMarkChain.empty();
      Require(!masquerades || Has(now, "-A POSTROUTING -j " + MasqueradeChain(config)), publication);
    }
  }
}

}  // namespace trellis::cni::portmap::iptables
