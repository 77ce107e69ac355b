#include "netlink/route/link.h"

#include <fcntl.h>
#include <linux/veth.h>
#include <net/if.h>

#include <algorithm>

#include "netns/netns.h"

namespace trellis::netlink {

namespace {

// IFF_LOWER_UP and friends are the kernel's to set; these four are ours.
struct FlagField {
  uint32_t flag;
  bool inverted;
  Opt<bool> Link::*field;
};
constexpr FlagField kSettableFlags[] = {{IFF_UP, false, &Link::up},
                                        {IFF_PROMISC, false, &Link::promisc},
                                        {IFF_NOARP, true, &Link::arp},
                                        {IFF_MULTICAST, false, &Link::multicast}};

void CheckName(const Opt<std::string>& name, const char* field) {
  if (!name) return;
  if (name->empty() || name->size() >= IFNAMSIZ)
    ThrowField(field, "must be 1 to 15 bytes long; '" + *name + "' has " + std::to_string(name->size()));
  if (*name == "." || *name == ".." || name->find_first_of(std::string_view("/:% \t\n\0", 7)) != std::string::npos)
    ThrowField(field, "must not hold a slash, colon, percent sign or space; got '" + *name + "'");
}

void PutNetNs(Batch& batch, const Opt<NetNsRef>& netns) {
  if (!netns) return;
  if (netns->path.empty()) {
    batch.PutValue<uint32_t>(IFLA_NET_NS_PID, netns->pid);
    return;
  }
  Fd fd(open(netns->path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) ThrowErrno("open network namespace " + netns->path);
  batch.PutValue<uint32_t>(IFLA_NET_NS_FD, batch.Keep(std::move(fd)));
}

void PutPeer(Batch& batch, Link& link) {
  VethPeer& peer = *link.peer;
  const size_t nest = batch.BeginNest(VETH_INFO_PEER);
  ifinfomsg head{};
  head.ifi_index = static_cast<int>(peer.index.value_or(0));
  batch.Header(head);
  ToAttributes to(batch);
  peer.Describe(to);
  PutNetNs(batch, peer.netns);
  batch.EndNest(nest);
}

void PutVxlan(Batch& batch, Link& link) {
  VxlanOptions& vxlan = *link.vxlan;
  ToAttributes to(batch);
  vxlan.Describe(to);
  if (vxlan.local) batch.Put(vxlan.local->length == 4 ? IFLA_VXLAN_LOCAL : IFLA_VXLAN_LOCAL6, vxlan.local->bytes());
  if (vxlan.group) batch.Put(vxlan.group->length == 4 ? IFLA_VXLAN_GROUP : IFLA_VXLAN_GROUP6, vxlan.group->bytes());
}

void GetVxlan(FromAttributes& from, Link& link) {
  VxlanOptions& vxlan = link.vxlan.emplace();
  vxlan.Describe(from);
  for (const uint16_t type : {IFLA_VXLAN_LOCAL, IFLA_VXLAN_LOCAL6}) from("local", type, vxlan.local);
  for (const uint16_t type : {IFLA_VXLAN_GROUP, IFLA_VXLAN_GROUP6}) from("group", type, vxlan.group);
}

// A type of link with options of its own.
struct LinkKind {
  const char* word;
  bool (*has)(const Link& link);
  void (*put)(Batch& batch, Link& link);
  void (*get)(FromAttributes& from, Link& link);
};

template <auto Options>
bool Has(const Link& link) {
  return (link.*Options).has_value();
}

// One whose attributes are all told by its Describe().
template <auto Options>
constexpr LinkKind Described(const char* word) {
  return {word, Has<Options>,
          [](Batch& batch, Link& link) {
            ToAttributes to(batch);
            (link.*Options)->Describe(to);
          },
          [](FromAttributes& from, Link& link) { (link.*Options).emplace().Describe(from); }};
}

constexpr LinkKind kLinkKinds[] = {
    Described<&Link::bridge>("bridge"),
    {"vxlan", Has<&Link::vxlan>, PutVxlan, GetVxlan},
    Described<&Link::macvlan>("macvlan"),
    // The kernel shows a peer as a link of its own.
    {"veth", Has<&Link::peer>, PutPeer, [](FromAttributes&, Link&) {}},
};

// The kind whose options the request holds, or null.
const LinkKind* OptionsKind(const Link& link) {
  const auto found = std::ranges::find_if(kLinkKinds, [&](const LinkKind& kind) { return kind.has(link); });
  return found == std::end(kLinkKinds) ? nullptr : &*found;
}

// The type the options imply, where the request does not name one.
std::string TypeOf(const Link& link) {
  if (link.type) return *link.type;
  const LinkKind* kind = OptionsKind(link);
  return kind == nullptr ? "" : kind->word;
}

void PutLinkInfo(Batch& batch, Link& link) {
  const std::string type = TypeOf(link);
  if (type.empty()) return;
  const size_t info = batch.BeginNest(IFLA_LINKINFO);
  batch.PutString(IFLA_INFO_KIND, type);
  if (const LinkKind* kind = OptionsKind(link)) {
    const size_t data = batch.BeginNest(IFLA_INFO_DATA);
    kind->put(batch, link);
    batch.EndNest(data);
  }
  batch.EndNest(info);
}

ifinfomsg HeaderOf(const Link& link) {
  ifinfomsg head{};
  head.ifi_index = static_cast<int>(link.index.value_or(0));
  for (const auto& [flag, inverted, field] : kSettableFlags) {
    const auto& wanted = link.*field;
    if (!wanted) continue;
    head.ifi_change |= flag;
    if (*wanted != inverted) head.ifi_flags |= flag;
  }
  return head;
}

void PutPort(Batch& batch, BridgePort& port) {
  const size_t info = batch.BeginNest(IFLA_LINKINFO);
  batch.PutString(IFLA_INFO_SLAVE_KIND, "bridge");
  const size_t data = batch.BeginNest(IFLA_INFO_SLAVE_DATA);
  ToAttributes to(batch);
  port.Describe(to);
  batch.EndNest(data);
  batch.EndNest(info);
}

// What the kernel takes only from a link that is there: it ignores the alias in the message that makes one, and port
// options need the bridge to have the port.
void EncodeFollowUp(Batch& batch, Link& link, size_t owner) {
  batch.Begin(RTM_NEWLINK, 0, owner);
  ifinfomsg head{};
  head.ifi_index = static_cast<int>(link.index.value_or(0));
  batch.Header(head);
  if (!link.index) batch.PutString(IFLA_IFNAME, *link.name);
  if (link.alias) batch.PutString(IFLA_IFALIAS, *link.alias);
  if (link.port) PutPort(batch, *link.port);
  batch.End();
}

void DecodeInfo(Link& link, Bytes bytes) {
  const AttributeTable info(bytes);
  if (info.Has(IFLA_INFO_KIND)) link.type = std::string(ReadString(info.Get(IFLA_INFO_KIND)));
  if (info.Has(IFLA_INFO_DATA)) {
    FromAttributes from(info.Get(IFLA_INFO_DATA));
    for (const LinkKind& kind : kLinkKinds)
      if (link.type == kind.word) kind.get(from, link);
  }
  if (info.Has(IFLA_INFO_SLAVE_KIND) && ReadString(info.Get(IFLA_INFO_SLAVE_KIND)) == "bridge" &&
      info.Has(IFLA_INFO_SLAVE_DATA)) {
    FromAttributes from(info.Get(IFLA_INFO_SLAVE_DATA));
    link.port.emplace().Describe(from);
  }
}

LinkStatistics DecodeStatistics(Bytes bytes) {
  // Older kernels send a shorter struct; the fields we read stand at its start.
  rtnl_link_stats64 raw{};
  memcpy(&raw, bytes.data(), std::min(bytes.size(), sizeof raw));
  LinkStatistics statistics;
  statistics.rxPackets = raw.rx_packets;
  statistics.txPackets = raw.tx_packets;
  statistics.rxBytes = raw.rx_bytes;
  statistics.txBytes = raw.tx_bytes;
  statistics.rxErrors = raw.rx_errors;
  statistics.txErrors = raw.tx_errors;
  statistics.rxDropped = raw.rx_dropped;
  statistics.txDropped = raw.tx_dropped;
  statistics.multicast = raw.multicast;
  statistics.collisions = raw.collisions;
  return statistics;
}

}  // namespace

void ReadJson(const json::Value& from, std::string_view name, NetNsRef& to) {
  if (from.IsString()) {
    ReadJson(from, name, to.path);
    if (to.path.empty() || to.path.find('\0') != std::string::npos) ThrowField(name, "must be a path or a process id");
  } else {
    ReadJson(from, name, to.pid);
    if (to.pid <= 0) ThrowField(name, "must be a path or a process id");
  }
}

void Link::Check(Verb verb) const {
  CheckName(name, "name");
  CheckName(newName, "newName");
  if (peer) CheckName(peer->name, "peer.name");
  if (verb == Verb::Add || verb == Verb::Replace) {
    if (!name) throw InputError("a link needs a name");
    if (TypeOf(*this).empty()) throw InputError("link '" + *name + "' needs a type, like \"veth\" or \"bridge\"");
    if (newName)
      throw InputError("newName goes with change, not with " + std::string(*WordOf(kVerbs, static_cast<uint32_t>(verb))));
  } else if (!name && !index) {
    throw InputError("say which link by its name or index");
  }
  if (std::ranges::count_if(kLinkKinds, [&](const LinkKind& kind) { return kind.has(*this); }) > 1)
    throw InputError("a link has the options of one type only");
  // The kernel would read the numbers of one type's options as another's.
  if (const LinkKind* kind = OptionsKind(*this); kind != nullptr && TypeOf(*this) != kind->word)
    ThrowField("type", std::string("must be \"") + kind->word + "\" with these options; got '" + *type + "'");
  CheckType(type);
  if (alias && alias->size() > 255) ThrowField("alias", "must be at most 255 bytes long");
  if (vxlan && verb == Verb::Add && !vxlan->vni && !vxlan->collectMetadata.value_or(false))
    throw InputError("a vxlan needs its vni");
  if (running || loopback || operState || statistics || linkNetnsId)
    throw InputError("running, loopback, operState, statistics and linkNetnsId are the kernel's to say");
}

void Link::Encode(Batch& batch, Verb verb, size_t owner) {
  if (verb == Verb::Delete) {
    batch.Begin(RTM_DELLINK, 0, owner);
    batch.Header(HeaderOf(*this));
    if (!index) batch.PutString(IFLA_IFNAME, *name);
    batch.End();
    return;
  }
  // The kernel knows no REPLACE for links: CREATE without EXCL makes the link or changes the one that is there.
  const uint16_t flags = verb == Verb::Replace ? NLM_F_CREATE : NewFlags(verb);
  batch.Begin(RTM_NEWLINK, flags, owner);
  batch.Header(HeaderOf(*this));
  if (newName) batch.PutString(IFLA_IFNAME, *newName);
  else if (name && (verb != Verb::Change || !index)) batch.PutString(IFLA_IFNAME, *name);
  ToAttributes to(batch);
  Describe(to);
  PutNetNs(batch, netns);
  PutLinkInfo(batch, *this);
  batch.End();
  if (alias || port) EncodeFollowUp(batch, *this, owner);
}

Link Link::Decode(const MessageView& message) {
  const auto head = message.Head<ifinfomsg>();
  FromAttributes from(message.Attributes<ifinfomsg>());
  Link link;
  link.Describe(from);
  link.index = static_cast<uint32_t>(head.ifi_index);
  for (const auto& [flag, inverted, field] : kSettableFlags) link.*field = ((head.ifi_flags & flag) != 0) != inverted;
  link.running = (head.ifi_flags & IFF_RUNNING) != 0;
  link.loopback = (head.ifi_flags & IFF_LOOPBACK) != 0;
  from("name", IFLA_IFNAME, link.name);
  from("alias", IFLA_IFALIAS, link.alias);
  from("operState", IFLA_OPERSTATE, link.operState);
  if (from.table().Has(IFLA_LINKINFO)) DecodeInfo(link, from.table().Get(IFLA_LINKINFO));
  if (from.table().Has(IFLA_STATS64)) link.statistics = DecodeStatistics(from.table().Get(IFLA_STATS64));
  return link;
}

}  // namespace trellis::netlink
