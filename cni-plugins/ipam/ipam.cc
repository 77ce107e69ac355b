#include "ipam/ipam.h"

#include "cni/execute.h"
#include "cni/fields.h"
#include "host-local/ipam.h"

namespace trellis::cni {

namespace {

std::string TypeOf(const Request& request) {
  const json::Value* ipam = Object(request.config, "ipam");
  return ipam != nullptr ? String(*ipam, "type") : std::string();
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

std::string Ipam::Execute(const char* command) const { return ExecutePlugin(request_, type_, command, "IPAM"); }

}  // namespace trellis::cni
