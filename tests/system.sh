#!/bin/sh
# Install what the tests need from the system, or say what its absence costs.
missing=""
[ -x /usr/bin/chromium ] || missing="$missing chromium"
[ -x /usr/lib/llvm-22/bin/mlir-opt ] || missing="$missing mlir-22-tools"
[ -x /usr/lib/llvm-22/bin/opt ] || missing="$missing llvm-22"
[ -x /usr/bin/spirv-val ] || missing="$missing spirv-tools"
[ -n "$missing" ] || exit 0
root=""
[ "$(id -u)" = 0 ] || root="sudo -n"
$root apt-get update -qq >/dev/null 2>&1
for package in $missing; do
    DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq "$package" >/dev/null 2>&1 && continue
    case "$package" in
        chromium) echo "not installed: chromium (apt-get install chromium); skipped: tests/browser" ;;
        spirv-tools) echo "not installed: spirv-tools (apt-get install spirv-tools); SPIR-V is not validated" ;;
        *) echo "not installed: $package (apt-get install $package); skipped: tests marked external" ;;
    esac
done
exit 0
