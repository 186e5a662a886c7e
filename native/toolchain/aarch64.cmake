# Builds for Arm servers (Kunpeng) on another machine: `make native ARCH=aarch64`, or CMAKE_TOOLCHAIN_FILE for a wheel.
# CXX in the environment is no help: scikit-build-core sets it to the compiler of this machine.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++ CACHE STRING "Debian's g++-aarch64-linux-gnu, or another")
