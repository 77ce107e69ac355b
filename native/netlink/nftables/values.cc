#include "netlink/nftables/values.h"

#include <linux/netfilter/nfnetlink.h>

namespace trellis::netlink::nft {

namespace {

struct VerdictWord {
  std::string_view word;
  int32_t code;
};
constexpr VerdictWord kVerdicts[] = {
    {"accept", NF_ACCEPT}, {"drop", NF_DROP}, {"return", NFT_RETURN}, {"continue", NFT_CONTINUE}, {"break", NFT_BREAK}};
constexpr std::string_view kJump = "jump ", kGoto = "goto ";
constexpr size_t kMaxComment = 128;

}  // namespace

void ReadJson(const json::Value& from, std::string_view name, RawValue& to) {
  auto bytes = from.IsString() ? FromHex(from.string()) : std::nullopt;
  if (!bytes || bytes->empty() || bytes->size() > NFT_DATA_VALUE_MAXLEN) ThrowField(name, "must be 1 to 64 bytes in hexadecimal");
  to.bytes = std::move(*bytes);
}

void WriteJson(json::Writer& to, const RawValue& from) {
  to.String(ToHex({reinterpret_cast<const uint8_t*>(from.bytes.data()), from.bytes.size()}));
}

void PutAttribute(Batch& to, uint16_t type, const RawValue& from) {
  const size_t nest = to.BeginNest(type);
  to.Put(NFTA_DATA_VALUE, from.bytes.data(), from.bytes.size());
  to.EndNest(nest);
}

void GetAttribute(Bytes from, RawValue& to) {
  const Bytes value = AttributeTable(from).Get(NFTA_DATA_VALUE);
  if (value.size() > NFT_DATA_VALUE_MAXLEN) ThrowMalformed("a register value of more than 64 bytes");
  to.bytes.assign(reinterpret_cast<const char*>(value.data()), value.size());
}

void ReadJson(const json::Value& from, std::string_view name, Verdict& to) {
  if (from.IsString()) {
    const std::string_view text = from.string();
    for (const auto& [word, code] : kVerdicts)
      if (word == text) return void(to.code = code);
    const bool jump = text.starts_with(kJump);
    if (jump || text.starts_with(kGoto)) {
      to.code = jump ? NFT_JUMP : NFT_GOTO;
      to.chain = text.substr(kJump.size());
      if (to.chain.empty() || to.chain.size() >= NFT_CHAIN_MAXNAMELEN || to.chain.find('\0') != std::string::npos)
        ThrowField(name, "must name a chain of 1 to 255 bytes");
      return;
    }
  }
  ThrowField(name, "must be \"accept\", \"drop\", \"return\", \"continue\", \"break\", \"jump <chain>\" or \"goto <chain>\"");
}

void WriteJson(json::Writer& to, const Verdict& from) {
  if (from.code == NFT_JUMP) return to.String(std::string(kJump) + from.chain);
  if (from.code == NFT_GOTO) return to.String(std::string(kGoto) + from.chain);
  for (const auto& [word, code] : kVerdicts)
    if (code == from.code) return to.String(word);
  to.String("code " + std::to_string(from.code));
}

void PutAttribute(Batch& to, uint16_t type, const Verdict& from) {
  const size_t data = to.BeginNest(type);
  const size_t verdict = to.BeginNest(NFTA_DATA_VERDICT);
  to.PutValue(NFTA_VERDICT_CODE, htobe32(static_cast<uint32_t>(from.code)));
  if (!from.chain.empty()) to.PutString(NFTA_VERDICT_CHAIN, from.chain);
  to.EndNest(verdict);
  to.EndNest(data);
}

void GetAttribute(Bytes from, Verdict& to) { to = ReadVerdict(AttributeTable(from).Get(NFTA_DATA_VERDICT)); }

Verdict ReadVerdict(Bytes from) {
  const AttributeTable verdict(from);
  Verdict out;
  out.code = static_cast<int32_t>(be32toh(ReadValue<uint32_t>(verdict.Get(NFTA_VERDICT_CODE))));
  out.chain = ReadString(verdict.Get(NFTA_VERDICT_CHAIN));
  return out;
}

void UserData::Put(uint8_t type, const void* data, size_t size) {
  bytes_ += static_cast<char>(type);
  bytes_ += static_cast<char>(size);
  bytes_.append(static_cast<const char*>(data), size);
}

void UserData::PutText(uint8_t type, std::string_view text) { Put(type, std::string(text).c_str(), text.size() + 1); }

void UserData::PutNumber(uint8_t type, uint32_t number) { Put(type, &number, sizeof number); }

Opt<Bytes> FindUserData(Bytes userdata, uint8_t type) {
  while (userdata.size() >= 2) {
    const size_t size = userdata[1];
    if (size > userdata.size() - 2) break;
    if (userdata[0] == type) return userdata.subspan(2, size);
    userdata = userdata.subspan(2 + size);
  }
  return std::nullopt;
}

Opt<std::string> FindUserText(Bytes userdata, uint8_t type) {
  const auto found = FindUserData(userdata, type);
  if (!found) return std::nullopt;
  return std::string(ReadString(*found));
}

void CheckComment(const Opt<std::string>& comment) {
  if (comment && (comment->empty() || comment->size() > kMaxComment)) ThrowField("comment", "must be 1 to 128 bytes long");
}

void CheckName(const Opt<std::string>& name, std::string_view field) {
  if (!name || name->empty() || name->size() >= NFT_NAME_MAXLEN) ThrowField(field, "must be a name of 1 to 255 bytes");
}

void BeginMessage(Batch& batch, uint16_t type, uint16_t flags, uint8_t family, size_t owner) {
  batch.Begin(static_cast<uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | type), flags, owner);
  batch.Header(nfgenmsg{family, NFNETLINK_V0, 0});
}

}  // namespace trellis::netlink::nft
