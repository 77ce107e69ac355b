// The text forms of addresses, prefixes, hardware addresses and bytes.
#include <sys/socket.h>

#include "base/ip.h"
#include "test/check.h"

using namespace trellis;

TEST("IP addresses are read and written in their usual notation") {
  const std::pair<const char*, const char*> cases[] = {{"10.0.0.1", "10.0.0.1"},
                                                       {"::", "::"},
                                                       {"FD00:0::1", "fd00::1"},
                                                       {"::ffff:1.2.3.4", "::ffff:1.2.3.4"},
                                                       {"255.255.255.255", "255.255.255.255"}};
  for (const auto& [text, written] : cases) CHECK_EQUAL(IpAddress::Parse(text)->ToString(), written);
  CHECK_EQUAL(IpAddress::Parse("10.0.0.1")->family(), AF_INET);
  CHECK_EQUAL(IpAddress::Parse("::1")->family(), AF_INET6);
  CHECK_EQUAL(IpAddress{}.ToString(), "");
  CHECK_EQUAL(IpAddress::Zero(AF_INET6).ToString(), "::");
}

TEST("what is no IP address is refused") {
  for (const char* text : {"", "10.0.0", "10.0.0.256", "010.0.0.1", "10.0.0.1 ", " ::1", "fd00::1::", ":", "1:2:3:4:5:6:7:8:9",
                           "fe80::1%lo", "0000:0000:0000:0000:0000:0000:0000:00000000000001", "localhost"})
    CHECK(!IpAddress::Parse(text));
  CHECK(!IpAddress::Parse(std::string_view("10.0.0.1\0", 9)));
  CHECK(!IpAddress::Parse(std::string_view("1\0.0.0.1", 8)));
}

TEST("an IP address has 4 or 16 bytes") {
  const uint8_t bytes[17] = {1, 2, 3, 4};
  CHECK_EQUAL(IpAddress::FromBytes({bytes, 4})->ToString(), "1.2.3.4");
  CHECK_EQUAL(IpAddress::FromBytes({bytes, 16})->ToString(), "102:304::");
  for (const size_t size : {0, 3, 5, 15, 17}) CHECK(!IpAddress::FromBytes({bytes, size}));
}

TEST("prefixes fit their family") {
  CHECK_EQUAL(IpPrefix::Parse("10.0.0.1/24")->ToString(), "10.0.0.1/24");
  CHECK_EQUAL(IpPrefix::Parse("10.0.0.1")->ToString(), "10.0.0.1/32");
  CHECK_EQUAL(IpPrefix::Parse("fd00::/0")->ToString(), "fd00::/0");
  CHECK_EQUAL(IpPrefix::Parse("fd00::1")->ToString(), "fd00::1/128");
  for (const char* text : {"10.0.0.1/", "10.0.0.1/33", "::/129", "10.0.0.1/-1", "10.0.0.1/+1", "10.0.0.1/ 1", "10.0.0.1/1x",
                           "/24", "", "10.0.0.1/24/24", "10.0.0.1/4294967297", "10.0.0.1/99999999999999999999"})
    CHECK(!IpPrefix::Parse(text));
}

TEST("hardware addresses are pairs of hexadecimal digits") {
  CHECK_EQUAL(HardwareAddress::Parse("02:00:0A:00:0b:01")->ToString(), "02:00:0a:00:0b:01");
  CHECK_EQUAL(HardwareAddress::Parse("ff")->ToString(), "ff");
  for (const char* text : {"", ":", "0", "02:", "02:0", "020:0", "02-00", "0g:00", "02::00", ":02", "02:00 "})
    CHECK(!HardwareAddress::Parse(text));
  std::string longest = "00";
  for (int i = 1; i < 32; ++i) longest += ":00";
  CHECK_EQUAL(HardwareAddress::Parse(longest)->length, 32);
  CHECK(!HardwareAddress::Parse(longest + ":00"));
  const uint8_t bytes[33] = {};
  CHECK(!HardwareAddress::FromBytes({bytes, 0}));
  CHECK(HardwareAddress::FromBytes({bytes, 32}));
  CHECK(!HardwareAddress::FromBytes({bytes, 33}));
}

TEST("hexadecimal text and bytes turn into one another") {
  const uint8_t bytes[] = {0, 0x0F, 0xF0, 0xFF};
  CHECK_EQUAL(ToHex(bytes), "000ff0ff");
  CHECK_EQUAL(*FromHex("000FF0ff"), std::string("\x00\x0F\xF0\xFF", 4));
  CHECK_EQUAL(*FromHex(""), "");
  for (const char* text : {"0", "0x", "zz", "00 "}) CHECK(!FromHex(text));
}
