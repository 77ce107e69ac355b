// The command that a machine runs under, so that it cannot outlive us.
// Guarantees: pure; if we die in any way, even by SIGKILL, the kernel ends every process of the machine.

/**
 * unshare stays as the parent and dies with us (pdeathsig); its child is process 1 of a process namespace and
 * dies with it (kill-child); with process 1 goes the whole namespace, and the mounts of the machine go too.
 */
export function confine(command) {
  const namespaces = ['unshare', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  return ['setpriv', '--pdeathsig', 'KILL', ...namespaces, ...command];
}
