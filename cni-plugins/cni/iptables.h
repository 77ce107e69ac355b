// iptables for plugins: the nat table read and written as a whole, rules found by their comments.
// Guarantees: a write is done as a whole or not at all. Callers hold a RulesLock from reading to writing.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace trellis::cni::iptables {

using Lines = std::vector<std::string>;

// Runs a program to its end and returns its output; Error Internal with its words when it fails.
std::string RunTool(std::vector<std::string> argv, std::string input = {});

// The nat table of a family as iptables-save prints it.
Lines ReadNat(bool v6);
// Commits lines of iptables-restore's language to the nat table, all or none; does nothing when there are none.
void WriteNat(bool v6, const Lines& lines);

bool Has(const Lines& lines, const std::string& line);
bool HasChain(const Lines& lines, const std::string& chain);
// What its comment says, or nothing. iptables-save quotes those with a space in them, as an owner's always is.
std::string_view CommentOf(std::string_view line);
// ("TRELLIS-TO-", text): chain names hold 28 characters, so the rest is a hash of the text.
std::string ChainName(const char* prefix, const std::string& text);

}  // namespace trellis::cni::iptables
