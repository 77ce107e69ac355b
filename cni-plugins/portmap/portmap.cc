#include "portmap/portmap.h"

#include "cni/error.h"
#include "cni/fault.h"
#include "cni/owner.h"
#include "portmap/host.h"
#include "portmap/iptables.h"
#include "portmap/nftables.h"

namespace trellis::cni {

namespace {

using namespace portmap;

void RemoveWhere(const Config& config, const std::function<bool(std::string_view)>& wanted) {
  if (config.ChosenBackend() == Backend::Nftables) portmap::nft::Remove(wanted);
  else portmap::iptables::Remove(wanted);
}

void RemoveOwn(const Request& request, const Config& config) {
  RemoveWhere(config, [comment = OwnerOf(request).Comment()](std::string_view text) { return text == comment; });
}

void Publish(const Request& request, const Config& config, const std::vector<Publication>& publications) {
  if (config.ChosenBackend() == Backend::Nftables) portmap::nft::Add(OwnerOf(request), config, publications);
  else portmap::iptables::Add(OwnerOf(request), config, publications);
  FaultPoint("portmap");
  if (config.snat)
    for (const Publication& publication : publications)
      if (!publication.IsV6()) {
        AllowLocalhost(publication.container.address);
        break;  // all lead to the same address
      }
  ForgetFlows(publications);
}

Result Add(const Request& request) {
  if (!request.previous)
    throw Error(Code::InvalidConfiguration, "Required prevResult missing", "portmap must be called as a chained plugin");
  const Config config = Config::Parse(request);
  const auto publications = ParsePublications(request);
  if (publications.empty()) return *request.previous;
  try {
    Publish(request, config, publications);
  } catch (const std::exception&) {
    try {
      RemoveOwn(request, config);
    } catch (const std::exception&) {
      // the error that led here is the one to tell
    }
    throw;
  }
  return *request.previous;
}

void Del(const Request& request) { RemoveOwn(request, Config::Parse(request)); }

void Check(const Request& request) {
  const Config config = Config::Parse(request);
  const auto publications = ParsePublications(request);
  if (publications.empty()) return;
  if (config.ChosenBackend() == Backend::Nftables) portmap::nft::Check(OwnerOf(request), config, publications);
  else portmap::iptables::Check(OwnerOf(request), config, publications);
}

void Collect(const Request& request) {
  const auto valid = ValidOwners(request);
  RemoveWhere(Config::Parse(request), [&](std::string_view comment) { return IsStale(comment, request.network, valid); });
}

void Status(const Request& request) {
  const Config config = Config::Parse(request);
  if (IsAvailable(config.ChosenBackend())) return;
  throw Error(Code::PluginNotAvailable, "portmap's back end is not available",
              "it needs nf_tables in the kernel, or iptables installed where the configuration asks for it");
}

}  // namespace

const Plugin kPortmap = {"portmap", "publishes ports of a container on its host", Add, Del, Check, Collect, Status};

}  // namespace trellis::cni
