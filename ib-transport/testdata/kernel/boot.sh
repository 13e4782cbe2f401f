#!/usr/bin/env bash
# boot.sh DIR PROGRAM - boots Debian's kernel with a software RDMA device (rxe) in qemu and runs PROGRAM,
# a static binary, there; the device is removed once PROGRAM has made the file /tmp/ready. Prints the console.
# DIR keeps what was downloaded and unpacked. Needs root for apt-get.
set -euo pipefail
mkdir -p "$1"
cd "$1"
program=$2
exec 3>&1 >&2

needed=(qemu-system-x86 iproute2 cpio)
for package in "${needed[@]}"; do
  dpkg -s "$package" >/dev/null 2>&1 || missing=1
done
if [ -n "${missing:-}" ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${needed[@]}" >/dev/null
fi

image=$(apt-cache depends linux-image-amd64 | grep -oE 'linux-image-[0-9][^ ]*' | head -n 1)
release=${image#linux-image-}
modules=lib/modules/$release
parts=(drivers/infiniband/core drivers/infiniband/sw drivers/net/dummy.ko net/ipv4/udp_tunnel.ko net/ipv6/ip6_udp_tunnel.ko
  crypto arch/x86/crypto lib)
if [ ! -e "tree-$release/done" ]; then
  rm -rf "tree-$release"
  mkdir "tree-$release"
  apt-get download -qq "$image" busybox-static
  # Only the kernel and the modules that are used, 20 MB of 400.
  dpkg-deb --fsys-tarfile "${image}"_*.deb | tar -x -C "tree-$release" "./boot/vmlinuz-$release" \
    "./$modules/modules.builtin" "./$modules/modules.order" "${parts[@]/#/./$modules/kernel/}"
  dpkg-deb -x busybox-static_*.deb "tree-$release"
  rm -f "${image}"_*.deb busybox-static_*.deb
  touch "tree-$release/done"
fi
tree=$PWD/tree-$release

rm -rf root
mkdir -p root/{bin,dev,proc,sys,tmp,usr/bin}
busybox=$(find "$tree" -path '*bin/busybox' | head -n 1)
cp "$busybox" root/bin/busybox
for applet in sh mount modprobe insmod ip sleep poweroff cat depmod; do
  ln -s busybox "root/bin/$applet"
done
copy_libraries() { # of a dynamic binary, at their own places
  ldd "$1" | grep -oE '/[^ ]+' | while read -r library; do
    mkdir -p "root$(dirname "$library")"
    cp -L "$library" "root$library"
  done
}
cp "$(command -v rdma)" root/usr/bin/rdma
copy_libraries root/usr/bin/rdma
cp "$program" root/bin/program

mkdir -p "root/$modules/kernel"
for part in "${parts[@]}"; do
  mkdir -p "root/$modules/kernel/$(dirname "$part")"
  cp -r "$tree/$modules/kernel/$part" "root/$modules/kernel/$part"
done
cp "$tree/$modules"/modules.{builtin,order} "root/$modules/"
root/bin/busybox depmod -b root "$release"

cat > root/init <<'INIT'
#!/bin/sh
export PATH=/bin:/usr/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for module in dummy ib_umad rdma_rxe crc32_generic; do modprobe $module; done
ip link add dummy0 type dummy 2>/dev/null
ip addr add 192.0.2.1/24 dev dummy0
ip link set dummy0 up
rdma link add rxe0 type rxe netdev dummy0
sleep 3
(while [ ! -e /tmp/ready ]; do sleep 0.1; done; sleep 1; rdma link delete rxe0) &
program
echo "program ended with $?"
poweroff -f
INIT
chmod +x root/init
(cd root && find . | cpio --quiet -o -H newc | gzip -1) > initrd.gz
timeout 240 qemu-system-x86_64 -accel tcg -cpu max -m 1024 -nographic -no-reboot -nic none \
  -kernel "$tree/boot/vmlinuz-$release" -initrd initrd.gz \
  -append 'console=ttyS0 quiet panic=1 no_timer_check' </dev/null >&3
