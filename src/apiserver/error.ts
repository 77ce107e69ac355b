// What can keep an apiserver from starting, in words for the person who started it.
import { CodedError } from '../base/codedError.js';

type ApiServerErrorCode =
  | 'PORT_IN_USE'
  | 'PORT_REFUSED'
  | 'LISTEN_FAILED'
  | 'NOT_LOOPBACK'
  | 'AUDIT_POLICY'
  | 'AUDIT_LOG'
  | 'UNKNOWN_PLUGIN'
  | 'UNKNOWN_MODE';

export class ApiServerError extends CodedError<ApiServerErrorCode> {
  override readonly name = 'ApiServerError';
}

export function listenError(host: string, port: number, cause: NodeJS.ErrnoException): ApiServerError {
  const where = `${host}:${port}`;
  if (cause.code === 'EADDRINUSE') {
    const message = `port ${port} on ${host} is in use by another process; stop it or choose another port with --secure-port`;
    return new ApiServerError('PORT_IN_USE', message, { cause });
  }
  if (cause.code === 'EACCES') {
    const message = `listening on ${where} is not permitted; choose a port from 1024 on with --secure-port, or run as root`;
    return new ApiServerError('PORT_REFUSED', message, { cause });
  }
  return new ApiServerError('LISTEN_FAILED', `cannot listen on ${where}: ${cause.message}`, { cause });
}
