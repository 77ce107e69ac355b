// The control plane of `trellis server` in this process, on a loopback port and a folder of the test.
// Guarantees: it answers when `start` resolves; `stop` ends it and removes the folder.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLog } from '../../src/api/log.js';
import type { Client } from '../../src/client/client.js';
import { openHttps } from '../../src/client/httpTransport.js';
import { openClient } from '../../src/client/typedClient.js';
import { makePrivateDir } from '../../src/cluster/files.js';
import { type Layout, layoutOf } from '../../src/cluster/layout.js';
import { ensurePki, type Pki } from '../../src/cluster/pki/files.js';
import { runServer } from '../../src/cluster/server.js';
import { defaultSettings, saveSettings, settle } from '../../src/cluster/settings.js';
import { freePort } from './etcd.js';

export class TestControlPlane {
  readonly #end: () => Promise<void>;

  private constructor(
    readonly layout: Layout,
    readonly server: string,
    readonly pki: Pki,
    /** As the administrator. */
    readonly admin: Client,
    end: () => Promise<void>,
  ) {
    this.#end = end;
  }

  static async start(): Promise<TestControlPlane> {
    const dir = await mkdtemp(path.join(tmpdir(), 'trellis-server-'));
    const layout = layoutOf(dir);
    await makePrivateDir(layout.storeDir);
    const settings = await settle(layout, { securePort: await freePort() }, defaultSettings('server'));
    await saveSettings(layout, settings);
    const pki = await ensurePki({
      dir: layout.pkiDir,
      nodeName: 'server',
      now: Date.now(),
      apiserverHosts: ['127.0.0.1', '127.0.0.9'],
      nodeHosts: ['127.0.0.1'],
    });
    const server = `https://127.0.0.1:${settings.securePort}`;
    const { cert, key } = pki.admin;
    const admin = openClient(openHttps({ server, ca: pki.ca.cert, cert, key }));
    const ending = new AbortController();
    let running: Promise<void> = Promise.resolve();
    await new Promise<void>((resolve, reject) => {
      running = runServer({
        layout,
        settings,
        nodeIps: ['127.0.0.1'] as const,
        log: silentLog,
        signal: ending.signal,
        sink: ({ type }) => (type === 'ready' ? resolve() : undefined),
      });
      running.catch(reject);
    });
    return new TestControlPlane(layout, server, pki, admin, async () => {
      admin.close();
      ending.abort();
      await running;
      await rm(dir, { recursive: true, force: true });
    });
  }

  /** As the holder of a token, or as nobody. */
  as(token?: string): Client {
    const { server, pki } = this;
    return openClient(openHttps({ server, ca: pki.ca.cert, ...(token === undefined ? {} : { token }) }));
  }

  stop(): Promise<void> {
    return this.#end();
  }
}
