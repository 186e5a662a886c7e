# Environment of the emulated CANN; written by `jumar emulate prefix`. Variables that are set already win.
export JUMAR_EMULATE=1
export JUMAR_PREFIX='$prefix'
export JUMAR_SOC="$${JUMAR_SOC:-$soc}"
export JUMAR_CARDS="$${JUMAR_CARDS:-$cards}"
$memory_line
export TASK_QUEUE_ENABLE=0
export ASCEND_TOOLKIT_HOME='$home'
export ASCEND_HOME_PATH='$home'
export ASCEND_OPP_PATH='$home/opp'
export ASCEND_AICPU_PATH='$home'
export TOOLCHAIN_HOME='$home/toolkit'
case ":$$LD_LIBRARY_PATH:" in
*":$home/lib64:"*) ;;
*) export LD_LIBRARY_PATH="$home/lib64$${LD_LIBRARY_PATH:+:$$LD_LIBRARY_PATH}" ;;
esac
case ":$$PATH:" in
*":$prefix/bin:"*) ;;
*) export PATH="$prefix/bin:$$PATH" ;;
esac
