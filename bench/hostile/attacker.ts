// An ordinary user who may edit one namespace, and means no good: asks, and does not read.
// Guarantees: every connection that was opened is closed by leave().
import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import type { Place, ServerProcess } from '../apiserver/testbed.js';
import { post, put, Wire } from '../apiserver/wire.js';

export const MAPS = '/api/v1/namespaces/default/configmaps';

export class Attacker {
  readonly #place: Place;
  readonly #server: ServerProcess;

  readonly #unread: TLSSocket[] = [];

  private constructor(place: Place, server: ServerProcess) {
    this.#place = place;
    this.#server = server;
  }

  static async enter(place: Place, server: ServerProcess): Promise<Attacker> {
    const admin = await Wire.open(place, server);
    const body = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'editor' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: place.user.name }],
    };
    const path = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings';
    const { status } = await admin.ask(post(path, Buffer.from(JSON.stringify(body))));
    if (status !== 201) throw new Error(`the role binding was answered with ${status}`);
    admin.close();
    return new Attacker(place, server);
  }

  /** Makes or replaces ConfigMaps, four at a time. Throws when one is refused: nothing would have been measured. */
  async write(verb: 'create' | 'update', names: readonly string[], text: string): Promise<void> {
    const waiting = names.values();
    const work = async (wire: Wire) => {
      for (const name of waiting) {
        const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { text } };
        const body = Buffer.from(JSON.stringify(object));
        const request = verb === 'create' ? post(MAPS, body) : put(`${MAPS}/${name}`, body);
        const { status } = await wire.ask(request);
        if (status >= 300) throw new Error(`${verb} of ${name} was answered with ${status}`);
      }
    };
    // Not kept: the server closes what is idle between two attacks.
    const open = () => Wire.open({ tls: this.#place.user }, this.#server);
    const wires = await Promise.all(Array.from({ length: 4 }, open));
    await Promise.all(wires.map(work));
    for (const wire of wires) wire.close();
  }

  /** Asks on a connection of its own, and reads nothing of the answer. */
  async ask(path: string, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    await this.send(Buffer.from(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${lines.join('')}\r\n`));
  }

  /** Sends this on a connection of its own, and reads nothing. */
  async send(bytes: Buffer): Promise<void> {
    const { ca, cert, key } = this.#place.user;
    const socket = connect({ host: '127.0.0.1', port: this.#server.port, ca, cert, key });
    socket.on('error', () => {});
    this.#unread.push(socket);
    await once(socket, 'secureConnect');
    socket.pause();
    socket.write(bytes);
  }

  /** Closes what was not read. */
  leave(): void {
    for (const socket of this.#unread.splice(0)) socket.destroy();
  }
}
