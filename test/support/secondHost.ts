// A second host beside a TestCluster: its own network, mounts and processes, on a wire to the cluster's.
// Guarantees: `remove` takes everything away, whatever state the test left it in.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { IsolatedNode } from './isolatedNode.js';
import { makeNetNs, type TestNetNs } from './netns.js';
import { type Answer, answerOf, type TestCluster } from './testCluster.js';

const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

export class SecondHost {
  static readonly address = '192.168.99.2';

  private constructor(
    readonly netns: TestNetNs,
    readonly node: IsolatedNode,
  ) {}

  /** Takes the far end of the cluster's wire. */
  static async beside(cluster: TestCluster): Promise<SecondHost> {
    const netns = await makeNetNs();
    await cluster.netns.run('ip', 'link', 'set', 'far', 'netns', netns.path, 'name', 'eth0');
    for (const words of [
      ['link', 'set', 'lo', 'up'],
      ['link', 'set', 'eth0', 'up'],
      ['address', 'add', `${SecondHost.address}/24`, 'dev', 'eth0'],
      ['route', 'add', 'default', 'via', '192.168.99.254'],
    ])
      await netns.run('ip', ...words);
    return new SecondHost(netns, await IsolatedNode.start(netns));
  }

  get dataDir(): string {
    return path.join(this.node.directory, 'data');
  }

  /** `trellis <command> --data-dir D <more>` on this host; never rejects for its exit code. */
  trellis(command: string, ...more: string[]): Promise<Answer> {
    const words = [MAIN, ...command.split(' '), '--data-dir', this.dataDir, ...more];
    return answerOf('nsenter', this.node.entering(process.execPath, words));
  }

  async remove(): Promise<void> {
    await this.trellis('down', '--purge');
    await this.node.stop();
    await this.netns.remove();
  }
}
