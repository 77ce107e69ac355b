// The reply parser on whole, cut, over-long, misaligned and senseless bytes.
#include "base/error.h"
#include "netlink/socket.h"
#include "test/check.h"

using namespace trellis;
using namespace trellis::netlink;

namespace {

// Bytes of exactly this size on the heap, so that the sanitizer sees a read past them.
struct Exact {
  std::vector<uint8_t> bytes;

  template <class T>
  Exact& Add(const T& value, size_t size = sizeof(T)) {
    const auto* from = reinterpret_cast<const uint8_t*>(&value);
    bytes.insert(bytes.end(), from, from + size);
    bytes.shrink_to_fit();
    return *this;
  }
  Exact& Attribute(uint16_t length, uint16_t type, std::string_view data = {}) {
    Add(nlattr{length, type});
    for (const char c : data) Add(c);
    return *this;
  }
  operator Bytes() const { return bytes; }
};

nlmsghdr Header(uint32_t length, uint16_t type = 20, uint16_t flags = 0) { return {length, type, flags, 1, 0}; }

int CountMessages(Bytes bytes) {
  int count = 0;
  ForEachMessage(bytes, [&](const MessageView&) { ++count; });
  return count;
}

int CountAttributes(Bytes bytes) {
  int count = 0;
  ForEachAttribute(bytes, [&](const Attribute&) { ++count; });
  return count;
}

Acknowledgement Ack(Bytes payload, uint16_t flags) {
  return ReadAcknowledgement({Header(static_cast<uint32_t>(sizeof(nlmsghdr) + payload.size()), NLMSG_ERROR, flags), payload});
}

}  // namespace

TEST("messages are found one after the other, also misaligned") {
  CHECK_EQUAL(CountMessages({}), 0);
  CHECK_EQUAL(CountMessages(Exact().Add(Header(16)).Add(Header(16))), 2);
  CHECK_EQUAL(CountMessages(Exact().Add(Header(17)).Add(uint32_t{0}).Add(Header(16))), 2);
  CHECK_EQUAL(CountMessages(Exact().Add(Header(17)).Add(uint8_t{0})), 1);   // the last needs no padding
  CHECK_EQUAL(CountMessages(Exact().Add(Header(16)).Add(uint64_t{0})), 1);  // less than a header is padding
  const Exact shifted = Exact().Add(uint8_t{0}).Add(Header(16)).Add(Header(16));
  CHECK_EQUAL(CountMessages(Bytes(shifted).subspan(1)), 2);
}

TEST("a message that does not fit its datagram is refused") {
  for (const uint32_t length : {0u, 1u, 15u, 17u, 65536u, UINT32_MAX})
    CHECK_THROWS(KernelError, "truncated message", CountMessages(Exact().Add(Header(length))));
}

TEST("attributes are found one after the other") {
  CHECK_EQUAL(CountAttributes({}), 0);
  CHECK_EQUAL(CountAttributes(Exact().Attribute(4, 1).Attribute(4, 2)), 2);
  CHECK_EQUAL(CountAttributes(Exact().Attribute(5, 1, std::string_view("x\0\0\0", 4)).Attribute(4, 2)), 2);
  CHECK_EQUAL(CountAttributes(Exact().Attribute(5, 1, "x")), 1);
  CHECK_EQUAL(CountAttributes(Exact().Attribute(4, 1).Add(uint16_t{0})), 1);
  const Exact shifted = Exact().Add(uint8_t{0}).Attribute(8, 1, "abcd");
  CHECK_EQUAL(CountAttributes(Bytes(shifted).subspan(1)), 1);
}

TEST("an attribute that is shorter than its header or longer than its place is refused") {
  for (const uint16_t length : {0, 1, 3, 5, 8, 65535})
    CHECK_THROWS(KernelError, "truncated attribute", CountAttributes(Exact().Attribute(length, 1)));
  // The inner attribute claims bytes of the outer's neighbour.
  const Exact overlapping = Exact().Attribute(8, 1).Attribute(12, 2).Attribute(8, 3, "abcd");
  const AttributeTable outer(overlapping);
  CHECK_THROWS(KernelError, "truncated attribute", AttributeTable(outer.Get(1)));
}

