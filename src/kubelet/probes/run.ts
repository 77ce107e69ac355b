// Runs one probe of a container, by whichever means it names.
// Guarantees: always answers; what could not be asked is `unknown`, and never counts for or against.
import type { V1Container, V1Probe } from '../../api/gen/types.js';
import { messageOf } from '../../base/errorMessage.js';
import { probeTcp } from './dial.js';
import { probeHttp } from './http.js';
import type { ProbeAnswer } from './result.js';

/** Runs a command in a container to its end. A time-out is thrown with the code DEADLINE_EXCEEDED. */
export type Exec = (
  containerId: string,
  cmd: readonly string[],
  timeoutSeconds: number,
) => Promise<{ readonly stdout: Uint8Array; readonly stderr: Uint8Array; readonly exitCode: number }>;

export interface ProbeTarget {
  readonly probe: V1Probe;
  readonly container: V1Container;
  readonly containerId: string;
  readonly podIp: string | undefined;
  readonly timeoutMs: number;
}

const MAX_OUTPUT_BYTES = 10 * 1024;

export async function runProbe(exec: Exec, target: ProbeTarget): Promise<ProbeAnswer> {
  const { probe, container, podIp, timeoutMs } = target;
  try {
    if (probe.exec) return await probeExec(exec, target);
    const host = (given: string | undefined) => {
      const found = given || podIp;
      if (found === undefined) throw new Error('the pod has no address yet');
      return found;
    };
    if (probe.httpGet) {
      const { path = '/', port, scheme = 'HTTP', httpHeaders: headers = [] } = probe.httpGet;
      const target = { scheme, host: host(probe.httpGet.host), port: portOf(port, container), path };
      return await probeHttp({ ...target, headers, timeoutMs });
    }
    if (probe.tcpSocket) {
      const { port } = probe.tcpSocket;
      return await probeTcp({ host: host(probe.tcpSocket.host), port: portOf(port, container), timeoutMs });
    }
    if (probe.grpc) {
      const { port, service = '' } = probe.grpc;
      // Few pods are asked this way, and the library would cost every node its memory.
      const { probeGrpc } = await import('./grpc.js');
      return await probeGrpc({ host: host(undefined), port, service, timeoutMs });
    }
    return { outcome: 'unknown', output: `missing probe handler for ${container.name}` };
  } catch (error) {
    return { outcome: 'unknown', output: messageOf(error) };
  }
}

/** A number, a number as text, or the name of one of the container's ports. */
export function portOf(port: number | string, { ports = [] }: V1Container): number {
  const named = typeof port === 'string' ? ports.find(({ name }) => name === port)?.containerPort : undefined;
  const number = named ?? Number(port);
  if (Number.isInteger(number) && number > 0 && number < 65536) return number;
  throw new Error(
    typeof port === 'string' && Number.isNaN(number)
      ? `couldn't find port: "${port}" in container ports`
      : `invalid port number: ${port}`,
  );
}

async function probeExec(exec: Exec, { probe, containerId, timeoutMs }: ProbeTarget): Promise<ProbeAnswer> {
  const command = probe.exec?.command ?? [];
  try {
    const { stdout, stderr, exitCode } = await exec(containerId, command, Math.ceil(timeoutMs / 1000));
    const output = Buffer.concat([stdout, stderr]).subarray(0, MAX_OUTPUT_BYTES).toString('utf8');
    return { outcome: exitCode === 0 ? 'success' : 'failure', output };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'DEADLINE_EXCEEDED')) throw error;
    const words = `command timed out: "${command.join(' ')}" timed out after ${timeoutMs / 1000}s`;
    return { outcome: 'failure', output: words };
  }
}
