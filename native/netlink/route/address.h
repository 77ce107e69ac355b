// Interface addresses: what `ip address` adds and shows.
// Guarantees: IPv4 and IPv6 read and write the same; flags are words.
#pragma once
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "netlink/codec.h"
#include "netlink/verb.h"

namespace trellis::netlink {

inline constexpr Name kScopes[] = {{"global", RT_SCOPE_UNIVERSE},
                                   {"site", RT_SCOPE_SITE},
                                   {"link", RT_SCOPE_LINK},
                                   {"host", RT_SCOPE_HOST},
                                   {"nowhere", RT_SCOPE_NOWHERE}};

inline constexpr Name kAddressFlags[] = {
    {"secondary", IFA_F_SECONDARY},         {"nodad", IFA_F_NODAD},         {"optimistic", IFA_F_OPTIMISTIC},
    {"dadfailed", IFA_F_DADFAILED},         {"home", IFA_F_HOMEADDRESS},    {"deprecated", IFA_F_DEPRECATED},
    {"tentative", IFA_F_TENTATIVE},         {"permanent", IFA_F_PERMANENT}, {"mngtmpaddr", IFA_F_MANAGETEMPADDR},
    {"noprefixroute", IFA_F_NOPREFIXROUTE}, {"autojoin", IFA_F_MCAUTOJOIN}, {"stable-privacy", IFA_F_STABLE_PRIVACY}};

struct Address {
  Opt<LinkRef> dev;
  Opt<IpPrefix> address;
  Opt<IpAddress> peer, broadcast;
  Opt<std::string> label;
  Opt<uint8_t> scope;
  Opt<WordFlags<kAddressFlags>> flags;
  Opt<uint32_t> validLifetime, preferredLifetime;  // seconds; 4294967295 is for ever

  template <class C>
  void Describe(C& c) {
    c.Plain("dev", dev);
    c.Plain("address", address);
    c.Plain("peer", peer);
    c("broadcast", IFA_BROADCAST, broadcast);
    c("label", IFA_LABEL, label);
    c.PlainNamed("scope", scope, kScopes);
    c.Plain("flags", flags);
    c.Plain("validLifetime", validLifetime);
    c.Plain("preferredLifetime", preferredLifetime);
  }

  void Check(Verb verb) const;
  void Encode(Batch& batch, Verb verb, size_t owner);
  static Address Decode(const MessageView& message);
};

}  // namespace trellis::netlink
