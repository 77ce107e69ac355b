// Why a proxy cannot run, in words for the person at the terminal.

type ProxyErrorCode = 'ALREADY_RUNNING' | 'BAD_CONFIG' | 'MODE_MISSING' | 'PORT_IN_USE';

export class ProxyError extends Error {
  override readonly name = 'ProxyError';
  constructor(
    readonly code: ProxyErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
