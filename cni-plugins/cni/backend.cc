#include "cni/backend.h"

#include "base/error.h"
#include "cni/error.h"
#include "cni/iptables.h"
#include "cni/nft.h"

namespace trellis::cni {

std::optional<Backend> ParseBackend(const std::string& word, const std::string& what) {
  if (word.empty()) return std::nullopt;
  if (word == "nftables") return Backend::Nftables;
  if (word == "iptables") return Backend::Iptables;
  throw Error(Code::InvalidConfiguration, "unknown " + what + " \"" + word + "\"", "it is nftables or iptables");
}

bool IsAvailable(Backend backend) {
  try {
    if (backend == Backend::Nftables) QueryNft(R"({"kind":"generation"})", [](const json::Value&) {});
    else iptables::RunTool({"iptables-restore", "--version"});
    return true;
  } catch (const KernelError&) {
    return false;  // nf_tables is not in the kernel, or there is no such program
  } catch (const Error&) {
    return false;  // the program does not work here
  }
}

Backend DefaultBackend(const std::string& user) {
  for (const Backend backend : {Backend::Nftables, Backend::Iptables})
    if (IsAvailable(backend)) return backend;
  throw Error(Code::InvalidConfiguration, user + " needs nf_tables in the kernel or iptables installed");
}

}  // namespace trellis::cni
