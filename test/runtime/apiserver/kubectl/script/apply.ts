// Applying manifests, from the client's side and the server's.
import { refused, type Script, step } from '../../../../support/kubectlScript.js';

const WEB = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "web:1", ports: [{containerPort: 80}]}
      - {name: side, image: "side:1"}
`;
const NEWER = WEB.replace('web:1', 'web:2');
const ALONE = NEWER.replace('      - {name: side, image: "side:1"}\n', '');
const CONTAINERS = 'get deploy web -o jsonpath={.spec.template.spec.containers[*].name}';
const CONFIG = `apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data: {a: "1", b: "2"}
`;
const SERVER = 'apply --server-side -f -';

export const applying: readonly Script[] = [
  {
    name: 'client-apply',
    steps: [
      step('apply -f -', 'deployment.apps/web created', { input: WEB }),
      step('apply -f -', 'deployment.apps/web unchanged', { input: WEB }),
      refused('diff -f -', /-\s+- image: web:1\n\+\s+- image: web:2\n/, { input: NEWER }),
      step('diff -f -', '', { input: WEB }),
      step('apply -f - --dry-run=server', 'deployment.apps/web configured (server dry run)', {
        input: NEWER,
      }),
      step('apply -f - --dry-run=client', 'deployment.apps/web configured (dry run)', { input: NEWER }),
      step('apply -f -', 'deployment.apps/web configured', { input: NEWER }),
      step('get deploy web -o jsonpath={.metadata.generation}', '2'),
      step(CONTAINERS, 'web side'),
      step('apply -f -', 'deployment.apps/web configured', { input: ALONE }),
      step(CONTAINERS, 'web'),
      step('scale deploy web --replicas=5', 'deployment.apps/web scaled'),
      step('apply -f -', 'deployment.apps/web configured', { input: ALONE }),
      step('get deploy web -o jsonpath={.spec.replicas}', '2'),
      step('apply view-last-applied deploy web -o json', /"image": "web:2"/),
      step('apply set-last-applied -f -', 'deployment.apps/web configured', { input: ALONE }),
      refused('apply -f -', /spec.selector: Invalid value.*field is immutable/, {
        input: ALONE.replaceAll('app: web', 'app: other'),
      }),
      step('delete -f -', /^deployment.apps "web" deleted/, { input: WEB }),
    ],
  },
  {
    name: 'server-apply',
    steps: [
      step(SERVER, 'configmap/c serverside-applied', { input: CONFIG }),
      step(SERVER, 'configmap/c serverside-applied', { input: CONFIG }),
      step(`patch cm c -p '{"data":{"a":"theirs"}}' --type=merge`, 'configmap/c patched'),
      refused(SERVER, /Apply failed with 1 conflict: conflict with "kubectl-patch"( using v1)?: \.data\.a/, {
        input: CONFIG,
      }),
      step('get cm c -o jsonpath={.data.a}', 'theirs'),
      step(`${SERVER} --force-conflicts`, 'configmap/c serverside-applied', { input: CONFIG }),
      step('get cm c -o jsonpath={.data.a}', '1'),
      step(SERVER, 'configmap/c serverside-applied', { input: CONFIG.replace(', b: "2"', '') }),
      step('get cm c -o jsonpath={.data}', '{"a":"1"}'),
      step(`${SERVER} --field-manager=other`, 'configmap/c serverside-applied', {
        input: CONFIG.replace('a: "1", b', 'b'),
      }),
      step('get cm c -o jsonpath={.data}', '{"a":"1","b":"2"}'),
      step('get cm c -o jsonpath={.metadata.managedFields[*].manager}', 'kubectl other'),
      refused(
        `${SERVER} --field-manager=third`,
        /Apply failed with 2 conflicts: conflicts with "kubectl":\n- \.data\.a\nconflicts with "other":\n- \.data\.b/,
        {
          input: CONFIG.replace('"1"', '"x"').replace('"2"', '"x"'),
        },
      ),
      step(`${SERVER} --dry-run=server`, 'configmap/c serverside-applied (server dry run)', {
        input: CONFIG,
      }),
      refused('diff --server-side -f -', /\+\s+a: changed/, { input: CONFIG.replace('"1"', 'changed') }),
      step('apply -f -', 'configmap/m created', { input: CONFIG.replace('name: c', 'name: m') }),
      step(SERVER, 'configmap/m serverside-applied', {
        since: 26,
        input: CONFIG.replace('name: c', 'name: m').replace(', b: "2"', ''),
      }),
      step('get cm m -o jsonpath={.data}', '{"a":"1"}', { since: 26 }),
      step(SERVER, 'deployment.apps/web serverside-applied', { input: WEB }),
      step(CONTAINERS, 'web side'),
      step(SERVER, 'deployment.apps/web serverside-applied', { input: ALONE }),
      step(CONTAINERS, 'web'),
      step('set image deploy web web=web:3', 'deployment.apps/web image updated'),
      refused(SERVER, /containers\[name="web"\]\.image/, { input: ALONE }),
      refused(SERVER, /duplicate entries for key \[name="web"\]/, {
        input: WEB.replace('name: side', 'name: web'),
      }),
    ],
  },
];
