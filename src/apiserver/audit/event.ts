// One request as an audit.k8s.io/v1 Event. Pure.
// Guarantees: credentials are never part of it: headers are left out but the user agent.
import type { UserInfo } from '../identity.js';
import { isLongRunning, type RequestTrace } from '../requestTrace.js';
import type { AuditLevel } from './policy.js';

interface AuditedAnswer {
  readonly status: number;
  /** The request's body as it was read, at the levels that record it. */
  readonly sent?: Buffer | undefined;
  readonly answered?: Buffer | undefined;
}

/** A longer body is not recorded. */
export const MAX_BODY = 256 * 1024;

export function auditEvent(
  trace: RequestTrace,
  level: Exclude<AuditLevel, 'None'>,
  { status, sent, answered }: AuditedAnswer,
  now: number,
): object {
  const { request, info, caller, user } = trace;
  const isImpersonated = user !== undefined && user !== caller;
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level,
    auditID: trace.auditId,
    stage: isLongRunning(trace) ? 'ResponseStarted' : 'ResponseComplete',
    requestURI: request.url.slice(0, 8192),
    verb: info?.verb ?? request.method.toLowerCase(),
    user: caller === undefined ? {} : userOf(caller),
    ...(isImpersonated ? { impersonatedUser: userOf(user) } : {}),
    ...(request.remoteAddress === undefined
      ? {}
      : { sourceIPs: [request.remoteAddress.replace(/^::ffff:/, '')] }),
    ...(request.headers['user-agent'] === undefined ? {} : { userAgent: request.headers['user-agent'] }),
    ...(info?.isResource === true ? { objectRef: referenceOf(trace) } : {}),
    responseStatus: { metadata: {}, code: status },
    ...objectOf('requestObject', level === 'Metadata' ? undefined : sent),
    ...objectOf('responseObject', level === 'RequestResponse' ? answered : undefined),
    requestReceivedTimestamp: new Date(trace.receivedAt).toISOString().replace('Z', '000Z'),
    stageTimestamp: new Date(now).toISOString().replace('Z', '000Z'),
    annotations: { ...decisionOf(trace, status), ...trace.annotations },
  };
}

function userOf({ name, uid, groups, extra }: UserInfo): object {
  return {
    username: name,
    ...(uid === undefined ? {} : { uid }),
    groups,
    ...(extra === undefined ? {} : { extra }),
  };
}

function referenceOf({ info }: RequestTrace): object {
  const { resource = '', namespace = '', name = '', group = '', version = '', subresource = '' } = info ?? {};
  const parts = { resource, namespace, name, apiGroup: group, apiVersion: version, subresource };
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== ''));
}

function decisionOf({ allowedBy }: RequestTrace, status: number): object {
  if (allowedBy !== undefined)
    return { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': allowedBy };
  return status === 403 ? { 'authorization.k8s.io/decision': 'forbid' } : {};
}

/** Only JSON is recorded; what is long or in another form is left out. */
function objectOf(key: string, bytes: Buffer | undefined): object {
  if (bytes === undefined || bytes.length === 0 || bytes.length > MAX_BODY) return {};
  try {
    return { [key]: JSON.parse(bytes.toString()) };
  } catch {
    return {};
  }
}
