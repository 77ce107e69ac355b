// A thousand watchers over TLS, killed at random and resumed from the last revision they saw, while objects change.
// Guarantees: each watcher's whole history, over all its connections, is the history that the writers made.
// TRELLIS_WATCH_CHANGES=N runs it longer.
import https from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type ApiServerCommand,
  type Asked,
  ask as askServer,
  startApiServerCommand,
} from '../../support/apiServerCommand.js';

const WATCHERS = 1000;
const CHANGES = Number(process.env['TRELLIS_WATCH_CHANGES'] ?? 320);
const KILLS_A_CHANGE = 1;
const WRITERS = 8;
const PATH = '/api/v1/namespaces/default/configmaps';
/** What a watcher asks for, and which of the states of an object it is to see. */
const SELECTIONS = [
  { query: '', matches: () => true },
  { query: '&labelSelector=parity%3Dodd', matches: ({ turn }: State) => turn % 2 === 1 },
  { query: '&fieldSelector=metadata.name%3Do3', matches: ({ name }: State) => name === 'o3' },
  { query: '&allowWatchBookmarks=true', matches: () => true },
] as const;

interface State {
  readonly name: string;
  readonly turn: number;
}

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

interface Seen {
  readonly type: EventType;
  readonly name: string;
  readonly turn: number;
  readonly revision: number;
}

/** What one object's life looks like through a selection: `ADDED o3 1`, in order. */
function lifeOf(name: string, turns: number, matches: (state: State) => boolean): string[] {
  const life: string[] = [];
  for (let turn = 0; turn <= turns; turn += 1) {
    const before = turn > 0 && matches({ name, turn: turn - 1 });
    // The last step deletes the object; the event shows what it was.
    const after = turn < turns && matches({ name, turn });
    if (before) life.push(after ? `MODIFIED ${name} ${turn}` : `DELETED ${name} ${turn - 1}`);
    else if (after) life.push(`ADDED ${name} ${turn}`);
  }
  return life;
}

class Follower {
  readonly #api: ApiServerCommand;
  #last: number;

  readonly seen: Seen[] = [];
  readonly faults: string[] = [];
  resumes = 0;
  #request: ReturnType<typeof https.get> | undefined;
  #closed = false;

  constructor(
    api: ApiServerCommand,
    readonly selection: (typeof SELECTIONS)[number],
    last: number,
  ) {
    this.#api = api;
    this.#last = last;
  }

  /** Resolves when the server has begun to answer. */
  open(): Promise<void> {
    const { ca, cert, key } = this.#api.admin;
    const path = `${PATH}?watch=true&resourceVersion=${this.#last}${this.selection.query}`;
    const server = { host: '127.0.0.1', port: this.#api.port, agent: false as const, ca, cert, key };
    return new Promise((begun) => {
      const request = https.get({ ...server, path }, (response) => {
        begun();
        let rest = '';
        if (response.statusCode !== 200) this.faults.push(`answered ${response.statusCode}`);
        response.setEncoding('utf8').on('data', (text: string) => {
          // What comes after the kill was never seen by the client that is resumed.
          if (this.#request !== request) return;
          const lines = (rest + text).split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines) this.#take(line);
        });
        response.on('error', () => {}).on('close', () => this.#again(request));
      });
      request.on('error', () => {}).on('close', () => this.#again(request));
      this.#request = request;
    });
  }

  kill(): void {
    const request = this.#request;
    this.#request = undefined;
    request?.destroy();
    this.resumes += 1;
    void this.open();
  }

  close(): void {
    this.#closed = true;
    this.#request?.destroy();
  }

  /** The server may end a watch at any time; the client goes on from where it was. */
  #again(ended: unknown): void {
    if (this.#closed || this.#request !== ended) return;
    this.#request = undefined;
    setTimeout(() => this.#closed || void this.open(), 50);
  }

  #take(line: string): void {
    const { type, object } = JSON.parse(line);
    const revision = Number(object.metadata?.resourceVersion);
    if (type === 'BOOKMARK') {
      if (revision < this.#last) this.faults.push(`bookmark ${revision} after ${this.#last}`);
    } else if (!(revision > this.#last)) this.faults.push(`${line.slice(0, 80)} after ${this.#last}`);
    else this.seen.push({ type, name: object.metadata.name, turn: Number(object.data.turn), revision });
    this.#last = revision;
  }
}

describe('a thousand watchers', () => {
  let api: ApiServerCommand;
  let followers: readonly Follower[] = [];
  beforeAll(async () => {
    api = await startApiServerCommand();
  });
  afterAll(async () => {
    for (const follower of followers) follower.close();
    await api?.close();
  });

  async function ask(...asked: Asked) {
    const { code, text } = await askServer(api, ...asked);
    expect(code, text).toBeLessThan(300);
    return JSON.parse(text);
  }

  test('killed and resumed at random miss nothing, and see nothing twice or out of order', {
    timeout: 300_000 + CHANGES * 500,
  }, async () => {
    const start = Number((await ask('GET', PATH)).metadata.resourceVersion);
    followers = Array.from(
      { length: WATCHERS },
      (_, index) => new Follower(api, SELECTIONS[index % SELECTIONS.length] as Follower['selection'], start),
    );
    await Promise.all(followers.map((follower) => follower.open()));

    const names = Array.from({ length: WRITERS }, (_, index) => `o${index}`);
    const turns = CHANGES / WRITERS - 1;
    const killSome = () => {
      for (let count = 0; count < KILLS_A_CHANGE; count += 1)
        followers[Math.floor(Math.random() * followers.length)]?.kill();
    };
    await Promise.all(
      names.map(async (name) => {
        for (let turn = 0; turn <= turns; turn += 1) {
          const labels = { parity: turn % 2 === 1 ? 'odd' : 'even' };
          const body = { metadata: { name, labels }, data: { turn: String(turn) } };
          if (turn === 0) await ask('POST', PATH, body);
          else if (turn === turns) await ask('DELETE', `${PATH}/${name}`);
          else await ask('PUT', `${PATH}/${name}`, body);
          killSome();
        }
      }),
    );

    const lives = new Map(
      SELECTIONS.map(({ query, matches }) => [query, names.map((name) => lifeOf(name, turns, matches))]),
    );
    const missing = () =>
      followers.reduce(
        (sum, { seen, selection }) =>
          sum + Math.max(0, (lives.get(selection.query)?.flat().length ?? 0) - seen.length),
        0,
      );
    await expect.poll(missing, { timeout: 200_000, interval: 250 }).toBe(0);

    expect(followers.flatMap(({ faults }) => faults)).toEqual([]);
    // Within a watcher revisions only rise, so equal lives of every object are equal histories.
    for (const { seen, selection } of followers) {
      const told = names.map((name) =>
        seen.filter((one) => one.name === name).map(({ type, turn }) => `${type} ${name} ${turn}`),
      );
      expect(told).toEqual(lives.get(selection.query));
    }
    const revisions = new Set(followers.flatMap(({ seen }) => seen.map(({ revision }) => revision)));
    expect(revisions.size).toBe(CHANGES);
    expect(followers.reduce((sum, { resumes }) => sum + resumes, 0)).toBe(CHANGES * KILLS_A_CHANGE);
    expect(api.isAlive()).toBe(true);
  });
});
