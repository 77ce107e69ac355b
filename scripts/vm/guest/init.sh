#!/bin/sh
# Process 1 of both machines: lays out the file systems, loads IPVS, runs one job, powers off.
# Guarantees: "ready" and "exit N" on the control channel only; all output is delivered before the end.
#
# The kernel hands over as environment whatever it does not know itself: TRELLIS_VM (the machine),
# TRELLIS_VM_MODULES (where its modules are), TRELLIS_VM_OUT (directory for results), TRELLIS_VM_SHARE (yes if
# that is the host's), TRELLIS_VM_KEEP (host directories to keep visible below /tmp and the like),
# TRELLIS_VM_JOB_BYTES (length of the job script, which comes over the control channel).
# user-mode Linux needs 20 to 100 ms for any process, so this script starts as few as it can.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH

power_off() {
  sync
  echo o >/proc/sysrq-trigger
  while :; do sleep 1; done
}

# The end of process 1 is a kernel panic, and that the end of the machine.
fail() {
  echo "trellis-vm: $*"
  exit 1
}

# A file system in memory over the host's: everything can be written, nothing is changed.
lay_out_root() {
  mount -t tmpfs tmpfs /tmp || fail 'no tmpfs'
  mkdir /tmp/upper /tmp/work /tmp/root
  # qemu's first stage has loaded it already.
  [ "$TRELLIS_VM" = uml ] && insmod "$modules"/kernel/fs/overlayfs/overlay.ko
  mount -t overlay -o lowerdir=/,upperdir=/tmp/upper,workdir=/tmp/work overlay /tmp/root || fail 'no overlayfs'
  cd /tmp/root && pivot_root . mnt || fail 'cannot change to the new root'
  umount -l /mnt
  mount -t proc proc /proc || fail 'no /proc'
}

mount_all() {
  [ -n "$keep" ] && mount --bind / /mnt
  mount --all --fstab "$here/fstab" || fail 'cannot mount the file systems'
  [ -n "$keep" ] && keep_directories
  [ -L /var/run ] || mount --bind /run /var/run
  ln -sf pts/ptmx /proc/self/fd /dev/
  ln -s fd/0 /dev/stdin
  ln -s fd/1 /dev/stdout
  ln -s fd/2 /dev/stderr
  mkdir -p /run/lock /run/netns /run/trellis-vm "$TRELLIS_VM_OUT"
}

# A project checked out below /tmp must still be there.
keep_directories() {
  IFS=:
  for directory in $keep; do
    mkdir -p "$directory" && mount --bind "/mnt$directory" "$directory"
  done
  unset IFS
  umount /mnt
}

mount_out() {
  case $TRELLIS_VM_SHARE:$TRELLIS_VM in
    no:*) ;;
    *:uml) mount -t hostfs -o "$TRELLIS_VM_OUT" none "$TRELLIS_VM_OUT" ;;
    *) mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=mmap out "$TRELLIS_VM_OUT" ;;
  esac || fail "cannot share $TRELLIS_VM_OUT"
}

# All schedulers are there from the start, as on a node; anything else is loaded when first used.
load_modules() {
  [ "$TRELLIS_VM" = uml ] && mkdir -p /lib/modules && ln -sfn "$modules" /lib/modules/
  schedulers=
  for file in "$modules"/kernel/net/netfilter/ipvs/ip_vs_*.ko*; do
    name=${file##*/}
    case $name in ip_vs_ftp.* | ip_vs_pe_*) ;; *) schedulers="$schedulers ${name%%.*}" ;; esac
  done
  modprobe -a ip_vs $schedulers || fail 'cannot load ip_vs'
}

find_channels() {
  case $TRELLIS_VM in
    uml) control=/dev/tty1 out=/dev/tty2 err=/dev/tty3 ;;
    *) for port in /dev/vport*p1; do control=$port out=${port%1}2 err=${port%1}3; done ;;
  esac
  [ -c "$control" ] || fail 'no channel to the host'
}

# user-mode Linux offers terminals; raw, they pass bytes on as they are. Setting them also drains them.
make_raw() {
  case $TRELLIS_VM in uml) stty -F "$1" raw -echo ;; esac
}

# What the job left running would hold its output open.
kill_stragglers() {
  for directory in /proc/[0-9]*; do
    pid=${directory#/proc/}
    case " $ours " in *" $pid "*) ;; *) kill -KILL "$pid" 2>/dev/null ;; esac
  done
}

run_job() {
  cd /run/trellis-vm || fail 'no /run'
  exec 3<>"$control" 4>"$out" 5>"$err"
  for channel in "$control" "$out" "$err"; do make_raw "$channel"; done
  echo ready >&3
  head -c "$TRELLIS_VM_JOB_BYTES" <&3 >job.sh
  mkfifo out err
  # Through pipes, so that the command sees no terminal, as in any pipeline.
  cat <out >&4 &
  ours="$$ $!"
  cat <err >&5 &
  ours="$ours $!"
  env -i sh job.sh </dev/null >out 2>err 3>&- 4>&- 5>&-
  code=$?
  kill_stragglers
  wait
  for channel in "$out" "$err"; do make_raw "$channel"; done
  echo "exit $code" >&3
  make_raw "$control"
}

here=${0%/*}
keep=$TRELLIS_VM_KEEP
modules=$TRELLIS_VM_MODULES
lay_out_root
mount_all
mount_out
load_modules
find_channels
ip link set lo up
run_job
power_off
