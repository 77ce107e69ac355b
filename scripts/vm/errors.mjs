// The one error class of the virtual-machine harness, and the exit codes it ends with.
// Guarantees: the codes are a closed set; the text is meant for the person at the terminal.

/** Exit codes of the harness itself; any other code is the command's own. */
const exitCode = Object.freeze({ timeout: 124, harness: 125, usage: 2 });

/** code is one of: USAGE, NOT_ROOT, MACHINE_MISSING, BOOT_FAILED, MACHINE_DIED, TIMEOUT. */
export class VmError extends Error {
  constructor(code, message, options = {}) {
    super(message, options);
    this.name = 'VmError';
    this.code = code;
    /** The last lines of the kernel's console, where there are any. */
    this.consoleLines = options.consoleLines ?? [];
  }

  get exitCode() {
    if (this.code === 'USAGE') return exitCode.usage;
    return this.code === 'TIMEOUT' ? exitCode.timeout : exitCode.harness;
  }
}
