// Compares repeatable work through benny: operations a second of each, as time for one.
// Guarantees: benny's own sampling; its report stays off the terminal, ours is the table.
import benny from 'benny';
import { againstPeer, type Figure } from './figure.js';

export interface SteadyComparison {
  readonly name: string;
  readonly ours: () => Promise<unknown>;
  readonly peer: { readonly name: string; readonly run: () => Promise<unknown> };
  readonly atMost: number;
}

export async function steady(job: SteadyComparison): Promise<Figure> {
  const { results } = await benny.suite(
    job.name,
    benny.add('ours', job.ours),
    benny.add(job.peer.name, job.peer.run),
    benny.configure({ minDisplayPrecision: 2 }),
  );
  const microseconds = (name: string) => {
    const result = results.find((entry) => entry.name === name);
    if (result === undefined) throw new Error(`benny did not measure ${name}`);
    return result.details.median * 1e6;
  };
  const figure = {
    name: job.name,
    value: microseconds('ours'),
    unit: 'µs',
    peer: job.peer.name,
    peerValue: microseconds(job.peer.name),
  };
  return againstPeer(figure, job.atMost);
}
