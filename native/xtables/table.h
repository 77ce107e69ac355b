// One legacy table of iptables as the kernel gives and takes it: entries one behind the other, which make up chains.
// Guarantees: nothing outside the bytes is read, whatever they hold; what no step names is written back as it was found.
#pragma once
#include <array>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"

namespace trellis::xtables {

// Where the fields of an entry are: the address families differ in what it begins with.
struct Layout {
  size_t entry;   // bytes of struct ipt_entry or ip6t_entry
  size_t head;    // bytes of struct ipt_ip or ip6t_ip6, which an entry begins with
  size_t target;  // where it says at which byte its target begins
  size_t next;    // where it says how long it is
};
extern const Layout kIpv4, kIpv6;

inline constexpr size_t kHooks = 5;

// Where the built-in chains begin and where their policies are.
struct Hooks {
  uint32_t valid = 0;  // a bit for each hook that the table has
  std::array<uint32_t, kHooks> entry{}, underflow{};
  bool operator==(const Hooks&) const = default;
};

// A rule to be written or looked for: an entry, and the chain it jumps to, if it does.
struct NewRule {
  std::string bytes;
  std::string jump;
};

struct TableSize {
  size_t entries = 0, bytes = 0;
};

// How a changed table comes from the bytes it was read from.
struct Arrangement {
  static constexpr uint32_t kNew = UINT32_MAX;

  // Bytes that were found one behind the other, or a new entry.
  struct Piece {
    size_t to, size;
    size_t from;           // where they were found
    const uint8_t* added;  // a new entry's, else null
  };
  // A verdict that holds another place than before.
  struct Jump {
    size_t at;
    int32_t place;
  };

  TableSize size;
  Hooks hooks;
  std::vector<Piece> pieces;
  std::vector<Jump> jumps;
  std::vector<uint32_t> origins;  // for each entry which one of those found it was, or kNew
  bool inOrder = true;            // no piece that was found changes places with another

  void WriteTo(uint8_t* to, const uint8_t* found) const;
  // The same where the table was found, which must have room for it and be in order: little is moved by a small change.
  void WriteOver(uint8_t* entries) const;

 private:
  void Finish(uint8_t* to) const;
};

class Table {
 public:
  // The bytes must outlive the table. KernelError EBADMSG when they are not a table.
  Table(const Layout& layout, Bytes entries, const Hooks& hooks);

  // The steps of an iptables-restore that does not flush; InputError for one that cannot be done.
  void Declare(std::string_view chain);  // made, or emptied
  void Append(std::string_view chain, NewRule rule);
  void Insert(std::string_view chain, NewRule rule);
  void Delete(std::string_view chain, const NewRule& rule);  // the first that is the same
  void Remove(std::string_view chain);                       // an empty one that nothing jumps to

  TableSize found() const { return found_; }
  // The table as it is now; holds for as long as this one. InputError when a rule jumps to a chain that is gone.
  Arrangement Arrange();

 private:
  static constexpr uint32_t kNew = Arrangement::kNew;
  struct Rule {
    const uint8_t* bytes = nullptr;
    uint32_t size = 0;
    uint32_t origin = kNew;
    int32_t jump = -1;  // a chain, or one of the values below
  };
  static constexpr int32_t kNoJump = -1, kFallThrough = -2;

  struct Chain {
    std::string_view name;
    int hook = -1;  // of a built-in chain
    Rule head;      // of any other
    std::span<const Rule> rules;
    Rule foot;
    size_t start = 0;                     // where its first rule is: what jumps to it holds this
    size_t found = SIZE_MAX;              // where that was
    std::vector<Rule>* edited = nullptr;  // what `rules` shows since a step changed it
    bool removed = false;
  };

  void ReadEntries(const Hooks& hooks);
  void ResolveJumps();
  void SortChains();
  TableSize Measure();
  void Place(const Rule& rule, size_t at, Arrangement& in) const;
  int32_t Find(std::string_view name) const;  // -1 when there is none
  int32_t Need(std::string_view name) const;
  std::vector<Rule>& Edit(Chain& chain);
  Rule Keep(NewRule rule);
  bool IsSame(const Rule& found, const NewRule& wanted) const;
  std::string_view HoldText(std::string text) { return texts_.emplace_back(std::move(text)); }

  const Layout& layout_;
  Bytes entries_;
  TableSize found_;
  std::vector<Rule> rules_;     // all that were found
  std::vector<Chain> chains_;   // a chain's place in it is its number
  std::vector<int32_t> order_;  // built-in ones as found, then the others by name, as the tool keeps them
  size_t builtIn_ = 0;
  Rule last_;  // ends every table
  std::deque<std::vector<Rule>> edited_;
  std::deque<std::string> texts_;
};

// The entries that a restore makes, each with an empty head unless it is a rule of the caller's.
std::string ChainHead(const Layout& layout, std::string_view name);
std::string Return(const Layout& layout);
// An entry of that head (its zeros at the end left out), of matches, and of a target, each with its own header.
std::string Entry(const Layout& layout, std::string_view head, std::string_view matches, std::string_view target);
// The header of a match or a target before its struct, which is filled up to the alignment.
std::string Extension(std::string_view name, uint8_t revision, std::string info);
// The target of a rule that jumps, accepts, drops or returns.
std::string StandardTarget(int32_t verdict);

}  // namespace trellis::xtables
