// How ranks find each other: one offers the shared memory under a name, the others take it.
//
// The names are abstract sockets: they live as long as the process, so a killed one leaves nothing behind.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace jumar::hccl {

// Offers `fd` to processes of this user until `withdraw`. False with errno EADDRINUSE: somebody else does already.
bool offer(const std::string& name, int fd);
void withdraw(const std::string& name);

// -1: nobody offers it yet.
int take(const std::string& name);

int make_memory();  // -1: errno says why

}  // namespace jumar::hccl
