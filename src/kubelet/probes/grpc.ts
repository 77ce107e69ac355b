// A probe by the gRPC health protocol, grpc.health.v1.
// Guarantees: one channel of its own, closed at the end; never longer than its time.
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { urlHost } from './dial.js';
import type { ProbeAnswer } from './result.js';

const CHECK = '/grpc.health.v1.Health/Check';
const STATES = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

export function probeGrpc(options: {
  readonly host: string;
  readonly port: number;
  readonly service: string;
  readonly timeoutMs: number;
}): Promise<ProbeAnswer> {
  const { host, port, service, timeoutMs } = options;
  const address = `${urlHost(host)}:${port}`;
  const client = new Client(address, credentials.createInsecure(), {
    'grpc.primary_user_agent': 'kube-probe/1.36',
    'grpc.enable_http_proxy': 0,
  });
  const deadline = Date.now() + timeoutMs;
  return new Promise<ProbeAnswer>((resolve) => {
    const answered = (error: ServiceError | null, state?: number) =>
      resolve(error === null ? judge(state ?? 0) : refusal(error, { address, timeoutMs }));
    client.makeUnaryRequest(CHECK, encodeRequest, decodeState, service, { deadline }, answered);
  }).finally(() => client.close());
}

function judge(state: number): ProbeAnswer {
  if (state === 1) return { outcome: 'success', output: 'service healthy' };
  return { outcome: 'failure', output: `service unhealthy (responded with "${STATES[state] ?? state}")` };
}

function refusal(
  { code, details }: ServiceError,
  { address, timeoutMs }: { readonly address: string; readonly timeoutMs: number },
): ProbeAnswer {
  const failure = (output: string): ProbeAnswer => ({ outcome: 'failure', output });
  if (code === status.UNIMPLEMENTED)
    return failure(
      `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${details}`,
    );
  if (code === status.DEADLINE_EXCEEDED)
    return failure(`timeout: health rpc did not complete within ${timeoutMs / 1000}s`);
  if (code === status.UNAVAILABLE)
    return failure(
      `timeout: failed to connect service "${address}" within ${timeoutMs / 1000}s: context deadline exceeded`,
    );
  return failure(`error: health rpc probe failed: ${details}`);
}

/** HealthCheckRequest: field 1, the service's name. Its length is at most that of a DNS label. */
function encodeRequest(service: string): Buffer {
  const name = Buffer.from(service, 'utf8').subarray(0, 127);
  return name.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a, name.length]), name]);
}

/** HealthCheckResponse: field 1, an enumeration; absent means 0. */
function decodeState(bytes: Buffer): number {
  return bytes[0] === 0x08 ? (bytes[1] ?? 0) : 0;
}
