// The user-mode Linux machine: a kernel that is a process and sees the host's files through hostfs.
// Guarantees: find() only looks; commandLine() is pure and starts nothing.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { guestVariables, kernelWords } from '../kernelArguments.mjs';
import { fileFrom } from '../namelessFile.mjs';

const kernel = '/usr/bin/linux.uml';
const modulesRoot = '/usr/lib/uml/modules';

export const packages = ['user-mode-linux'];

/** Where the machine's parts are, or null when the package is not installed. */
export function find() {
  if (!existsSync(kernel) || !existsSync(modulesRoot)) return null;
  const release = readdirSync(modulesRoot)[0]; // the package has the modules of its one kernel
  return release === undefined ? null : { kernel, modules: `${modulesRoot}/${release}` };
}

// cc writes its result only to a path, which is gone again when the bytes are out.
const compile =
  'd=$(mktemp -d) && cc -shared -fPIC -O1 -x c -o "$d/o" - && cat "$d/o"; s=$?; rm -rf "$d"; exit $s';

/**
 * init.sh runs straight from the host's tree. Only processors with more registers than the kernel has room for need a
 * library, so a machine without a C compiler goes without.
 */
export function files() {
  const source = readFileSync(new URL('uml_registers.c', import.meta.url));
  const registers = fileFrom(['sh', '-c', compile], source);
  return registers === null ? {} : { registers };
}

// hostfs keeps a descriptor of the host open for every file in the guest's cache, hence the high limit.
// No exec: after a panic the kernel ends by SIGABRT, which would be ignored if it were process 1 here.
const prelude = 'ulimit -c 0; ulimit -n "$(ulimit -H -n)"; mount -t tmpfs tmpfs /sys && "$@"; exit $?';

/**
 * The channels are consoles 1 to 3. The kernel insists on a directory for its management socket:
 * a tmpfs over /sys, in the machine's own mount namespace, where no one else needs a path.
 */
export function commandLine({ parts, guest, init, memoryMb, fds }) {
  const words = kernelWords({
    ...guestVariables({ ...guest, machine: 'uml', modules: parts.modules }),
    init: '/bin/sh',
  });
  return [
    'sh',
    '-c',
    prelude,
    'sh',
    ...(fds.registers === undefined ? [] : ['env', `LD_PRELOAD=/proc/self/fd/${fds.registers}`]),
    parts.kernel,
    `mem=${memoryMb}M`,
    'rootfstype=hostfs',
    'rootflags=/',
    'ro',
    // Choosing the fastest RAID 6 code would take a second, and nothing here uses it.
    'initcall_blacklist=raid6_select_algo',
    'zswap.enabled=0',
    'uml_dir=/sys/',
    'con=null',
    'ssl=null',
    'con0=null,fd:1',
    `con1=fd:${fds.control},fd:${fds.control}`,
    `con2=null,fd:${fds.stdout}`,
    `con3=null,fd:${fds.stderr}`,
    ...words,
    '--',
    init,
  ];
}
