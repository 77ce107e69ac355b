// A machine of its own with containerd and etcd, on which parts of stock Kubernetes and of Trellis run side by side.
// Guarantees: both are started with the same flags and files; stop() leaves no process, namespace, mount or file.

import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { PemPair } from '../../src/api/certificates/keyPair.js';
import { kubeconfigText } from '../../src/cluster/kubeconfig.js';
import { issue, makeAuthority } from '../../src/cluster/pki/authority.js';
import { CriNode } from '../support/criNode.js';
import { until } from '../support/until.js';

export type Maker = 'stock' | 'trellis';
export type Part = 'apiserver' | 'controller-manager' | 'scheduler' | 'kubelet' | 'proxy';
/** What the machine runs beside the parts of a cluster. */
type Helper = 'etcd' | 'load' | 'network-policy';

export const NODE = 'node-1';
const ADDRESS = '192.168.78.1';
const SERVER = 'https://127.0.0.1:6443';
const MAIN = path.resolve('dist/src/cli/main.js');
const STOCK = process.env['TRELLIS_STOCK'] ?? '';
/** Has no rights of its own: the test gives it those that the command's help names. */
export const POLICY_USER = 'network-policy';
/** Whom each part is to the server. */
const USERS: Readonly<Record<string, { commonName: string; organizations?: readonly string[] }>> = {
  admin: { commonName: 'admin', organizations: ['system:masters'] },
  'controller-manager': { commonName: 'system:kube-controller-manager' },
  scheduler: { commonName: 'system:kube-scheduler' },
  kubelet: { commonName: `system:node:${NODE}`, organizations: ['system:nodes'] },
  proxy: { commonName: 'system:kube-proxy' },
  'network-policy': { commonName: POLICY_USER },
  'kubelet-client': { commonName: 'kube-apiserver-kubelet-client', organizations: ['system:masters'] },
};

/** How stock Kubernetes calls a part. */
const programOf = (part: Part) => (part === 'kubelet' ? 'kubelet' : `kube-${part}`);

export class StockMachine {
  readonly #outputs = new Map<Part | Helper, () => string>();

  private constructor(readonly cri: CriNode) {}

  static async start(): Promise<StockMachine> {
    const machine = new StockMachine(await CriNode.start());
    try {
      await machine.#prepare();
    } catch (error) {
      await machine.stop();
      throw error;
    }
    return machine;
  }

  at(name: string): string {
    return path.join(this.cri.node.directory, name);
  }

  run(file: string, ...args: string[]): Promise<string> {
    return this.cri.node.run(file, ...args);
  }

  /** Stock kubectl of the same release, as an administrator. */
  kubectl(...args: string[]): Promise<string> {
    return this.run(path.join(STOCK, 'kubectl'), '--kubeconfig', this.at('admin.kubeconfig'), ...args);
  }

  async get<T>(...args: string[]): Promise<T> {
    return JSON.parse(await this.kubectl('get', '-o', 'json', ...args)) as T;
  }

