// The chapter's examples as a table: what is put in force, and who then reaches whom. One walker for every place that has
// the pods of the chapter: a cluster, a stock kubelet's machine, namespaces in a virtual machine.
// Guarantees: the examples go in word for word; an answer that must be no is asked for after one that shows the change is in.
import { expect } from 'vitest';
import { eventually } from '../testCluster.js';
import { ALLOW_EGRESS, ALLOW_INGRESS, DENY_BOTH, DENY_EGRESS, DENY_INGRESS, WHOLE } from './chapter.js';

/** By namespace, role and whether it runs on the database's node, where there is another. */
export const CHAPTER_PODS = {
  db: { namespace: 'default', isNear: true },
  other: { namespace: 'default', isNear: true },
  frontend: { namespace: 'default', isNear: false },
  guest: { namespace: 'mine', isNear: false },
  /** Comes in the middle of the chapter. */
  late: { namespace: 'default', isNear: true },
} as const;
export type ChapterPod = keyof typeof CHAPTER_PODS;
/** Those that are there from the start. */
export const FIRST_PODS = ['db', 'other', 'frontend', 'guest'] as const satisfies readonly ChapterPod[];
export const roleOf = (pod: ChapterPod) => (CHAPTER_PODS[pod].namespace === 'mine' ? 'other' : pod);
export const MINE = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'mine', labels: { project: 'myproject' } },
};
/** In front of the database. */
export const DATABASE = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'database', namespace: 'default' },
  spec: {
    selector: { role: 'db' },
    ports: [
      { name: 'page', port: 80, targetPort: 8080 },
      { name: 'store', port: 6379, targetPort: 6379 },
    ],
  },
};
/** Machines outside of the cluster, as the complete example knows them. */
export const OUTSIDE = { taken: '172.17.0.5', excepted: '172.17.1.5', target: '10.0.0.7' } as const;

export type ChapterAsker = ChapterPod | 'taken' | 'excepted' | 'node';
export type ChapterGoal = ChapterPod | 'target' | 'service';

export interface ChapterQuestion {
  readonly from: ChapterAsker;
  readonly to: ChapterGoal;
  readonly port: number;
}

interface Expected extends ChapterQuestion {
  /** In the userspace mode the node of the client asks in its place. */
  readonly isReached: (mode: string) => boolean;
  /** The kernel's own trace is asked too, where there is one. */
  readonly isTraced: boolean;
}

interface Step {
  readonly put?: string;
  readonly clear?: true;
  readonly start?: 'late';
  readonly label?: { readonly pod: ChapterPod; readonly role: string };
  /** The first shows that the change is in force; the others are asked at once after it. */
  readonly asked: readonly Expected[];
}

interface ChapterPage {
  readonly name: string;
  readonly steps: readonly Step[];
}

/** "frontend db:6379". */
function asks(text: string, reached: boolean | ((mode: string) => boolean), isTraced = false): Expected {
  const [, from = '', to = '', port = ''] = /^(\w+) (\w+):(\d+)$/.exec(text) ?? [];
  const isReached = typeof reached === 'boolean' ? () => reached : reached;
  return { from: from as ChapterAsker, to: to as ChapterGoal, port: Number(port), isReached, isTraced };
}
const yes = (...texts: string[]) => texts.map((text) => asks(text, true));
const no = (...texts: string[]) => texts.map((text) => asks(text, false));
const traced = (text: string, isReached: boolean) => asks(text, isReached, true);
const byTheNode = (mode: string) => mode === 'userspace';
const byThePod = (mode: string) => mode !== 'userspace';

