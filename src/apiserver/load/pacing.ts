// What a costly request waits for: room before its body is read, and a turn before each step of its work.
// Guarantees: a request of little costs one look at its head; callers in the same process wait for no room.
import { type ApiRequest, MAX_BODY, requestWith } from '../exchange.js';
import type { RequestTrace } from '../requestTrace.js';
import { BodyRoom } from './bodyRoom.js';
import { COSTLY_BYTES, CostlySteps } from './costlySteps.js';

export interface Pacing {
  /** The request to hand on. */
  paced(trace: RequestTrace): ApiRequest;
  /** Waits for a turn when that many bytes are to be worked on; undefined when they are few. */
  step(user: string, bytes: number): Promise<void> | undefined;
}

export function makePacing({ room = new BodyRoom(), steps = new CostlySteps() } = {}): Pacing {
  return {
    paced(trace) {
      const { request, caller } = trace;
      const bytes = sizeOf(request);
      if (bytes < COSTLY_BYTES || request.user !== undefined) return request;
      const user = caller?.name ?? '';
      const body = async () => {
        addLeave(trace, await room.take(user, bytes, request.signal));
        const read = await request.body();
        await steps.next(user);
        return read;
      };
      return requestWith(request, { body });
    },
    step: (user, bytes) => (bytes < COSTLY_BYTES ? undefined : steps.next(user)),
  };
}

function sizeOf({ headers }: ApiRequest): number {
  const told = headers['content-length'];
  if (told !== undefined) return Number(told);
  return headers['transfer-encoding'] === undefined ? 0 : MAX_BODY;
}

function addLeave(trace: RequestTrace, release: () => void): void {
  const { leave } = trace;
  trace.leave = () => {
    leave?.();
    release();
  };
}
