// The small values of nf_tables: families, verdicts, register contents, flag words, nft's user data.
// Guarantees: each reads back from the kernel in the form it was written in; nothing is read outside its attribute.
#pragma once
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <string>
#include <string_view>

#include "netlink/codec.h"

namespace trellis::netlink::nft {

inline constexpr Name kNftFamilies[] = {{"ip", NFPROTO_IPV4}, {"ip6", NFPROTO_IPV6},      {"inet", NFPROTO_INET},
                                        {"arp", NFPROTO_ARP}, {"bridge", NFPROTO_BRIDGE}, {"netdev", NFPROTO_NETDEV}};

// What a register holds, raw: hexadecimal in JSON, NFTA_DATA_VALUE inside the attribute.
struct RawValue {
  std::string bytes;
};
void ReadJson(const json::Value& from, std::string_view name, RawValue& to);
void WriteJson(json::Writer& to, const RawValue& from);
void PutAttribute(Batch& to, uint16_t type, const RawValue& from);
void GetAttribute(Bytes from, RawValue& to);

// "accept", "drop", "return", "continue", "break", "jump <chain>" or "goto <chain>", as nft writes them.
struct Verdict {
  int32_t code = NF_ACCEPT;
  std::string chain;
};
void ReadJson(const json::Value& from, std::string_view name, Verdict& to);
void WriteJson(json::Writer& to, const Verdict& from);
void PutAttribute(Batch& to, uint16_t type, const Verdict& from);
void GetAttribute(Bytes from, Verdict& to);
// From what is inside its attribute, without the attribute of register contents around it.
Verdict ReadVerdict(Bytes from);

// The kernel tells flags that are zero; the caller did not.
template <const auto& Words>
void DropZero(Opt<WordFlags<Words>>& flags) {
  if (flags && flags->value == 0) flags.reset();
}
inline void DropZero(Opt<Be32>& number) {
  if (number && number->value == 0) number.reset();
}

// nft's own notes in userdata attributes: a list of (type, length, bytes), each number one byte.
class UserData {
 public:
  void Put(uint8_t type, const void* data, size_t size);
  void PutText(uint8_t type, std::string_view text);  // with its NUL
  void PutNumber(uint8_t type, uint32_t number);      // in the host's byte order
  bool empty() const { return bytes_.empty(); }
  Bytes bytes() const { return {reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()}; }

 private:
  std::string bytes_;
};
// The note of that type, or nothing. Notes that run over the end are ignored: userdata is whatever a program left there.
Opt<Bytes> FindUserData(Bytes userdata, uint8_t type);
Opt<std::string> FindUserText(Bytes userdata, uint8_t type);

// Comments are 1 to 128 bytes, nft's limit.
void CheckComment(const Opt<std::string>& comment);
// Names of tables, chains and sets are 1 to 255 bytes.
void CheckName(const Opt<std::string>& name, std::string_view field);

// Begins a message of nf_tables: type, flags, and the header with the family.
void BeginMessage(Batch& batch, uint16_t type, uint16_t flags, uint8_t family, size_t owner);

}  // namespace trellis::netlink::nft