  apply(...objects: readonly object[]): Promise<void> {
    return this.applyText(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
  }

  /** A document as people copy it. */
  async applyText(text: string): Promise<void> {
    const file = this.at('objects.yaml');
    writeFileSync(file, text);
    await this.kubectl('apply', '-f', file);
  }

  /** Starts a part of the one or the other; it is told the same in both cases. Of flags given twice the last counts. */
  async startPart(part: Part, maker: Maker, flags: readonly string[] = []): Promise<void> {
    const program = maker === 'stock' ? [path.join(STOCK, programOf(part))] : [process.execPath, MAIN, part];
    const own = part === 'apiserver' && maker === 'trellis' ? ['--data-dir', this.at('data')] : [];
    this.#daemon(part, [...program, ...this.#flags(part), ...own, ...flags]);
    if (part !== 'apiserver') return;
    await until(() => this.kubectl('get', '--raw', '/readyz'));
  }

  /** Our policy engine alone, as the administrator of another cluster starts it. */
  startPolicyEngine(): void {
    const own = [`--kubeconfig=${this.at('network-policy.kubeconfig')}`, `--hostname-override=${NODE}`];
    this.#daemon('network-policy', [process.execPath, MAIN, 'network-policy', ...own]);
  }

  /** `trellis` on this machine. */
  trellis(...words: readonly string[]): Promise<string> {
    return this.run(process.execPath, MAIN, ...words);
  }

  /** As an administrator ends it: TERM, and its end is waited for. */
  async endPart(part: Part | 'load' | 'network-policy', signal = 'TERM'): Promise<void> {
    const pid = readFileSync(this.at(`${part}.pid`), 'utf8').trim();
    await this.run('kill', `-${signal}`, pid);
    await until(async () => {
      if (
        await this.run('kill', '-0', pid).then(
          () => true,
          () => false,
        )
      )
        throw new Error(`${part} still runs`);
    });
  }

  /** Meanwhile an address is asked all the time, and who is greeted is counted; see `answers`. */
  async underLoad(address: string, work: () => Promise<void>): Promise<void> {
    const script = `
      const fs = require('node:fs'); const net = require('node:net');
      const [, host, file] = process.argv; const seen = { answered: 0, failed: [] };
      const ask = () => {
        let text = '';
        const socket = net.connect({ host, port: 80, timeout: 5000 });
        socket.on('data', (chunk) => { text += chunk; });
        socket.on('timeout', () => socket.destroy(new Error('no answer')));
        socket.on('error', (error) => { text = ''; seen.failed.push(String(error)); });
        socket.on('close', () => {
          if (text.includes('hello')) seen.answered += 1;
          fs.writeFileSync(file + '.new', JSON.stringify(seen));
          fs.renameSync(file + '.new', file);
          setTimeout(ask, 50);
        });
      };
      ask();`;
    rmSync(this.at('load.json'), { force: true });
    this.#daemon('load', [process.execPath, '-e', script, address, this.at('load.json')]);
    try {
      await work();
    } finally {
      await this.endPart('load');
    }
  }

  answers(): { readonly answered: number; readonly failed: readonly string[] } {
    return JSON.parse(readFileSync(this.at('load.json'), 'utf8'));
  }

  /** The end of what a part wrote, for whoever looks into a failure. */
  output(part: Part | Helper): string {
    return (this.#outputs.get(part)?.() ?? '').split('\n').slice(-30).join('\n');
  }

  async stop(): Promise<void> {
    await this.cri.stop();
  }

  async #prepare(): Promise<void> {
    const { node } = this.cri;
    // The server may not advertise loopback, and a service address needs a route to be looked for.
    await node.run('ip', 'link', 'add', 'up0', 'type', 'bridge');
    await node.run('ip', 'address', 'add', `${ADDRESS}/24`, 'dev', 'up0');
    await node.run('ip', 'link', 'set', 'up0', 'up');
    await node.run('ip', 'route', 'add', 'default', 'via', '192.168.78.2');
    for (const hierarchy of readdirSync('/sys/fs/cgroup'))
      if (existsSync(`/sys/fs/cgroup/${hierarchy}/cgroup.procs`))
        mkdirSync(`/sys/fs/cgroup/${hierarchy}${node.cgroupParent}`, { recursive: true });
    await this.#writeFiles();
    const urls = 'http://127.0.0.1:2379';
    this.#daemon('etcd', [
      'etcd',
      '--data-dir',
      this.at('etcd'),
      '--listen-client-urls',
      urls,
      '--advertise-client-urls',
      urls,
    ]);
  }

  async #writeFiles(): Promise<void> {
    const now = Date.now();
    const ca = await makeAuthority('kubernetes', now);
    const write = (name: string, text: string) => writeFileSync(this.at(name), text, { mode: 0o600 });
    const both = (name: string, { cert, key }: PemPair) => {
      write(`${name}.crt`, cert);
      write(`${name}.key`, key);
    };
    both('ca', ca);
    const hosts = ['127.0.0.1', 'localhost', 'kubernetes', 'kubernetes.default.svc', ADDRESS, '10.96.0.1'];
    both('apiserver', await issue(ca, { commonName: 'kube-apiserver', hosts }, now));
    for (const [name, user] of Object.entries(USERS)) {
      const client = await issue(ca, user, now);
      both(name, client);
      write(`${name}.kubeconfig`, kubeconfigText({ server: SERVER, ca: ca.cert, client, user: name }));
    }
    const account = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    write('sa.key', account.privateKey);
    write('sa.pub', account.publicKey);
    write('kubelet.json', JSON.stringify(this.#kubeletConfiguration()));
  }

  #kubeletConfiguration(): object {
    return {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      authentication: { anonymous: { enabled: false }, x509: { clientCAFile: this.at('ca.crt') } },
      authorization: { mode: 'AlwaysAllow' },
      cgroupDriver: 'cgroupfs',
      cgroupRoot: this.cri.node.cgroupParent,
      clusterDNS: ['10.96.0.10'],
      clusterDomain: 'cluster.local',
      containerRuntimeEndpoint: `unix://${this.at('containerd.sock')}`,
      failCgroupV1: false,
      failSwapOn: false,
      makeIPTablesUtilChains: false,
      enableContentionProfiling: false,
      // A small machine's disk is nobody's reason to evict here.
      evictionHard: { 'nodefs.available': '1%', 'imagefs.available': '1%' },
      imageGCHighThresholdPercent: 100,
      imageGCLowThresholdPercent: 99,
      podLogsDir: this.at('logs'),
    };
  }

  #flags(part: Part): readonly string[] {
    const file = (name: string) => this.at(name);
    const kubeconfig = `--kubeconfig=${file(`${part}.kubeconfig`)}`;
    switch (part) {
      case 'apiserver':
        return [
          '--etcd-servers=http://127.0.0.1:2379',
          '--secure-port=6443',
          '--bind-address=0.0.0.0',
          `--advertise-address=${ADDRESS}`,
          `--client-ca-file=${file('ca.crt')}`,
          '--allow-privileged=true',
          `--tls-cert-file=${file('apiserver.crt')}`,
          `--tls-private-key-file=${file('apiserver.key')}`,
          '--authorization-mode=Node,RBAC',
          '--enable-bootstrap-token-auth=true',
          '--v=2',
          '--service-account-issuer=https://kubernetes.default.svc',
          '--service-cluster-ip-range=10.96.0.0/16',
          `--service-account-key-file=${file('sa.pub')}`,
          `--service-account-signing-key-file=${file('sa.key')}`,
          `--kubelet-client-certificate=${file('kubelet-client.crt')}`,
          `--kubelet-client-key=${file('kubelet-client.key')}`,
          '--kubelet-preferred-address-types=InternalIP,Hostname',
        ];
      case 'controller-manager':
        return [
          kubeconfig,
          '--cluster-cidr=10.77.0.0/16',
          '--allocate-node-cidrs=true',
          '--leader-elect=true',
          '--v=2',
          `--root-ca-file=${file('ca.crt')}`,
          `--service-account-private-key-file=${file('sa.key')}`,
          '--service-cluster-ip-range=10.96.0.0/16',
          '--bind-address=127.0.0.1',
          '--use-service-account-credentials=true',
        ];
      case 'scheduler':
        return [kubeconfig, '--leader-elect=true', '--bind-address=127.0.0.1', '--v=2'];
      case 'kubelet':
        return [
          kubeconfig,
          `--config=${file('kubelet.json')}`,
          `--root-dir=${file('kubelet')}`,
          '--v=2',
          `--cert-dir=${file('pki')}`,
          `--hostname-override=${NODE}`,
          `--node-ip=${ADDRESS}`,
        ];
      case 'proxy':
        return [
          kubeconfig,
          '--proxy-mode=nftables',
          '--cluster-cidr=10.77.0.0/16',
          `--hostname-override=${NODE}`,
          '--v=2',
          // A container may not change what the whole machine shares.
          '--conntrack-max-per-core=0',
          '--conntrack-tcp-timeout-established=0',
          '--conntrack-tcp-timeout-close-wait=0',
        ];
    }
  }

  #daemon(name: Part | Helper, command: readonly string[]): void {
    const script = `echo $$ > ${this.at(`${name}.pid`)}; exec "$@"`;
    const { output } = this.cri.node.startDaemon('sh', '-c', script, 'sh', ...command);
    this.#outputs.set(name, output);
  }
}
