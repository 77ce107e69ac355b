// Traffic control: queueing disciplines (tbf, htb, ingress) and htb's classes, as `tc` makes and shows them.
// Guarantees: rates in bytes per second, sizes in bytes; the kernel's ticks and rate tables stay inside.
#pragma once
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "netlink/codec.h"
#include "netlink/verb.h"

namespace trellis::netlink {

// "1:10", "1:", "root" or "ingress".
struct TcHandle {
  uint32_t value = 0;
};
void ReadJson(const json::Value& from, std::string_view name, TcHandle& to);
void WriteJson(json::Writer& to, const TcHandle& from);

struct TbfOptions {
  Opt<uint64_t> rate, peakRate;
  Opt<uint32_t> burst, limit, mtu;

  template <class C>
  void Describe(C& c) {
    c.Plain("rate", rate);
    c.Plain("burst", burst);
    c.Plain("limit", limit);
    c.Plain("peakRate", peakRate);
    c.Plain("mtu", mtu);
  }
};

struct HtbOptions {
  Opt<uint32_t> defaultClass, r2q, directQueueLength;

  template <class C>
  void Describe(C& c) {
    c.Plain("defaultClass", defaultClass);
    c.Plain("r2q", r2q);
    c("directQueueLength", TCA_HTB_DIRECT_QLEN, directQueueLength);
  }
};

struct HtbClassOptions {
  Opt<uint64_t> rate, ceil;
  Opt<uint32_t> burst, cburst, quantum, priority;

  template <class C>
  void Describe(C& c) {
    c.Plain("rate", rate);
    c.Plain("ceil", ceil);
    c.Plain("burst", burst);
    c.Plain("cburst", cburst);
    c.Plain("quantum", quantum);
    c.Plain("priority", priority);
  }
};

// A qdisc, or with `isClass` a class of one.
struct Qdisc {
  bool isClass = false;
  Opt<LinkRef> dev;
  Opt<std::string> type;
  Opt<TcHandle> handle, parent;
  Opt<TbfOptions> tbf;
  Opt<HtbOptions> htb;
  Opt<HtbClassOptions> htbClass;

  template <class C>
  void Describe(C& c) {
    c.Plain("dev", dev);
    c.Plain("type", type);
    c.Plain("handle", handle);
    c.Plain("parent", parent);
    c.PlainObject("tbf", tbf);
    if (isClass) c.PlainObject("htb", htbClass);
    else c.PlainObject("htb", htb);
  }

  void Check(Verb verb) const;
  void Encode(Batch& batch, Verb verb, size_t owner);
  static Qdisc Decode(const MessageView& message);
};

}  // namespace trellis::netlink
