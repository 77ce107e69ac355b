// Compares repeatable work through benny: time of one operation, each contestant in turn, several times.
// Guarantees: benny's own sampling; its report stays off the terminal, ours is the table.
import benny from 'benny';
import { inTurns } from './compare.js';
import { againstPeer, type Figure } from './figure.js';
import { runsOf } from './options.js';

interface SteadyComparison {
  readonly name: string;
  readonly ours: () => Promise<unknown>;
  readonly peer: { readonly name: string; readonly run: () => Promise<unknown> };
  readonly atMost: number;
}

const RUNS = 5;
const SECONDS = 1;

export async function steady({ name, ours, peer, atMost }: SteadyComparison): Promise<Figure> {
  const [samples, peerSamples] = await inTurns(
    runsOf(RUNS),
    () => microseconds(name, ours),
    () => microseconds(name, peer.run),
  );
  return againstPeer({ name, unit: 'µs', samples, peer: peer.name, peerSamples }, atMost);
}

async function microseconds(name: string, run: () => Promise<unknown>): Promise<number> {
  const { results } = await benny.suite(name, benny.add(name, run, { maxTime: SECONDS }));
  const [result] = results;
  if (result === undefined) throw new Error(`benny did not measure ${name}`);
  return result.details.median * 1e6;
}
