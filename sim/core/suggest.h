#pragma once

#include <string>
#include <vector>

namespace headway {

// The candidate with the fewest edits (insert, delete, replace, swap), or "" when all are far off.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

// "one of a, b, c (did you mean b?)", for the `expected` part of an InputError.
std::string one_of(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace headway
