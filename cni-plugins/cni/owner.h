// Who a rule or an element of a set belongs to: one interface of one container in one network.
// Guarantees: the comment beside a rule is all that DEL and GC need to find it again; two owners never share one, however
// long their names are, and it is printed by every tool as it was given.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cni/plugin.h"

namespace trellis::cni {

struct Owner {
  std::string network, containerId, interfaceName;
  // What stands beside the rule, for people and for GC.
  std::string Comment() const;
};

Owner OwnerOf(const Request& request);
// The attachments of the network that GC must leave alone: cni.dev/valid-attachments.
std::vector<Owner> ValidOwners(const Request& request);
// True if the comment tells of an attachment to the network that is none of `valid`.
bool IsStale(std::string_view comment, const std::string& network, const std::vector<Owner>& valid);

}  // namespace trellis::cni
