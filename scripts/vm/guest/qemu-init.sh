#!/bin/busybox sh
# First process of the qemu machine: loads what the root file system needs and mounts it read-only.
# Guarantees: hands over to guest/init.sh on the host's tree, or says on the console what failed.
set -e
trap '[ $? = 0 ] || echo "trellis-vm: the first stage failed; is 9p missing from the kernel?"' EXIT

/bin/busybox mkdir -p /proc /root
/bin/busybox mount -t proc proc /proc
for module in /modules/*; do
  /bin/busybox insmod "$module"
done
# The tree does not change under a run, so the guest may keep every page it has read.
/bin/busybox mount -t 9p -o "ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose" root /root
/bin/busybox umount /proc
exec /bin/busybox switch_root /root /bin/sh "$TRELLIS_VM_INIT"
