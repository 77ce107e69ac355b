#include "netlink/message.h"

#include "base/error.h"

namespace trellis::netlink {

namespace {

constexpr size_t kMaxAttribute = UINT16_MAX;

}  // namespace

void Batch::Begin(uint16_t type, uint16_t flags, size_t owner) {
  messages_.push_back({bytes_.size(), owner});
  nlmsghdr header{};
  header.nlmsg_type = type;
  header.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
  Append(&header, sizeof header);
}

void Batch::End() { At(messages_.size() - 1)->nlmsg_len = static_cast<uint32_t>(bytes_.size() - messages_.back().offset); }

void Batch::Abandon() {
  bytes_.resize(messages_.back().offset);
  messages_.pop_back();
}

void Batch::Put(uint16_t type, const void* data, size_t size) {
  if (size + NLA_HDRLEN > kMaxAttribute)
    throw InputError("an attribute of " + std::to_string(size) + " bytes is longer than netlink can carry (65531)");
  const nlattr header{static_cast<uint16_t>(NLA_HDRLEN + size), type};
  Append(&header, sizeof header);
  Append(data, size);
}

void Batch::PutString(uint16_t type, std::string_view text) {
  if (text.find('\0') != std::string_view::npos) throw InputError("a name must not hold a NUL byte");
  std::string closed(text);
  Put(type, closed.c_str(), closed.size() + 1);
}

size_t Batch::BeginNest(uint16_t type, uint16_t flag) {
  const size_t start = bytes_.size();
  const nlattr header{0, static_cast<uint16_t>(type | flag)};
  Append(&header, sizeof header);
  return start;
}

void Batch::EndNest(size_t start) {
  const size_t size = bytes_.size() - start;
  if (size > kMaxAttribute) throw InputError("a nested attribute of " + std::to_string(size) + " bytes is too long");
  reinterpret_cast<nlattr*>(bytes_.data() + start)->nla_len = static_cast<uint16_t>(size);
}

void Batch::Append(const void* data, size_t size) {
  const auto* from = static_cast<const uint8_t*>(data);
  bytes_.insert(bytes_.end(), from, from + size);
  Pad();
}

// Not NLMSG_ALIGN, whose mask has 32 bits and would cut a batch of 4 GiB short.
void Batch::Pad() { bytes_.resize((bytes_.size() + NLMSG_ALIGNTO - 1) / NLMSG_ALIGNTO * NLMSG_ALIGNTO, 0); }

int Batch::Keep(Fd fd) { return kept_.emplace_back(std::move(fd)).get(); }

void Batch::Clear() {
  bytes_.clear();
  messages_.clear();
  kept_.clear();
}

}  // namespace trellis::netlink
