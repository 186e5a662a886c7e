// Files in /dev/shm that belong to this user alone.
//
// Everybody may make any name there. Whoever took ours could hold its lock for ever, fill in what is not true, or cut
// the file while it is mapped: only a file that this user owns and that nobody else may write is used, and where the
// name is taken the same name with a number.
#pragma once
#include <string>

namespace jumar {

constexpr int kNames = 16;

// Whether the open file is an ordinary one of this user that nobody else may write.
bool is_own(int fd);

// The file, made if it is not there and `make` says so; -1 when there is none. `used` gets the name that it has.
int open_own(const std::string& name, bool make, std::string* used);

}  // namespace jumar
