#include "ipam/ipam.h"

#include <unistd.h>

#include "base/error.h"
#include "cni/error.h"
#include "cni/fields.h"
#include "host-local/ipam.h"
#include "process/run.h"

namespace trellis::cni {

namespace {

constexpr int kTimeoutMs = 120'000;

std::string TypeOf(const Request& request) {
  const json::Value* ipam = Object(request.config, "ipam");
  return ipam != nullptr ? String(*ipam, "type") : std::string();
}

std::string FindProgram(const std::string& type, const std::string& path) {
  if (type.find('/') != std::string::npos)
    throw Error(Code::InvalidConfiguration, "invalid IPAM type: " + type, "a plugin is named, not given by its path");
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find(':', at), path.size());
    const std::string candidate = path.substr(at, end - at) + "/" + type;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    at = end + 1;
  }
  throw Error(Code::InvalidConfiguration, "failed to find plugin \"" + type + "\" in path [" + path + "]", "install the IPAM plugin into a directory of CNI_PATH");
}

// A plugin tells its failure as JSON on standard output.
[[noreturn]] void Rethrow(const std::string& type, const RunResult& result) {
  try {
    const json::Document document(result.output);
    const auto code = Integer(document.root(), "code");
    if (code) throw Error(static_cast<Code>(*code), String(document.root(), "msg"), String(document.root(), "details"));
  } catch (const json::ParseError&) {
    // not JSON: told below
  }
  throw Error(Code::Internal, "IPAM plugin " + type + " failed with status " + std::to_string(result.status), result.output + result.error);
}

}  // namespace

Ipam::Ipam(const Request& request) : request_(request), type_(TypeOf(request)) {}

Result Ipam::Add() const {
  if (IsInProcess()) return AllocateAddresses(request_);
  const json::Document document(Execute("ADD"));
  return Result::Parse(document.root());
}

void Ipam::Del() const { IsInProcess() ? ReleaseAddresses(request_) : (void)Execute("DEL"); }
void Ipam::Check() const { IsInProcess() ? CheckAddresses(request_) : (void)Execute("CHECK"); }
void Ipam::Gc() const { IsInProcess() ? CollectAddresses(request_) : (void)Execute("GC"); }
void Ipam::Status() const { IsInProcess() ? RequireAddresses(request_) : (void)Execute("STATUS"); }

std::string Ipam::Execute(const char* command) const {
  RunRequest run;
  run.argv = {FindProgram(type_, request_.env.path)};
  run.input = {std::string(request_.source)};
  run.environment = {{"CNI_COMMAND", command}};
  run.timeoutMs = kTimeoutMs;
  const RunResult result = RunProgram(run, NetNs());
  if (result.status != 0) Rethrow(type_, result);
  return result.output;
}

}  // namespace trellis::cni
