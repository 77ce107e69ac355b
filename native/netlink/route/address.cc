#include "netlink/route/address.h"

#include <net/if.h>
#include <sys/socket.h>

namespace trellis::netlink {

void Address::Check(Verb) const {
  if (!address) throw InputError("an address request needs the address, like \"10.0.0.1/24\"");
  if (!dev) throw InputError("say on which link (dev) address " + address->ToString() + " is");
  if (peer && peer->length != address->address.length) ThrowField("peer", "must be of the address's family");
  if (broadcast && address->address.length != 4) ThrowField("broadcast", "goes with IPv4 only");
  if (broadcast && broadcast->length != 4) ThrowField("broadcast", "must be an IPv4 address");
  if (label && (label->empty() || label->size() >= IFNAMSIZ)) ThrowField("label", "must be 1 to 15 bytes long");
}

void Address::Encode(Batch& batch, Verb verb, size_t owner) {
  if (verb == Verb::Delete) batch.Begin(RTM_DELADDR, 0, owner);
  else batch.Begin(RTM_NEWADDR, verb == Verb::Change ? NLM_F_REPLACE : NewFlags(verb), owner);
  ifaddrmsg head{};
  head.ifa_family = static_cast<uint8_t>(address->address.family());
  head.ifa_prefixlen = address->length;
  head.ifa_index = dev->index;
  // As iproute2 does: an address of 127.0.0.0/8 counts for the host only.
  const bool loopback = address->address.length == 4 && address->address.octets[0] == 127;
  head.ifa_scope = scope.value_or(loopback ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE);
  batch.Header(head);
  batch.Put(IFA_LOCAL, address->address.bytes());
  batch.Put(IFA_ADDRESS, peer ? peer->bytes() : address->address.bytes());
  if (flags && flags->value != 0) batch.PutValue(IFA_FLAGS, flags->value);
  if (validLifetime || preferredLifetime) {
    ifa_cacheinfo lifetimes{};
    lifetimes.ifa_valid = validLifetime.value_or(UINT32_MAX);
    lifetimes.ifa_prefered = preferredLifetime.value_or(lifetimes.ifa_valid);
    batch.PutValue(IFA_CACHEINFO, lifetimes);
  }
  ToAttributes to(batch);
  Describe(to);
  batch.End();
}

Address Address::Decode(const MessageView& message) {
  const auto head = message.Head<ifaddrmsg>();
  FromAttributes from(message.Attributes<ifaddrmsg>());
  Address out;
  out.Describe(from);
  out.dev = LinkRef{{}, head.ifa_index};
  out.scope = head.ifa_scope;
  Opt<IpAddress> local, remote;
  from("address", IFA_LOCAL, local);
  from("peer", IFA_ADDRESS, remote);
  if (!local) local = remote;
  if (!local) ThrowMalformed("an address message without an address");
  out.address = IpPrefix{*local, head.ifa_prefixlen};
  if (remote && !(*remote == *local)) out.peer = remote;
  out.flags =
      WordFlags<kAddressFlags>{from.table().Has(IFA_FLAGS) ? ReadValue<uint32_t>(from.table().Get(IFA_FLAGS)) : head.ifa_flags};
  if (from.table().Has(IFA_CACHEINFO)) {
    const auto lifetimes = ReadValue<ifa_cacheinfo>(from.table().Get(IFA_CACHEINFO));
    out.validLifetime = lifetimes.ifa_valid;
    out.preferredLifetime = lifetimes.ifa_prefered;
  }
  return out;
}

}  // namespace trellis::netlink
