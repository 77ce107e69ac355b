// Checks the virtual machine itself: that its kernel and file systems are what the IPVS tests rely on.
// Guarantees: what a test makes, it removes; outside a machine with IPVS everything here is skipped, under CI it fails.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { detectBackend } from '../../src/kernel/iptables/adapter.js';
import { describeWith } from '../support/requires.js';

const machine = process.env['TRELLIS_VM'];
const netns = 'trellis-machine';

function run(command: string, input = ''): string {
  const [program = '', ...args] = command.split(' ');
  return execFileSync(program, args, { encoding: 'utf8', input });
}

function inside(command: string, input = ''): string {
  return run(`ip netns exec ${netns} ${command}`, input);
}

function firstAnswer(port: number, address: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, address).setEncoding('utf8').on('error', reject);
    socket.once('data', (data) => resolve(String(data)));
  });
}

describeWith({ root: true, tools: ['ip', 'ipvsadm'], features: ['ip-vs'] }, `the ${machine} machine`, () => {
  beforeAll(() => {
    run(`ip netns add ${netns}`);
    // Without a routing table, which the first address makes, IPVS takes no destination for unicast.
    inside('ip link set lo up');
  });
  afterAll(() => void run(`ip netns delete ${netns}`));

  test('leads iptables to the back end that its kernel has', async () => {
    expect(await detectBackend(`/run/netns/${netns}`)).toBe(machine === 'uml' ? 'legacy' : 'nft');
  });

  test('has IPVS with its schedulers loaded', () => {
    expect(readFileSync('/proc/net/ip_vs', 'utf8')).toContain('IP Virtual Server');
    const modules = readFileSync('/proc/modules', 'utf8');
    for (const scheduler of ['rr', 'wrr', 'lc', 'wlc', 'sh', 'dh', 'mh', 'sed', 'nq']) {
      expect(modules).toMatch(new RegExp(`^ip_vs_${scheduler} `, 'm'));
    }
  });

  test('adds and lists IPVS services and destinations', () => {
    const service = '-A -t 10.96.0.10:53 -s rr';
    const destinations = ['10.244.0.2:53', '10.244.0.3:53'];
    const rules = [service, ...destinations.map((to) => `-a -t 10.96.0.10:53 -r ${to} -m`)];
    inside('ipvsadm -R', `${rules.join('\n')}\n`);
    const listed = inside('ipvsadm -Sn');
    expect(listed).toContain(service);
    for (const to of destinations) expect(listed).toContain(`-a -t 10.96.0.10:53 -r ${to} -m -w 1`);
  });

  test('keeps IPVS apart by network namespace', () => {
    expect(run('ipvsadm -Sn')).toBe('');
  });

  test('has dummy, veth, bridge and vxlan links', () => {
    inside('ip link add kube-ipvs0 type dummy');
    inside('ip link add veth-a type veth peer name veth-b');
    inside('ip link add br0 type bridge');
    inside('ip link add vx0 type vxlan id 1 dstport 8472 dev veth-a');
    expect(inside('ip -o link')).toMatch(/kube-ipvs0.*br0.*vx0/s);
  });

  test('has ipset, and iptables that match on a set', () => {
    inside('ipset create services hash:ip,port');
    inside('ipset add services 10.96.0.10,udp:53');
    expect(inside('ipset list services')).toContain('10.96.0.10,udp:53');
    inside('iptables-legacy -t nat -A POSTROUTING -m set --match-set services dst,dst -j MASQUERADE');
    expect(inside('iptables-legacy-save -t nat')).toContain('--match-set services dst,dst -j MASQUERADE');
  });

  test('has nf_tables', () => {
    inside(
      'nft -f -',
      'add table bridge t\nadd set bridge t s { type ipv4_addr; }\nadd element bridge t s { 10.0.0.1 }\n',
    );
    expect(inside('nft list ruleset')).toContain('10.0.0.1');
  });

  // Debian builds user-mode Linux without the ip, ip6 and inet families of nf_tables.
  const families = machine === 'uml' ? [] : ['ip'];
  test.each(families)('translates addresses with nf_tables, family %s', (family) => {
    inside(
      'nft -f -',
      `add table ${family} n\nadd chain ${family} n c { type nat hook prerouting priority 0; }\nadd rule ${family} n c dnat to 10.0.0.1\n`,
    );
    expect(inside(`nft list chain ${family} n c`)).toContain('dnat to 10.0.0.1');
  });

  test('balances a connection to a real server', async () => {
    const server = createServer((socket) => socket.end('served')).listen(18080, '127.0.0.1');
    run('ip address add 10.96.0.1/32 dev lo');
    run('ipvsadm -A -t 10.96.0.1:80 -s rr');
    run('ipvsadm -a -t 10.96.0.1:80 -r 127.0.0.1:18080 -m');
    try {
      expect(await firstAnswer(80, '10.96.0.1')).toBe('served');
    } finally {
      run('ipvsadm -C');
      run('ip address delete 10.96.0.1/32 dev lo');
      server.close();
    }
  });

  test('lets every directory be written', () => {
    const results = process.env['TRELLIS_VM_OUT'] ?? '';
    for (const directory of ['/tmp', '/run', '/var/tmp', process.cwd(), results]) {
      const file = `${directory}/trellis-vm-written`;
      writeFileSync(file, 'yes');
      expect(existsSync(file)).toBe(true);
      rmSync(file);
    }
  });
});
