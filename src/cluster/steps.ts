// Progress of a start, as values that travel from the components to whoever shows them.
import { messageOf } from '../base/errorMessage.js';

/** The components that tell of their steps. */
export type Speaker = 'server' | 'agent';

export type Step =
  | { readonly type: 'begin'; readonly name: string }
  | { readonly type: 'done'; readonly name: string; readonly ms: number; readonly detail?: string }
  /** What a step that takes long is waiting for. */
  | { readonly type: 'note'; readonly name: string; readonly text: string }
  /** The start cannot succeed; the text says what is wrong and what to do. */
  | { readonly type: 'failed'; readonly name: string; readonly text: string }
  /** The control plane answers, or the node of this machine or the one of that name is Ready. */
  | { readonly type: 'ready'; readonly who: string };

export type StepSink = (step: Step) => void;

/** Runs one step and tells its beginning, its time or its failure. */
export async function step<T>(
  sink: StepSink,
  name: string,
  work: () => Promise<T>,
  now = performance.now.bind(performance),
): Promise<T> {
  const started = now();
  sink({ type: 'begin', name });
  try {
    const result = await work();
    sink({ type: 'done', name, ms: now() - started });
    return result;
  } catch (error) {
    sink({ type: 'failed', name, text: messageOf(error) });
    throw error;
  }
}

/** For a component's process: steps go to the supervisor when there is one. */
export function supervisorSink(): StepSink {
  return (message) => {
    if (process.connected) process.send?.(message);
  };
}