TEST("a table holds the later of two attributes, without flags, and ignores unknown types") {
  const Exact bytes = Exact()
                          .Attribute(8, 1, "old ")
                          .Attribute(8, 1 | NLA_F_NESTED, "new ")
                          .Attribute(4, 127)
                          .Attribute(4, 128)
                          .Attribute(4, 0x3FFF);
  const AttributeTable table(bytes);
  CHECK_EQUAL(ReadString(table.Get(1)), "new ");
  CHECK(table.Has(127) && !table.Has(128) && !table.Has(0x3FFF) && !table.Has(2));
  CHECK_EQUAL(table.Get(127).size(), 0u);
  CHECK_EQUAL(ReadString(table.Get(127)), "");
  CHECK_EQUAL(ReadString(table.Get(2)), "");
}

TEST("a value needs all its bytes, a text ends at its NUL or with its bytes") {
  const Exact bytes = Exact().Add(uint16_t{7}).Add(uint8_t{0});
  CHECK_EQUAL(ReadValue<uint16_t>(bytes), 7);
  CHECK_THROWS(KernelError, "value too short", ReadValue<uint32_t>(bytes));
  CHECK_THROWS(KernelError, "value too short", ReadValue<uint8_t>({}));
  CHECK_EQUAL(ReadString(Exact().Add("ab", 2)), "ab");
  CHECK_EQUAL(ReadString(Exact().Add("a\0b", 3)), "a");
}

TEST("an acknowledgement is zero or an error, with text when the kernel has some") {
  const nlmsgerr fine{0, Header(32)};
  const nlmsgerr refused{-17, Header(24)};
  CHECK_EQUAL(Ack(Exact().Add(fine), 0).error, 0);
  CHECK_EQUAL(Ack(Exact().Add(refused), 0).error, 17);

  const auto capped =
      Ack(Exact().Add(refused).Attribute(8, NLMSGERR_ATTR_MSG, std::string_view("why\0", 4)), NLM_F_ACK_TLVS | NLM_F_CAPPED);
  CHECK_EQUAL(capped.error, 17);
  CHECK_EQUAL(capped.text, "why");

  // Not capped: the request's eight bytes of payload stand between.
  const auto whole =
      Ack(Exact().Add(refused).Add(uint64_t{UINT64_MAX}).Attribute(8, NLMSGERR_ATTR_MSG, std::string_view("why\0", 4)),
          NLM_F_ACK_TLVS);
  CHECK_EQUAL(whole.text, "why");

  // A success never echoes the request, capped or not.
  const auto warned = Ack(Exact().Add(fine).Attribute(7, NLMSGERR_ATTR_MSG, std::string_view("hm\0\0", 4)), NLM_F_ACK_TLVS);
  CHECK_EQUAL(warned.error, 0);
  CHECK_EQUAL(warned.text, "hm");
}

TEST("a cut or senseless acknowledgement is refused or loses its text, never more") {
  const nlmsgerr refused{-17, Header(24)};
  CHECK_THROWS(KernelError, "value too short", Ack(Exact().Add(refused, 19), 0));
  CHECK_THROWS(KernelError, "error number", Ack(Exact().Add(nlmsgerr{17, Header(16)}), 0));
  CHECK_THROWS(KernelError, "error number", Ack(Exact().Add(nlmsgerr{INT32_MIN, Header(16)}), 0));
  for (const uint32_t echoed : {0u, 15u, 25u, 4096u, UINT32_MAX - 3, UINT32_MAX})
    CHECK_EQUAL(Ack(Exact().Add(nlmsgerr{-17, Header(echoed)}).Attribute(4, 3), NLM_F_ACK_TLVS).error, 17);
  CHECK_THROWS(KernelError, "truncated attribute",
               Ack(Exact().Add(refused).Attribute(9, NLMSGERR_ATTR_MSG, "why"), NLM_F_ACK_TLVS | NLM_F_CAPPED));
}
