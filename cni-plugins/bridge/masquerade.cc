#include "bridge/masquerade.h"

#include "bridge/iptables.h"
#include "bridge/nftables.h"

namespace trellis::cni {

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

}  // namespace trellis::cni
