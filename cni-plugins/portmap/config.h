// The configuration of the portmap plugin, and what of it is to be published.
// Guarantees: a mapping that makes no sense is refused, by its place in the list and its field, before anything is made.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cni/backend.h"
#include "cni/plugin.h"

namespace trellis::cni::portmap {

// One port of the host that leads to one port of the container, in one family.
struct Publication {
  std::string protocol;             // tcp, udp or sctp
  std::optional<IpAddress> hostIp;  // nothing: every address of the host
  uint16_t hostPort = 0;
  IpPrefix container;  // its address, and its network by the length
  uint16_t containerPort = 0;

  bool IsV6() const { return container.address.length == 16; }
};

struct Config {
  bool snat = true, masqAll = false;
  unsigned markBit = 13;
  std::string externalSetMarkChain;
  std::vector<std::string> conditionsV4, conditionsV6;
  std::optional<Backend> backend;

  uint32_t Mark() const { return 1u << markBit; }
  // The back end that is asked for, that the options imply, or that the host has.
  Backend ChosenBackend() const;
  static Config Parse(const Request& request);
};

// What runtimeConfig.portMappings asks for, with the addresses that prevResult tells. A mapping without a host port is
// none, and so is one for a family that the container has no address of.
std::vector<Publication> ParsePublications(const Request& request);

}  // namespace trellis::cni::portmap
