// What becomes known of one request on its way, for those who count, limit and record requests.
// Guarantees: made once a request; what a refusal kept from being known stays undefined.
import type { ApiRequest } from './exchange.js';
import type { UserInfo } from './identity.js';
import type { RequestInfo } from './requestInfo.js';

export interface RequestTrace {
  readonly request: ApiRequest;
  readonly auditId: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  /** Milliseconds of the monotonic clock. */
  readonly started: number;
  info?: RequestInfo | undefined;
  /** Who sent it. */
  caller?: UserInfo | undefined;
  /** As whom it was judged. */
  user?: UserInfo | undefined;
  /** Why it was allowed, when it was. */
  allowedBy?: string | undefined;
  /** What admission says of it in the audit log. */
  annotations?: Record<string, string> | undefined;
  /** Gives back the place in flight that it holds. */
  leave?: (() => void) | undefined;
}

const LONG_RUNNING = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

/** Watches and connections through to a pod or node: they last as long as somebody wants them. */
export function isLongRunning({ info }: RequestTrace): boolean {
  if (info?.isResource !== true) return false;
  return info.verb === 'watch' || LONG_RUNNING.has(info.subresource);
}

export function isReadOnly({ info, request }: RequestTrace): boolean {
  const verb = info?.verb ?? request.method.toLowerCase();
  return verb === 'get' || verb === 'list' || verb === 'watch' || verb === 'head';
}
