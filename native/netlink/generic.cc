#include "netlink/generic.h"

#include <cerrno>

#include "base/error.h"

namespace trellis::netlink {

GenericFamily GenericFamily::Decode(const MessageView& message) {
  const AttributeTable table(message.Attributes<genlmsghdr>());
  GenericFamily out;
  if (table.Has(CTRL_ATTR_FAMILY_ID)) out.id = ReadValue<uint16_t>(table.Get(CTRL_ATTR_FAMILY_ID));
  if (table.Has(CTRL_ATTR_VERSION)) out.version = ReadValue<uint32_t>(table.Get(CTRL_ATTR_VERSION));
  ForEachAttribute(table.Get(CTRL_ATTR_MCAST_GROUPS), [&](const Attribute& group) {
    const AttributeTable inner(group.data);
    if (!inner.Has(CTRL_ATTR_MCAST_GRP_NAME) || !inner.Has(CTRL_ATTR_MCAST_GRP_ID)) return;
    out.groups[std::string(ReadString(inner.Get(CTRL_ATTR_MCAST_GRP_NAME)))] =
        ReadValue<uint32_t>(inner.Get(CTRL_ATTR_MCAST_GRP_ID));
  });
  return out;
}

const GenericFamily& GenericSocket::Resolve(const std::string& name) {
  const auto known = families_.find(name);
  if (known != families_.end()) return known->second;
  Batch batch;
  batch.Begin(GENL_ID_CTRL, 0);
  batch.Header(genlmsghdr{CTRL_CMD_GETFAMILY, 1, 0});
  batch.PutString(CTRL_ATTR_FAMILY_NAME, name);
  batch.End();
  GenericFamily family;
  const auto failures = Exchange(batch, [&](const MessageView& message) { family = GenericFamily::Decode(message); });
  const std::string operation = "find the generic netlink family " + name;
  if (!failures.empty()) throw KernelError(failures[0].error, operation, failures[0].text);
  if (family.id < NLMSG_MIN_TYPE) throw KernelError(EBADMSG, operation, "the answer holds no number");
  return families_[name] = std::move(family);
}

void BeginGeneric(Batch& batch, const GenericFamily& family, uint8_t command, uint16_t flags, size_t owner) {
  batch.Begin(family.id, flags, owner);
  batch.Header(genlmsghdr{command, static_cast<uint8_t>(family.version), 0});
}

}  // namespace trellis::netlink
