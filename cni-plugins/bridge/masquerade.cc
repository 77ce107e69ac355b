#include "bridge/masquerade.h"

#include "bridge/iptables.h"
#include "bridge/nftables.h"
#include "cni/error.h"

namespace trellis::cni {

namespace {

constexpr size_t kMaxComment = 120;

}  // namespace

std::string MasqueradeOwner::Comment() const { return (network + " " + containerId + " " + interfaceName).substr(0, kMaxComment); }

void AddMasquerade(MasqueradeBackend backend, const MasqueradeOwner& owner, const std::vector<IpPrefix>& addresses) {
  if (backend == MasqueradeBackend::Nftables) nft::Add(owner, addresses);
  else iptables::Add(owner, addresses);
}

void RemoveMasquerade(MasqueradeBackend backend, const MasqueradeOwner& owner) {
  if (backend == MasqueradeBackend::Nftables) nft::Remove(owner);
  else iptables::Remove(owner);
}

void CheckMasquerade(MasqueradeBackend backend, const MasqueradeOwner& owner, const std::vector<IpPrefix>& addresses) {
  if (backend == MasqueradeBackend::Nftables) nft::Check(addresses);
  else iptables::Check(owner, addresses);
}

void CollectMasquerade(MasqueradeBackend backend, const std::string& network, const std::vector<MasqueradeOwner>& valid) {
  if (backend == MasqueradeBackend::Nftables) nft::Collect(network, valid);
  else iptables::Collect(network, valid);
}

MasqueradeBackend DefaultBackend() {
  if (nft::IsAvailable()) return MasqueradeBackend::Nftables;
  if (iptables::IsAvailable()) return MasqueradeBackend::Iptables;
  throw Error(Code::InvalidConfiguration, "ipMasq needs nf_tables in the kernel or iptables installed");
}

}  // namespace trellis::cni