export const CHAPTER: readonly ChapterPage[] = [
  {
    name: 'without one, everybody reaches everybody',
    steps: [
      {
        asked: [
          traced('frontend db:8080', true),
          ...yes('other db:8080', 'guest db:8080', 'taken db:6379', 'excepted db:6379'),
          ...yes('frontend service:80', 'other service:6379', 'db service:80', 'db target:5979'),
        ],
      },
    ],
  },
  {
    name: 'deny all ingress, then allow all ingress',
    steps: [
      {
        put: DENY_INGRESS,
        asked: [
          traced('frontend db:8080', false),
          ...no('guest db:8080', 'taken db:6379'),
          asks('other service:80', byTheNode),
          // The other way is free, and so are the pod itself, also through its Service, and the node with its probes.
          ...yes('db guest:8080', 'db db:8080', 'db service:80', 'node db:8080'),
        ],
      },
      { put: ALLOW_INGRESS, asked: yes('guest db:8080', 'other service:80') },
      { clear: true, asked: yes('frontend db:8080') },
    ],
  },
  {
    name: 'deny all egress, then allow all egress',
    steps: [
      {
        put: DENY_EGRESS,
        asked: [
          traced('other guest:8080', false),
          ...no('other db:8080', 'db target:5978'),
          asks('other service:80', byTheNode),
          ...yes('guest db:8080', 'db service:80'),
        ],
      },
      { put: ALLOW_EGRESS, asked: yes('other guest:8080', 'other service:80', 'db target:5978') },
      { clear: true, asked: yes('other db:8080') },
    ],
  },
  {
    name: 'deny all ingress and all egress, also for a pod that comes later',
    steps: [
      { put: DENY_BOTH, asked: no('guest db:8080', 'db guest:8080') },
      { start: 'late', asked: [...yes('node late:8080'), ...no('guest late:8080', 'late guest:8080')] },
      { clear: true, asked: yes('guest late:8080', 'late guest:8080') },
    ],
  },
  {
    name: 'the complete example opens exactly what it says',
    steps: [
      {
        put: WHOLE,
        asked: [
          ...no('other db:6379'),
          traced('frontend db:6379', true),
          ...yes('guest db:6379', 'taken db:6379'),
          asks('frontend service:6379', byThePod),
          asks('other service:6379', byTheNode),
          ...no('excepted db:6379', 'taken db:8080', 'frontend db:8080', 'db guest:8080', 'db target:5979'),
          traced('guest db:8080', false),
          traced('db target:5978', true),
        ],
      },
      // By its label a pod becomes one that may, and no longer is.
      { label: { pod: 'other', role: 'frontend' }, asked: yes('other db:6379', 'other service:6379') },
      { label: { pod: 'other', role: 'other' }, asked: no('other db:6379') },
    ],
  },
];

/** Where the chapter is walked. */
export interface ChapterPlace {
  readonly mode: string;
  /** A document as people copy it, applied in the namespace default. */
  put(example: string): Promise<void>;
  /** Removes every policy. */
  clear(): Promise<void>;
  /** Resolves when the pod is ready. */
  start(pod: ChapterPod): Promise<void>;
  label(pod: ChapterPod, role: string): Promise<void>;
  /** Whether a connection is made within the place's patience; `isExpected` that it should be. */
  reaches(question: ChapterQuestion, isExpected: boolean): Promise<boolean>;
  /** Asks the kernel's own trace; throws unless it agrees. */
  trace?(question: ChapterQuestion, isExpected: boolean): Promise<void>;
}

export async function walkPage(place: ChapterPlace, { name, steps }: ChapterPage): Promise<void> {
  for (const step of steps) {
    if (step.put !== undefined) await place.put(step.put);
    if (step.clear === true) await place.clear();
    if (step.start !== undefined) await place.start(step.start);
    if (step.label !== undefined) await place.label(step.label.pod, step.label.role);
    await walkQuestions(place, name, step.asked);
  }
}

async function walkQuestions(place: ChapterPlace, page: string, asked: readonly Expected[]): Promise<void> {
  const wanted = asked.map((one) => ({ ...one, expected: one.isReached(place.mode) }));
  const [first] = wanted;
  if (first !== undefined)
    await eventually(
      () => place.reaches(first, first.expected),
      (answer) => answer === first.expected,
    );
  const text = ({ from, to, port }: ChapterQuestion, isReached: boolean) =>
    `${from} ${isReached ? 'reaches' : 'does not reach'} ${to}:${port}`;
  // All at the same time: what is refused is known only after a while.
  const answers = await Promise.all(
    wanted.map(async (one) => text(one, await place.reaches(one, one.expected))),
  );
  expect(answers, page).toEqual(wanted.map((one) => text(one, one.expected)));
  if (place.trace === undefined) return;
  await Promise.all(wanted.filter(({ isTraced }) => isTraced).map((one) => place.trace?.(one, one.expected)));
}
