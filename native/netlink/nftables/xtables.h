// Expressions that run a match or target of xtables inside nf_tables, as iptables' nft back end makes them.
// Guarantees: `info` is the extension's own struct; what it ends with in zeros need not be given or told, `length` is all.
#pragma once
#include <linux/netfilter/nf_tables_compat.h>

#include "netlink/nftables/values.h"

namespace trellis::netlink::nft {

// The longest of the structs we know has 264 bytes (recent's second revision); the kernel allows 64 KiB.
inline constexpr uint32_t kMaxXtInfo = 4096;

struct XtExtension {
  Opt<std::string> name;
  Opt<Be32> revision;
  Opt<Blob> info;
  Opt<uint32_t> length;

  void Check() const {
    CheckName(name, "name");
    Need(revision && info && length, "an xtables extension needs name, revision, info and length");
    Need(length <= kMaxXtInfo && info->value.size() <= *length, "an xtables extension's info must fit its length, at most 4096");
  }
  void Tidy() {
    if (!info) return;
    length = static_cast<uint32_t>(info->value.size());
    info->value.resize(info->value.find_last_not_of('\0') + 1);
  }
  void Fill() {
    if (info && length) info->value.resize(*length, '\0');
  }
};

struct Match : XtExtension {
  static constexpr std::string_view kName = "match";
  template <class C>
  void Describe(C& c) {
    c("name", NFTA_MATCH_NAME, name);
    c("revision", NFTA_MATCH_REV, revision);
    c("info", NFTA_MATCH_INFO, info);
    c.Plain("length", length);
  }
};

struct Target : XtExtension {
  static constexpr std::string_view kName = "target";
  template <class C>
  void Describe(C& c) {
    c("name", NFTA_TARGET_NAME, name);
    c("revision", NFTA_TARGET_REV, revision);
    c("info", NFTA_TARGET_INFO, info);
    c.Plain("length", length);
  }
};

}  // namespace trellis::netlink::nft
