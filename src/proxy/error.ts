// Why a proxy cannot run, in words for the person at the terminal.
import { CodedError } from '../base/codedError.js';

type ProxyErrorCode = 'ALREADY_RUNNING' | 'BAD_CONFIG' | 'MODE_MISSING' | 'PORT_IN_USE';

export class ProxyError extends CodedError<ProxyErrorCode> {
  override readonly name = 'ProxyError';
}
