#include "netlink/route/qdisc.h"

#include <sys/socket.h>

#include <algorithm>
#include <charconv>

namespace trellis::netlink {

namespace {

// /proc/net/psched tells this on every kernel since 2.6.33: one tick is 64 ns.
constexpr uint64_t kNanosecondsPerTick = 64;
constexpr uint32_t kDefaultMtu = 1514;

uint32_t TicksFor(uint64_t bytes, uint64_t rate) {
  const __uint128_t ticks = static_cast<__uint128_t>(bytes) * 1'000'000'000 / rate / kNanosecondsPerTick;
  return static_cast<uint32_t>(std::min<__uint128_t>(ticks, UINT32_MAX));
}

uint32_t BytesFor(uint32_t ticks, uint64_t rate) {
  const __uint128_t nanoseconds = static_cast<__uint128_t>(ticks) * kNanosecondsPerTick * rate;
  return static_cast<uint32_t>(std::min<__uint128_t>((nanoseconds + 500'000'000) / 1'000'000'000, UINT32_MAX));
}

// With the link layer told, the kernel asks for no rate table.
tc_ratespec RateSpec(uint64_t rate) {
  tc_ratespec spec{};
  spec.linklayer = TC_LINKLAYER_ETHERNET;
  spec.rate = static_cast<uint32_t>(std::min<uint64_t>(rate, UINT32_MAX));
  return spec;
}

void PutTbf(Batch& batch, const TbfOptions& tbf) {
  tc_tbf_qopt options{};
  options.rate = RateSpec(*tbf.rate);
  options.limit = tbf.limit.value_or(*tbf.burst);
  options.buffer = TicksFor(*tbf.burst, *tbf.rate);
  if (tbf.peakRate) {
    options.peakrate = RateSpec(*tbf.peakRate);
    options.mtu = TicksFor(tbf.mtu.value_or(kDefaultMtu), *tbf.peakRate);
  }
  batch.PutValue(TCA_TBF_PARMS, options);
  batch.PutValue(TCA_TBF_BURST, *tbf.burst);
  if (*tbf.rate > UINT32_MAX) batch.PutValue(TCA_TBF_RATE64, *tbf.rate);
  if (tbf.peakRate) {
    if (*tbf.peakRate > UINT32_MAX) batch.PutValue(TCA_TBF_PRATE64, *tbf.peakRate);
    batch.PutValue(TCA_TBF_PBURST, tbf.mtu.value_or(kDefaultMtu));
  }
}

TbfOptions GetTbf(const AttributeTable& table) {
  TbfOptions tbf;
  if (!table.Has(TCA_TBF_PARMS)) return tbf;
  const auto options = ReadValue<tc_tbf_qopt>(table.Get(TCA_TBF_PARMS));
  tbf.rate = table.Has(TCA_TBF_RATE64) ? ReadValue<uint64_t>(table.Get(TCA_TBF_RATE64)) : options.rate.rate;
  tbf.burst = BytesFor(options.buffer, *tbf.rate);
  tbf.limit = options.limit;
  if (options.peakrate.rate != 0) {
    tbf.peakRate = table.Has(TCA_TBF_PRATE64) ? ReadValue<uint64_t>(table.Get(TCA_TBF_PRATE64)) : options.peakrate.rate;
    tbf.mtu = BytesFor(options.mtu, *tbf.peakRate);
  }
  return tbf;
}

void PutHtb(Batch& batch, HtbOptions& htb) {
  tc_htb_glob options{};
  options.version = 3;
  options.rate2quantum = htb.r2q.value_or(10);
  options.defcls = htb.defaultClass.value_or(0);
  batch.PutValue(TCA_HTB_INIT, options);
  ToAttributes to(batch);
  htb.Describe(to);
}

HtbOptions GetHtb(const AttributeTable& table) {
  HtbOptions htb;
  FromAttributes from(table);
  htb.Describe(from);
  if (table.Has(TCA_HTB_INIT)) {
    const auto options = ReadValue<tc_htb_glob>(table.Get(TCA_HTB_INIT));
    htb.defaultClass = options.defcls;
    htb.r2q = options.rate2quantum;
  }
  return htb;
}

void PutHtbClass(Batch& batch, const HtbClassOptions& htb) {
  const uint64_t rate = *htb.rate;
  const uint64_t ceil = htb.ceil.value_or(rate);
  // As tc does: without a burst, what one timer tick at 1 kHz lets through plus one packet.
  const uint32_t burst = htb.burst.value_or(static_cast<uint32_t>(std::min<uint64_t>(rate / 1000 + 1600, UINT32_MAX)));
  const uint32_t cburst = htb.cburst.value_or(static_cast<uint32_t>(std::min<uint64_t>(ceil / 1000 + 1600, UINT32_MAX)));
  tc_htb_opt options{};
  options.rate = RateSpec(rate);
  options.ceil = RateSpec(ceil);
  options.buffer = TicksFor(burst, rate);
  options.cbuffer = TicksFor(cburst, ceil);
  options.quantum = htb.quantum.value_or(0);
  options.prio = htb.priority.value_or(0);
  batch.PutValue(TCA_HTB_PARMS, options);
  if (rate > UINT32_MAX) batch.PutValue(TCA_HTB_RATE64, rate);
  if (ceil > UINT32_MAX) batch.PutValue(TCA_HTB_CEIL64, ceil);
}

HtbClassOptions GetHtbClass(const AttributeTable& table) {
  HtbClassOptions htb;
  if (!table.Has(TCA_HTB_PARMS)) return htb;
  const auto options = ReadValue<tc_htb_opt>(table.Get(TCA_HTB_PARMS));
  htb.rate = table.Has(TCA_HTB_RATE64) ? ReadValue<uint64_t>(table.Get(TCA_HTB_RATE64)) : options.rate.rate;
  htb.ceil = table.Has(TCA_HTB_CEIL64) ? ReadValue<uint64_t>(table.Get(TCA_HTB_CEIL64)) : options.ceil.rate;
  htb.burst = BytesFor(options.buffer, *htb.rate);
  htb.cburst = BytesFor(options.cbuffer, *htb.ceil);
  htb.quantum = options.quantum;
  htb.priority = options.prio;
  return htb;
}

std::string TypeOf(const Qdisc& qdisc) {
  if (qdisc.type) return *qdisc.type;
  if (qdisc.tbf) return "tbf";
  if (qdisc.htb || qdisc.htbClass) return "htb";
  return {};
}

}  // namespace

void ReadJson(const json::Value& from, std::string_view name, TcHandle& to) {
  constexpr const char* kExpected = "must be \"root\", \"ingress\" or a handle like \"1:\" or \"1:10\"";
  if (!from.IsString()) ThrowField(name, kExpected);
  if (from.string() == "root") return void(to.value = TC_H_ROOT);
  if (from.string() == "ingress") return void(to.value = TC_H_INGRESS);
  uint16_t major = 0, minor = 0;
  const char* end = from.string().data() + from.string().size();
  const auto first = std::from_chars(from.string().data(), end, major, 16);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ':') ThrowField(name, kExpected);
  if (first.ptr + 1 != end) {
    const auto second = std::from_chars(first.ptr + 1, end, minor, 16);
    if (second.ec != std::errc() || second.ptr != end) ThrowField(name, kExpected);
  }
  to.value = static_cast<uint32_t>(major) << 16 | minor;
}

void WriteJson(json::Writer& to, const TcHandle& from) {
  if (from.value == TC_H_ROOT) return to.String("root");
  if (from.value == TC_H_INGRESS) return to.String("ingress");
  char text[16];
  const uint32_t major = from.value >> 16, minor = from.value & 0xFFFF;
  if (minor == 0) snprintf(text, sizeof text, "%x:", major);
  else snprintf(text, sizeof text, "%x:%x", major, minor);
  to.String(text);
}

void Qdisc::Check(Verb verb) const {
  const std::string what = isClass ? "a class" : "a qdisc";
  if (!dev) throw InputError("say on which link (dev) " + what + " is");
  if (isClass && !handle) throw InputError("a class needs its handle, like \"1:10\"");
  CheckType(type);
  if (verb == Verb::Delete) return;
  const std::string kind = TypeOf(*this);
  if (kind.empty()) throw InputError(what + " needs its type, like \"tbf\"");
  if (tbf && kind != "tbf") throw InputError("the options of tbf go with type \"tbf\"; got '" + kind + "'");
  if (htb && kind != "htb") throw InputError("the options of htb go with type \"htb\"; got '" + kind + "'");
  if (kind == "tbf" && (!tbf || tbf->rate.value_or(0) == 0 || tbf->burst.value_or(0) == 0))
    throw InputError("tbf needs a rate and a burst above zero");
  if (tbf && tbf->peakRate == 0u) ThrowField("tbf.peakRate", "must be above zero");
  if (isClass && (kind != "htb" || !htbClass || !htbClass->rate || *htbClass->rate == 0 || htbClass->ceil == 0u))
    throw InputError("a class is of type htb and needs a rate above zero");
}

void Qdisc::Encode(Batch& batch, Verb verb, size_t owner) {
  const uint16_t add = isClass ? RTM_NEWTCLASS : RTM_NEWQDISC;
  if (verb == Verb::Delete) batch.Begin(isClass ? RTM_DELTCLASS : RTM_DELQDISC, 0, owner);
  else batch.Begin(add, NewFlags(verb), owner);
  const std::string kind = TypeOf(*this);
  const bool ingress = kind == "ingress" || kind == "clsact";
  tcmsg head{};
  head.tcm_family = AF_UNSPEC;
  head.tcm_ifindex = static_cast<int>(dev->index);
  head.tcm_parent = parent ? parent->value : ingress ? TC_H_INGRESS : TC_H_ROOT;
  head.tcm_handle = handle ? handle->value : ingress ? TC_H_MAKE(TC_H_INGRESS, 0) : 0;
  if (isClass && !parent) head.tcm_parent = handle->value & 0xFFFF0000;
  batch.Header(head);
  if (verb != Verb::Delete) {
    batch.PutString(TCA_KIND, kind);
    const size_t nest = batch.BeginNest(TCA_OPTIONS);
    if (tbf) PutTbf(batch, *tbf);
    if (htbClass) PutHtbClass(batch, *htbClass);
    if (kind == "htb" && !isClass) {
      if (!htb) htb.emplace();
      PutHtb(batch, *htb);
    }
    batch.EndNest(nest);
  }
  batch.End();
}

Qdisc Qdisc::Decode(const MessageView& message) {
  const auto head = message.Head<tcmsg>();
  const AttributeTable table(message.Attributes<tcmsg>());
  Qdisc out;
  out.isClass = message.header.nlmsg_type == RTM_NEWTCLASS || message.header.nlmsg_type == RTM_DELTCLASS;
  out.dev = LinkRef{{}, static_cast<uint32_t>(head.tcm_ifindex)};
  out.handle = TcHandle{head.tcm_handle};
  out.parent = TcHandle{head.tcm_parent};
  if (table.Has(TCA_KIND)) out.type = std::string(ReadString(table.Get(TCA_KIND)));
  if (!table.Has(TCA_OPTIONS)) return out;
  if (out.type == "tbf") out.tbf = GetTbf(AttributeTable(table.Get(TCA_OPTIONS)));
  if (out.type == "htb" && out.isClass) out.htbClass = GetHtbClass(AttributeTable(table.Get(TCA_OPTIONS)));
  if (out.type == "htb" && !out.isClass) out.htb = GetHtb(AttributeTable(table.Get(TCA_OPTIONS)));
  return out;
}

}  // namespace trellis::netlink
