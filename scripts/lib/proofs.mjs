// The long proofs, one row each, and the command line that chooses among them. Pure.
// Guarantees: every variable that makes a test longer is in a row, and every row names tests that read its variables
// (test/unit/scripts/lib/proofs.test.ts compares them with the tests).

/**
 * `env` is what makes the tests long; a value that is set already stays. `project` and `tests` name what is run, and
 * `only` the part of a test's name, where the rest of its file has no long form. With a `machine` it runs in that virtual
 * machine, whatever its project; tests of project vm run in the one that starts fastest.
 */
export const PROOFS = [
  {
    name: 'store',
    what: 'kill -9 of a store under a storm of writes, 50 times',
    env: { TRELLIS_KILL_ROUNDS: '50' },
    project: 'runtime',
    tests: ['store/kill'],
  },
  {
    name: 'requests',
    what: "100,000 hostile requests to the apiserver's HTTP surface",
    env: { TRELLIS_FUZZ_REQUESTS: '100000' },
    project: 'runtime',
    tests: ['apiserver/fuzz'],
  },
  {
    name: 'watches',
    what: 'a thousand watchers, killed and resumed over 5,000 changes',
    env: { TRELLIS_WATCH_CHANGES: '5000' },
    project: 'runtime',
    tests: ['apiserver/watchStorm'],
  },
  {
    name: 'scheduler',
    what: '20,000 decisions of the scheduler beside its reference',
    env: { TRELLIS_SCHEDULER_COMPARISONS: '20000' },
    project: 'unit',
    tests: ['scheduler/comparison'],
  },
  {
    name: 'expressions',
    what: '300,000 random expressions, schemas and objects',
    env: { TRELLIS_CEL_ROUNDS: '300000' },
    project: 'unit',
    tests: ['cel/fuzz'],
  },
  {
    name: 'definitions',
    what: 'a server of 1,000 definitions killed 5 times while 200 clients write and the definitions change',
    env: { TRELLIS_DEFINITIONS: '1000' },
    project: 'runtime',
    tests: ['apiserver/definitionsKilled'],
  },
  {
    name: 'controllers',
    what: 'controllers with 5,000 nodes and 30,000 pods, killed in the middle',
    env: { TRELLIS_LARGE: '1' },
    project: 'runtime',
    tests: ['controllers/crash'],
  },
  {
    name: 'kubelet',
    what: '50 pods over kill -9, 110 pods, 500 cycles, pressure',
    env: { TRELLIS_PROOF: 'long' },
    project: 'runtime',
    tests: ['kubelet/proof', 'kubelet/pressure'],
  },
  {
    name: 'chaos-node',
    what: 'one node on which sandboxes, containers, shims, the runtime and the agent are killed at random, 150 times',
    env: { TRELLIS_CHAOS_ROUNDS: '150' },
    project: 'runtime',
    tests: ['kubelet/chaos'],
  },
  {
    name: 'proxy',
    what: '10,000 random changes in each proxy mode, every fault for legacy iptables, its lock held for 30 s',
    env: { TRELLIS_PROOF: 'long' },
    project: 'kernel',
    tests: ['proxy/model', 'proxy/faults'],
  },
  {
    name: 'ipvs',
    what: 'the same for IPVS in the virtual machine, and every way to configure it',
    env: { TRELLIS_PROOF: 'long' },
    project: 'vm',
    tests: ['proxy/ipvs', 'proxy/truth'],
  },
  {
    name: 'policy',
    what: 'network policies of 100 random worlds, met by packets of every pair of addresses',
    env: { TRELLIS_POLICY_ROUNDS: '100' },
    project: 'kernel',
    tests: ['network/policy'],
  },
  {
    name: 'policy-updates',
    what: '1,000 changes of network policies under a connection that stays allowed',
    env: { TRELLIS_POLICY_UPDATES: '1000' },
    project: 'kernel',
    tests: ['network/policyEnforcer'],
  },
  {
    name: 'policy-plan',
    what: '10,000 random changes of network policies, each plan equal to a fresh one',
    env: { TRELLIS_POLICY_CHANGES: '10000' },
    project: 'unit',
    tests: ['network/policy/planner'],
  },
  {
    name: 'policy-kills',
    what: 'the agent killed 30 times under connections that policies allow and forbid',
    env: { TRELLIS_POLICY_KILLS: '30' },
    project: 'e2e',
    tests: ['networkPolicy'],
  },
  {
    name: 'policy-ipvs',
    what: 'network policies of pods behind Services, and the chapter on network policies, in the IPVS mode in the virtual machine',
    env: { TRELLIS_POLICY_MODE: 'ipvs' },
    project: 'kernel',
    machine: 'qemu',
    tests: ['network/policyServices', 'network/policyChapter'],
  },
  {
    name: 'chaos',
    what: 'rules and addresses spoiled at random, 60 times in each mode of the kernel: the truth table holds again',
    env: { TRELLIS_CHAOS_ROUNDS: '60' },
    project: 'kernel',
    tests: ['proxy/chaos'],
  },
  {
    name: 'chaos-ipvs',
    what: 'the same for IPVS in the virtual machine',
    env: { TRELLIS_CHAOS_ROUNDS: '60' },
    project: 'vm',
    tests: ['proxy/chaos'],
  },
  {
    name: 'modes',
    what: 'clusters of three nodes, and the chapter on network policies, in every proxy mode',
    env: { TRELLIS_PROOF: 'long' },
    project: 'e2e',
    tests: ['nodes', 'walkThrough', 'networkPolicy'],
  },
  {
    name: 'load',
    what: 'three nodes: a Service of 300 pods asked for 600 s while it is updated and scaled',
    env: { TRELLIS_LOAD_SECONDS: '600', TRELLIS_LOAD_PODS: '100' },
    project: 'e2e',
    tests: ['nodes'],
    only: 'answer every request while',
  },
  {
    name: 'soak',
    what: 'three nodes: start, use, end, and nothing left, 20 times',
    env: { TRELLIS_SOAK_ROUNDS: '20' },
    project: 'e2e',
    tests: ['nodes'],
    only: 'leave nothing in round',
  },
  {
    name: 'churn',
    what: 'one node for an hour under churn: memory and everything made end where they began',
    env: { TRELLIS_SOAK_MINUTES: '60' },
    project: 'e2e',
    tests: ['soak'],
  },
];

