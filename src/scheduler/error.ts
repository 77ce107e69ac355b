// What can go wrong in the scheduler, by code.
// Guarantees: every error that this room throws on purpose is one of these.

export class SchedulerError extends Error {
  override readonly name = 'SchedulerError';
  constructor(
    readonly code: 'TIMEOUT' | 'CONFIG' | 'VOLUME' | 'EXTENDER',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
