#include "netlink/attributes.h"

#include <cerrno>

#include "base/error.h"

namespace trellis::netlink {

void ThrowMalformed(const char* what) { throw KernelError(EBADMSG, "read a netlink reply", what); }

AttributeTable::AttributeTable(Bytes bytes) {
  ForEachAttribute(bytes, [this](const Attribute& attribute) {
    if (attribute.type >= kTypes) return;  // newer than anything we know
    present_[attribute.type] = true;
    data_[attribute.type] = attribute.data;
  });
}

void ForEachMessage(Bytes datagram, const std::function<void(const MessageView&)>& visit) {
  while (datagram.size() >= sizeof(nlmsghdr)) {
    const auto header = ReadValue<nlmsghdr>(datagram);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > datagram.size()) ThrowMalformed("truncated message");
    visit({header, datagram.subspan(sizeof header, header.nlmsg_len - sizeof header)});
    const size_t step = NLMSG_ALIGN(header.nlmsg_len);
    datagram = datagram.subspan(step < datagram.size() ? step : datagram.size());
  }
}

}  // namespace trellis::netlink
