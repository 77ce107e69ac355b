// Words of a kernel command line, and the variables that guest/init.sh finds in its environment.
// Guarantees: pure; a value the kernel or mount(8) could not take is refused in words.

import { VmError } from './errors.mjs';

/** The kernel hands NAME=value words it does not know to its first process as environment. */
export function guestVariables({ machine, modules, out, share, keep, jobBytes }) {
  return {
    TRELLIS_VM: machine,
    TRELLIS_VM_MODULES: modules,
    TRELLIS_VM_OUT: out,
    TRELLIS_VM_SHARE: share ? 'yes' : 'no',
    TRELLIS_VM_KEEP: hiddenDirectories(keep).join(':'),
    TRELLIS_VM_JOB_BYTES: String(jobBytes),
  };
}

export function kernelWords(variables) {
  return Object.entries(variables).map(([name, value]) => {
    // A blank, a quote or a comma would end the word, or one option of a mount inside.
    if (/[\s",]/.test(value)) {
      throw new VmError('USAGE', `the machine cannot take a path with a blank, a quote or a comma: ${value}`);
    }
    return `${name}=${value}`;
  });
}

const covered = ['/tmp/', '/run/', '/var/tmp/'];

/** Those of the directories that a fresh tmpfs would hide, each once, none inside another. */
export function hiddenDirectories(directories) {
  const hidden = directories.filter((path) => covered.some((root) => path.startsWith(root)));
  const inside = (path, other) => path !== other && path.startsWith(`${other}/`);
  return [...new Set(hidden)].filter((path) => !hidden.some((other) => inside(path, other)));
}
