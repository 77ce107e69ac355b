// The one error class of this room.
// Guarantees: a symbolic code to branch on, the operation that failed, and the kernel's own words where it had any.

/** What the core says of one failure. */
export interface Failure {
  /** The kernel's errno by name ("EEXIST") or ipset's ("IPSET_ERR_BUSY"), or INVALID (the request makes no sense), CLOSED, INTERNAL. */
  readonly code: string;
  /** A sentence for people. */
  readonly message: string;
  /** What was being done, such as "add link eth0". */
  readonly operation: string;
  /** The kernel's extended text, or "". */
  readonly kernel: string;
  /** The errno, or 0. */
  readonly errno: number;
  /** Which request of its batch, where there was a batch. */
  readonly index?: number;
  /** Which of that request's entries, where one request holds many. */
  readonly entry?: number;
}

export class KernelError extends Error implements Failure {
  override readonly name = 'KernelError';
  readonly code: string;
  readonly operation: string;
  readonly kernel: string;
  readonly errno: number;
  readonly index?: number;
  readonly entry?: number;
  /** Every refused request of the batch, in order; the first is this error itself. */
  readonly failures: readonly Failure[];

  constructor(failures: readonly [Failure, ...Failure[]], options?: ErrorOptions) {
    const [first] = failures;
    const more = failures.length > 1 ? ` (and ${failures.length - 1} more)` : '';
    super(first.message + more, options);
    this.code = first.code;
    this.operation = first.operation;
    this.kernel = first.kernel;
    this.errno = first.errno;
    if (first.index !== undefined) this.index = first.index;
    if (first.entry !== undefined) this.entry = first.entry;
    this.failures = failures;
  }

  static invalid(message: string): KernelError {
    return new KernelError([{ code: 'INVALID', message, operation: '', kernel: '', errno: 0 }]);
  }

  /** What a call on a closed port is refused with, by the addon and by the fakes alike. */
  static closed(): KernelError {
    const message = 'the channel to the kernel is closed';
    return new KernelError([{ code: 'CLOSED', message, operation: '', kernel: '', errno: 0 }]);
  }

  /** An error of the addon as one of ours; anything else unchanged. */
  static from(error: unknown): unknown {
    if (!(error instanceof Error) || error instanceof KernelError) return error;
    const { code, operation, kernel, errno, index } = error as Error & Partial<Failure>;
    if (code === undefined || operation === undefined || kernel === undefined || errno === undefined)
      return error;
    const failure = { code, message: error.message, operation, kernel, errno };
    return new KernelError([index === undefined ? failure : { ...failure, index }], { cause: error });
  }
}
