#include "netlink/ipvs/destination.h"

#include <sys/socket.h>

namespace trellis::netlink {

namespace {

constexpr uint32_t kMasq = 0;
constexpr uint32_t kTunnel = 2;

}  // namespace

void IpvsDestination::Check(Verb verb) {
  service.Check();
  if (!address || !port) throw InputError("a destination needs its address and port");
  if (verb == Verb::Delete) return;
  if (activeConnections || inactiveConnections || persistentConnections || statistics)
    throw InputError("numbers of connections and statistics are told by the kernel, not to it");
  if (forward && !WordOf(kForwards, *forward)) ThrowField("forward", "must be one of " + ListWords(kForwards));
  forward = forward.value_or(kMasq);
  weight = weight.value_or(1);
  if (*weight > INT32_MAX) ThrowField("weight", "must be at most 2147483647");
  upperThreshold = upperThreshold.value_or(0);
  lowerThreshold = lowerThreshold.value_or(0);
  if (*lowerThreshold > *upperThreshold) ThrowField("lowerThreshold", "must not be above the upperThreshold");
  if (address->family() != *service.family && *forward != kTunnel)
    ThrowField("address", "must be of the service's family unless 'forward' is tunnel");
  if ((tunnelType || tunnelPort) && *forward != kTunnel)
    ThrowField("tunnelType", "and 'tunnelPort' are for destinations whose 'forward' is tunnel");
}

void IpvsDestination::Encode(Batch& batch, bool full) {
  const size_t outer = batch.BeginNest(IPVS_CMD_ATTR_SERVICE);
  service.Encode(batch);
  batch.EndNest(outer);
  const size_t nest = batch.BeginNest(IPVS_CMD_ATTR_DEST);
  PutIpvsAddress(batch, IPVS_DEST_ATTR_ADDR, *address);
  batch.PutValue<uint16_t>(IPVS_DEST_ATTR_ADDR_FAMILY, static_cast<uint16_t>(address->family()));
  ToAttributes to(batch);
  if (full) Describe(to);
  else PutAttribute(batch, IPVS_DEST_ATTR_PORT, *port);
  batch.EndNest(nest);
}

IpvsDestination IpvsDestination::Decode(const MessageView& message, int family) {
  const AttributeTable top(message.Attributes<genlmsghdr>());
  const AttributeTable table(top.Get(IPVS_CMD_ATTR_DEST));
  FromAttributes from(table);
  IpvsDestination out;
  out.Describe(from);
  Opt<uint16_t> own;
  from("family", IPVS_DEST_ATTR_ADDR_FAMILY, own);
  out.address = GetIpvsAddress(table, IPVS_DEST_ATTR_ADDR, own.value_or(static_cast<uint16_t>(family)));
  out.statistics = GetStatistics(table, IPVS_DEST_ATTR_STATS64, IPVS_DEST_ATTR_STATS);
  if (out.forward != kTunnel) {
    out.tunnelType.reset();
    out.tunnelPort.reset();
  } else if (out.tunnelPort && out.tunnelPort->value == 0) {
    out.tunnelPort.reset();
  }
  if (out.upperThreshold == 0u) out.upperThreshold.reset();
  if (out.lowerThreshold == 0u) out.lowerThreshold.reset();
  return out;
}

std::string IpvsDestination::Text() const {
  return "port " + std::to_string(port.value_or(Be16{}).value) + " of service " + service.Text();
}

}  // namespace trellis::netlink