const settings = (env) => Object.entries(env).map(([name, value]) => `${name}=${value}`);

/** What vitest is called with for a proof; `environment` is that of this process, whose values come first. */
export function vitestCall({ project, machine, tests, only, env }, environment) {
  const own = Object.keys(env).flatMap((name) =>
    environment[name] === undefined ? [] : [[name, environment[name]]],
  );
  return {
    projects: [project],
    vitestArgs: [...tests, ...(only === undefined ? [] : ['-t', only])],
    env: { ...env, ...Object.fromEntries(own) },
    ...(machine === undefined ? {} : { machine }),
  };
}

export function longUsage(proofs = PROOFS) {
  const width = Math.max(...proofs.map(({ name }) => name.length));
  const rows = proofs.map(
    ({ name, what, env }) =>
      `  ${name.padEnd(width)}  ${what}\n  ${''.padEnd(width)}  ${settings(env).join(' ')}`,
  );
  return `usage: npm run test:long -- [proof ...]

Runs the named long proofs, without a name all of them, one after the other. All together take hours. A variable that is
set already keeps its value: TRELLIS_SOAK_ROUNDS=2 npm run test:long -- soak

${rows.join('\n')}
`;
}

/** `{ help, refusal, proofs }`; a refusal says what is wrong with the arguments. */
export function parseLongArguments(args, proofs = PROOFS) {
  if (args.some((arg) => arg === '--help' || arg === '-h')) return { help: true };
  const unknown = args.filter((arg) => !proofs.some(({ name }) => name === arg));
  if (unknown.length > 0) return { refusal: `no proof is called ${unknown.join(', ')}` };
  return { proofs: args.length === 0 ? proofs : proofs.filter(({ name }) => args.includes(name)) };
}
