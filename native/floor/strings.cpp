// A function of C++20's string streams that headers of torch before 2.9 call: GCC 8's libstdc++ does not have it.
#include <sstream>

#if _GLIBCXX_USE_CXX11_ABI  // the older class has one function for all kinds of streams
template std::string std::basic_stringbuf<char>::str() const&;
#endif
