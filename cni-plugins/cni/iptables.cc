#include "cni/iptables.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <sstream>

#include "cni/error.h"
#include "cni/hash.h"
#include "cni/lock.h"
#include "process/run.h"

namespace trellis::cni::iptables {

namespace {

std::string Tool(bool v6, const char* what) { return std::string(v6 ? "ip6tables-" : "iptables-") + what; }

}  // namespace

std::string RunTool(std::vector<std::string> argv, std::string input) {
  RunRequest request;
  request.argv = std::move(argv);
  if (!input.empty()) request.input = {std::move(input)};
  request.keep = RulesLock::Held();  // killed meanwhile, we leave it running: nobody else may write before it has ended
  const RunResult result = RunProgram(request, NetNs());
  if (result.status != 0) throw Error(Code::Internal, request.argv[0] + " failed", result.error);
  return result.output;
}

Lines ReadNat(bool v6) {
  Lines lines;
  std::istringstream text(RunTool({Tool(v6, "save"), "-t", "nat"}));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

void WriteNat(bool v6, const Lines& lines) {
  if (lines.empty()) return;
  std::string input = "*nat\n";
  for (const auto& line : lines) input += line + "\n";
  RunTool({Tool(v6, "restore"), "--noflush", "--wait"}, input + "COMMIT\n");
}

bool Has(const Lines& lines, const std::string& line) { return std::find(lines.begin(), lines.end(), line) != lines.end(); }

bool HasChain(const Lines& lines, const std::string& chain) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(":" + chain + " "); });
}

std::string_view CommentOf(std::string_view line) {
  constexpr std::string_view kMark = "--comment \"";
  const size_t at = line.find(kMark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + kMark.size());
  return rest.substr(0, rest.find('"'));
}

std::string ChainName(const char* prefix, const std::string& text) {
  char name[29];
  snprintf(name, sizeof name, "%s%012llx", prefix, static_cast<unsigned long long>(Hash(text) & 0xffffffffffff));
  return name;
}

}  // namespace trellis::cni::iptables
