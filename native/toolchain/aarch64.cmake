# Builds for Arm servers (Kunpeng) on another machine: `make native ARCH=aarch64`, or CMAKE_TOOLCHAIN_FILE for a wheel.
# CXX names another compiler than Debian's g++-aarch64-linux-gnu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
if(NOT DEFINED ENV{CXX})
  set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
endif()
