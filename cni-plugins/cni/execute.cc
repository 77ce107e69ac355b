#include "cni/execute.h"

#include <unistd.h>

#include <algorithm>

#include "cni/error.h"
#include "cni/fields.h"
#include "process/run.h"

namespace trellis::cni {

namespace {

constexpr int kTimeoutMs = 120'000;

std::string FindProgram(const std::string& type, const std::string& path, const std::string& kind) {
  if (type.find('/') != std::string::npos)
    throw Error(Code::InvalidConfiguration, "invalid " + kind + " type: " + type, "a plugin is named, not given by its path");
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find(':', at), path.size());
    const std::string candidate = path.substr(at, end - at) + "/" + type;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    at = end + 1;
  }
  throw Error(Code::InvalidConfiguration, "failed to find plugin \"" + type + "\" in path [" + path + "]",
              "install the " + kind + " plugin into a directory of CNI_PATH");
}

// A plugin tells its failure as JSON on standard output.
[[noreturn]] void Rethrow(const std::string& type, const std::string& kind, const RunResult& result) {
  try {
    const json::Document document(result.output);
    const auto code = Integer(document.root(), "code");
    if (code) throw Error(static_cast<Code>(*code), String(document.root(), "msg"), String(document.root(), "details"));
  } catch (const json::ParseError&) {
    // not JSON: told below
  }
  throw Error(Code::Internal, kind + " plugin " + type + " failed with status " + std::to_string(result.status),
              result.output + result.error);
}

}  // namespace

CalledPlugin::CalledPlugin(std::string type, const Plugin& ours, const char* kind)
    : type_(std::move(type)), ours_(ours), kind_(kind) {}

Result CalledPlugin::Add(const Request& request) const {
  if (IsOurs()) return ours_.add(request);
  const json::Document document(Execute(request, "ADD"));
  return Result::Parse(document.root());
}

void CalledPlugin::Call(const Request& request, const char* command, void (*inProcess)(const Request&)) const {
  if (IsOurs()) inProcess(request);
  else Execute(request, command);
}

// Hands the request's configuration to the program; returns what it wrote to standard output.
std::string CalledPlugin::Execute(const Request& request, const char* command) const {
  RunRequest run;
  run.argv = {FindProgram(type_, request.env.path, kind_)};
  run.input = {std::string(request.source)};
  run.environment = {{"CNI_COMMAND", command}};
  run.timeoutMs = kTimeoutMs;
  // Killed with us, whatever the command. The call that killed us has failed, so the runtime calls DEL (or DEL or GC again), and
  // a plugin's half-done work is what those are for: a power cut leaves the same. One that went on would do harm then: ADD
  // takes an address after DEL, DEL gives back what the next ADD of that name got, GC removes what is newer than its list.
  // (Tools that write rules are another matter: they are waited for under the rules' lock.)
  run.bound = true;
  const RunResult result = RunProgram(run, NetNs());
  if (result.status != 0) Rethrow(type_, kind_, result);
  return result.output;
}

}  // namespace trellis::cni
