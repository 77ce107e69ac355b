// What the model does with elements of sets.
// Guarantees: the kernel's refusals: overlaps, other data for the same key, too many, no timeouts in a set without.
import { messageOf } from '../../../base/errorMessage.js';
import type { ElementRequest, SetElement } from '../port.js';
import { isType, type Key, overlaps, parseKey } from './keys.js';
import { type ElementState, type SetState, type TableState, targetOf } from './model.js';
import { found, Nonsense, Refusal } from './refusal.js';

const isMaking = (verb: string) => verb === 'add' || verb === 'create';

/** Nonsense that the core would find before it sends anything. */
export function checkElements(request: ElementRequest): Key[] {
  const words: readonly string[] = [...request.type, ...(request.mapType ?? [])];
  const unknown = words.find((word) => !isType(word));
  if (unknown !== undefined) throw new Nonsense(`field 'type' knows no type '${unknown}'`);
  if (request.elements.length === 0) throw new Nonsense('say which elements');
  const isVerdictMap = request.mapType?.[0] === 'verdict';
  return request.elements.map((element) => {
    if (isMaking(request.do)) {
      if ((element.verdict !== undefined) !== isVerdictMap)
        throw new Nonsense('an element has a verdict if, and only if, the mapType is verdict');
      if ((element.data !== undefined) !== (request.mapType !== undefined && !isVerdictMap))
        throw new Nonsense('an element has data if, and only if, there is a mapType other than verdict');
    }
    return asNonsense(() =>
      parseKey(request.type, element.key, request.flags?.includes('interval') ?? false),
    );
  });
}

function asNonsense<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Nonsense(messageOf(error));
  }
}

export function applyElements(
  table: TableState,
  state: SetState,
  request: ElementRequest,
  now: number,
): void {
  const keys = checkElements(request);
  if (request.type.join() !== (state.set.type ?? []).join()) throw new Refusal('EINVAL');
  expire(state, now);
  for (const [index, element] of request.elements.entries()) {
    const key = found(keys[index]);
    if (isMaking(request.do)) make(table, state, { request, element, key, now });
    else if (!state.elements.delete(key.text) && request.do === 'delete') throw new Refusal('ENOENT');
  }
}

function make(
  table: TableState,
  state: SetState,
  what: { request: ElementRequest; element: SetElement; key: Key; now: number },
): void {
  const { request, element, key, now } = what;
  const { set, elements } = state;
  const target = targetOf(element.verdict);
  if (target !== undefined && found(table.chains.get(target)).chain.hook !== undefined)
    throw new Refusal('EOPNOTSUPP');
  if (element.timeoutMs !== undefined && !set.flags?.includes('timeout')) throw new Refusal('EINVAL');
  const data =
    element.data === undefined
      ? undefined
      : asNonsense(() => parseKey(request.mapType ?? [], element.data ?? '', false).text);
  const there = elements.get(key.text);
  if (there !== undefined) {
    const differs = there.element.verdict !== element.verdict || there.element.data !== data;
    if (request.do === 'create' || differs) throw new Refusal('EEXIST');
    return;
  }
  if (set.flags?.includes('interval'))
    for (const other of elements.values()) if (overlaps(other.key, key)) throw new Refusal('EEXIST');
  if (set.size !== undefined && elements.size >= set.size) throw new Refusal('ENFILE');
  const timeoutMs = element.timeoutMs ?? set.timeoutMs;
  elements.set(key.text, {
    key,
    element: { ...element, key: key.text, ...(data === undefined ? {} : { data }) },
    ...(timeoutMs === undefined ? {} : { expiresAt: now + (element.expiresMs ?? timeoutMs) }),
  });
}

/** Takes out what has expired. */
function expire(state: SetState, now: number): void {
  for (const [text, { expiresAt }] of state.elements)
    if (expiresAt !== undefined && expiresAt <= now) state.elements.delete(text);
}

/** As the kernel lists it: with what is left of its timeout; intervals in order. */
export function listElements(state: SetState, now: number): SetElement[] {
  expire(state, now);
  const all: ElementState[] = [...state.elements.values()];
  if (state.set.flags?.includes('interval'))
    all.sort((a, b) => ((a.key.from[0] ?? 0n) < (b.key.from[0] ?? 0n) ? -1 : 1));
  return all.map(({ element, expiresAt }) => {
    const { expiresMs: _, timeoutMs, ...rest } = element;
    const timeout = timeoutMs ?? state.set.timeoutMs;
    return {
      ...rest,
      ...(timeout === undefined ? {} : { timeoutMs: timeout }),
      ...(expiresAt === undefined ? {} : { expiresMs: expiresAt - now }),
    };
  });
}
