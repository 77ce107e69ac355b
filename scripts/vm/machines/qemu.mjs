// The qemu machine: Debian's kernel under full emulation, the host's files over virtio-9p.
// Guarantees: find() only looks; commandLine() is pure; files() leaves nothing on disk.

import { existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { cpio, moduleLoadOrder } from '../initramfs.mjs';
import { guestVariables, kernelWords } from '../kernelArguments.mjs';
import { compressedKernel } from '../kernelImage.mjs';
import { fileFrom, fileOf } from '../namelessFile.mjs';

export const packages = ['qemu-system-x86', 'linux-image-amd64', 'busybox-static'];

// What must be there before the root file system is, and the channels and overlayfs with it.
const wantedModules = ['virtio_pci', '9pnet_virtio', '9p', 'virtio_console', 'overlay'];

/** Where the machine's parts are, or null when a package is not installed. */
export function find() {
  const emulator = '/usr/bin/qemu-system-x86_64';
  const busybox = ['/bin/busybox', '/usr/bin/busybox'].find(isStatic);
  const release = newestRelease();
  if (!existsSync(emulator) || busybox === undefined || release === undefined) return null;
  return { emulator, busybox, kernel: `/boot/vmlinuz-${release}`, modules: `/lib/modules/${release}` };
}

// A dynamic program names its loader; the package "busybox" has such a one, "busybox-static" has not.
function isStatic(path) {
  return existsSync(path) && !readFileSync(path).includes('/ld-linux-x86-64.so.2\0');
}

function newestRelease() {
  if (!existsSync('/boot')) return undefined;
  return readdirSync('/boot')
    .map((name) => /^vmlinuz-(.*-amd64)$/.exec(name)?.[1])
    .filter((release) => release !== undefined && existsSync(`/lib/modules/${release}/modules.dep`))
    .sort((a, b) => a.localeCompare(b, undefined, { numeric: true }))
    .at(-1);
}

/** Descriptors to hand to the emulator: the initramfs, and the unpacked kernel where we can unpack it. */
export function files(parts, firstStage) {
  const packed = compressedKernel(readFileSync(parts.kernel));
  const kernel = (packed && fileFrom(packed.unpack, packed.bytes)) ?? openSync(parts.kernel, 'r');
  return { initramfs: fileOf(archive(parts, firstStage)), kernel };
}

// busybox, the first stage, and the modules that the root file system needs.
function archive(parts, firstStage) {
  const contents = { '/bin/busybox': readFileSync(parts.busybox), '/init': readFileSync(firstStage) };
  const order = moduleLoadOrder(readFileSync(`${parts.modules}/modules.dep`, 'utf8'), wantedModules);
  for (const [index, path] of order.entries()) {
    // Numbered, so that the first stage loads them in this order.
    contents[`/modules/${String(index).padStart(2, '0')}.ko`] = readFileSync(`${parts.modules}/${path}`);
  }
  return cpio(contents);
}

/** The channels are ports 1 to 3 of one virtio-serial device, each a socket we hold the other end of. */
export function commandLine({ parts, guest, init, memoryMb, cpus, fds }) {
  const variables = {
    ...guestVariables({ ...guest, machine: 'qemu', modules: parts.modules }),
    TRELLIS_VM_INIT: init,
  };
  const kernel = [
    'console=ttyS0',
    'loglevel=4',
    'panic=-1',
    'mitigations=off',
    'nokaslr',
    'audit=0',
    'tsc=reliable',
    'no_timer_check',
    'random.trust_cpu=on',
    'cryptomgr.notests',
    ...kernelWords(variables),
  ];
  return [
    parts.emulator,
    '-nodefaults',
    '-no-user-config',
    '-display',
    'none',
    '-no-reboot',
    '-machine',
    'q35,hpet=off,vmport=off',
    '-accel',
    'tcg,thread=multi,tb-size=512',
    '-cpu',
    'max',
    '-smp',
    String(cpus),
    '-m',
    String(memoryMb),
    '-kernel',
    descriptor(fds.kernel),
    '-initrd',
    descriptor(fds.initramfs),
    '-append',
    kernel.join(' '),
    '-chardev',
    'stdio,id=console,signal=off',
    '-serial',
    'chardev:console',
    ...share({ id: 'root', path: '/', readonly: true }),
    ...(guest.share ? share({ id: 'out', path: guest.out, readonly: false }) : []),
    '-device',
    'virtio-serial-pci',
    ...channel({ name: 'control', nr: 1, fd: fds.control }),
    ...channel({ name: 'stdout', nr: 2, fd: fds.stdout }),
    ...channel({ name: 'stderr', nr: 3, fd: fds.stderr }),
  ];
}

function descriptor(fd) {
  return `/proc/self/fd/${fd}`;
}

function share({ id, path, readonly }) {
  // remap: the host's tree spans devices, whose inode numbers would collide.
  const fsdev = `local,id=${id},path=${path},security_model=none,multidevs=remap${readonly ? ',readonly=on' : ''}`;
  return ['-fsdev', fsdev, '-device', `virtio-9p-pci,fsdev=${id},mount_tag=${id}`];
}

function channel({ name, nr, fd }) {
  return [
    '-chardev',
    `socket,id=${name},fd=${fd}`,
    '-device',
    `virtserialport,chardev=${name},nr=${nr},name=${name}`,
  ];
}
