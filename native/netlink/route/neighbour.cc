#include "netlink/route/neighbour.h"

#include <sys/socket.h>

namespace trellis::netlink {

int Neighbour::Family() const {
  if (family) return *family;
  return address ? address->family() : AF_BRIDGE;
}

void Neighbour::Check(Verb verb) const {
  if (!dev) throw InputError("say at which link (dev) the neighbour is");
  const int af = Family();
  if (af == AF_BRIDGE && !mac) throw InputError("an entry of a forwarding database needs its mac");
  if (af != AF_BRIDGE && !address) throw InputError("a neighbour needs its address");
  if (af != AF_BRIDGE && address->family() != af) ThrowField("address", "must be of the neighbour's family");
  const uint32_t bits = flags ? flags->value : 0;
  if (verb != Verb::Delete && af != AF_BRIDGE && !mac && (bits & (NTF_PROXY | NTF_USE)) == 0)
    throw InputError("neighbour " + address->ToString() + " needs its mac");
}

void Neighbour::Encode(Batch& batch, Verb verb, size_t owner) {
  if (verb == Verb::Delete) batch.Begin(RTM_DELNEIGH, 0, owner);
  else batch.Begin(RTM_NEWNEIGH, verb == Verb::Change ? NLM_F_REPLACE : NewFlags(verb), owner);
  ndmsg head{};
  const int af = Family();
  head.ndm_family = static_cast<uint8_t>(af);
  head.ndm_ifindex = static_cast<int>(dev->index);
  head.ndm_state = state.value_or(NUD_PERMANENT);
  head.ndm_flags = static_cast<uint8_t>(flags ? flags->value : 0);
  // As bridge(8) does: an entry that names neither belongs to the device itself.
  if (af == AF_BRIDGE && (head.ndm_flags & (NTF_SELF | NTF_MASTER)) == 0) head.ndm_flags |= NTF_SELF;
  batch.Header(head);
  Opt<LinkRef> none;
  std::swap(master, none);  // told by the kernel, never to it
  ToAttributes to(batch);
  Describe(to);
  batch.End();
}

Neighbour Neighbour::Decode(const MessageView& message) {
  const auto head = message.Head<ndmsg>();
  FromAttributes from(message.Attributes<ndmsg>());
  Neighbour out;
  // The destination of a tunnel we do not know may be of any length; such entries keep their link-layer part.
  const size_t length = from.table().Get(NDA_DST).size();
  if (length == 0 || length == 4 || length == 16) {
    out.Describe(from);
  } else {
    from("mac", NDA_LLADDR, out.mac);
  }
  out.family = head.ndm_family;
  out.dev = LinkRef{{}, static_cast<uint32_t>(head.ndm_ifindex)};
  out.state = head.ndm_state;
  out.flags = WordFlags<kNeighbourFlags>{head.ndm_flags};
  return out;
}

}  // namespace trellis::netlink
