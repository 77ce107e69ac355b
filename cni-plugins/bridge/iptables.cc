// nat: POSTROUTING -j TRELLIS-CNI
//      TRELLIS-CNI  -s 10.1.0.5/32 -m comment --comment "network container eth0" -j TRELLIS-TO-<hash of 10.1.0.0/16>
//      TRELLIS-TO-… -d 10.1.0.0/16 -j ACCEPT ; ! -d 224.0.0.0/4 -j MASQUERADE
// One read and one write of the table an ADD, under a lock of our own so that two ADDs do not both see a chain missing.
#include "bridge/iptables.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/fd.h"
#include "cni/error.h"
#include "host-local/range.h"
#include "process/run.h"

namespace trellis::cni::iptables {

namespace {

constexpr const char* kLock = "/run/trellis-cni-iptables.lock";
constexpr const char* kPods = "TRELLIS-CNI";
const std::string kJump = "-A POSTROUTING -j TRELLIS-CNI";

class Lock {
 public:
  Lock() : fd_(open(kLock, O_RDONLY | O_CREAT | O_CLOEXEC, 0600)) {
    if (!fd_) throw Error(Code::IoFailure, std::string("cannot open ") + kLock);
    while (flock(fd_.get(), LOCK_EX) != 0)
      if (errno != EINTR) throw Error(Code::IoFailure, std::string("cannot lock ") + kLock);
  }

 private:
  Fd fd_;
};

std::string Tool(bool v6, const char* what) { return std::string(v6 ? "ip6tables-" : "iptables-") + what; }

std::string Run(std::vector<std::string> argv, std::string input = {}) {
  RunRequest request;
  request.argv = std::move(argv);
  if (!input.empty()) request.input = {std::move(input)};
  const RunResult result = RunProgram(request, NetNs());
  if (result.status != 0) throw Error(Code::Internal, request.argv[0] + " failed", result.error);
  return result.output;
}

std::vector<std::string> ReadNat(bool v6) {
  std::vector<std::string> lines;
  std::istringstream text(Run({Tool(v6, "save"), "-t", "nat"}));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

void WriteNat(bool v6, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  std::string input = "*nat\n";
  for (const auto& line : lines) input += line + "\n";
  Run({Tool(v6, "restore"), "--noflush", "--wait"}, input + "COMMIT\n");
}

bool Has(const std::vector<std::string>& lines, const std::string& line) { return std::find(lines.begin(), lines.end(), line) != lines.end(); }

bool HasChain(const std::vector<std::string>& lines, const std::string& chain) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.rfind(":" + chain + " ", 0) == 0; });
}

// Chain names hold 28 characters; FNV-1a keeps them short and the same for every pod of a subnet.
std::string ChainOf(const IpPrefix& subnet) {
  uint64_t hash = 14695981039346656037u;
  for (const unsigned char c : subnet.ToString()) hash = (hash ^ c) * 1099511628211u;
  char name[29];
  snprintf(name, sizeof name, "TRELLIS-TO-%012llx", static_cast<unsigned long long>(hash & 0xffffffffffff));
  return name;
}

std::string PodRule(const MasqueradeOwner& owner, const IpPrefix& address) {
  const std::string host = address.address.ToString() + (address.address.length == 4 ? "/32" : "/128");
  return std::string("-A ") + kPods + " -s " + host + " -m comment --comment \"" + owner.Comment() + "\" -j " + ChainOf({NetworkOf(address), address.length});
}

// Deletes the pods' rules that `wanted` says yes to.
void DeleteRules(const std::function<bool(const std::string&)>& wanted) {
  for (const bool v6 : {false, true}) {
    std::vector<std::string> deletions;
    for (const std::string& line : ReadNat(v6))
      if (line.rfind(std::string("-A ") + kPods + " ", 0) == 0 && wanted(line)) deletions.push_back("-D" + line.substr(2));
    WriteNat(v6, deletions);
  }
}

std::string CommentPart(const std::string& comment) { return "--comment \"" + comment; }

}  // namespace

void Add(const MasqueradeOwner& owner, const std::vector<IpPrefix>& addresses) {
  const Lock lock;
  for (const IpPrefix& address : addresses) {
    const bool v6 = address.address.length == 16;
    const auto now = ReadNat(v6);
    const IpPrefix subnet{NetworkOf(address), address.length};
    const std::string chain = ChainOf(subnet);
    std::vector<std::string> lines = {":" + chain + " - [0:0]"};  // declared: emptied, or made
    if (!HasChain(now, kPods)) lines.push_back(std::string(":") + kPods + " - [0:0]");
    lines.push_back("-A " + chain + " -d " + subnet.ToString() + " -j ACCEPT");
    lines.push_back("-A " + chain + " ! -d " + (v6 ? "ff00::/8" : "224.0.0.0/4") + " -j MASQUERADE");
    if (!Has(now, PodRule(owner, address))) lines.push_back(PodRule(owner, address));
    if (!Has(now, kJump)) lines.push_back(kJump);
    WriteNat(v6, lines);
  }
}

void Remove(const MasqueradeOwner& owner) {
  const Lock lock;
  const std::string mark = CommentPart(owner.Comment()) + "\"";
  DeleteRules([&](const std::string& line) { return line.find(mark) != std::string::npos; });
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
  const Lock lock;
  DeleteRules([&](const std::string& line) {
    if (line.find(CommentPart(network + " ")) == std::string::npos) return false;
    return std::none_of(valid.begin(), valid.end(),
                        [&](const MasqueradeOwner& owner) { return line.find(CommentPart(owner.Comment()) + "\"") != std::string::npos; });
  });
}

bool IsAvailable() {
  try {
    Run({"iptables-restore", "--version"});
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace trellis::cni::iptables
