// Every kind through the stock kubectl: manifests in, tables and descriptions out, and all that kubectl can generate.
import { webcrypto } from 'node:crypto';
import 'reflect-metadata'; // before x509, which reads it while loading
import * as x509 from '@peculiar/x509';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KINDS } from '../../../src/api/kinds/index.js';
import { apiVersionOf } from '../../../src/api/resources.js';
import { qualifiedResource } from '../../../src/api/status.js';
import { type Kubectl, kubectlMinor, openKubectl } from '../../support/kubectl.js';
import { describeWith } from '../../support/requires.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';
import { smallest } from '../../unit/api/kinds/smallest.js';

const RESOURCES = KINDS.map(({ type }) => qualifiedResource(type));
/** kubectl before 1.34 asks for these in beta versions, which this server, like the stock one, does not offer. */
/** What is typed, what is printed, and the first minor version that can do it. */
type Command = readonly [typed: string, printed: string, since?: number];
const MINOR = kubectlMinor();
/** The first kubectl that leaves checks of fields to the server. */
const SERVER_CHECKS = 27;
const DESCRIBED_BY_NEWER = ['ipaddresses', 'servicecidrs', 'volumeattributesclasses'];

async function newRequest(): Promise<string> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: 'CN=jane',
    keys,
    signingAlgorithm: algorithm,
  });
  return Buffer.from(request.toString('pem')).toString('base64');
}

describeWith({ tools: ['kubectl'] }, 'kubectl and every kind', () => {
  let api: SecuredApiServer;
  let kubectl: Kubectl;

  beforeAll(async () => {
    api = await startSecuredApiServer();
    const admin = await api.pki.client('admin', 'system:masters');
    kubectl = await openKubectl(api.url, api.pki.ca, admin);
    // No controller runs here that would make it, and pods ask for it.
    await kubectl('create', 'serviceaccount', 'default');
  });
  afterAll(async () => {
    await kubectl?.close();
    await api?.close();
  });

  const ok = async (command: string | readonly string[], input = '') => {
    const args = typeof command === 'string' ? command.split(' ') : command;
    const { code, stdout, stderr } = await kubectl.input(input, ...args);
    expect({ code, stderr: code === 0 ? '' : stderr }, `kubectl ${args.join(' ')}`).toEqual({
      code: 0,
      stderr: '',
    });
    return stdout;
  };

  test('creates, lists and describes the smallest of each', async () => {
    const request = await newRequest();
    const items = KINDS.map(({ type }) => {
      const body = smallest({ type }) as { metadata: object; spec?: object };
      const spec = type.resource === 'certificatesigningrequests' ? { spec: { ...body.spec, request } } : {};
      return { apiVersion: apiVersionOf(type), kind: type.kind, ...body, ...spec };
    });
    const manifest = items.map((item) => JSON.stringify(item)).join('\n');
    // Older ones check by their own reading of the OpenAPI document, which asks for more than the server does.
    const created = await ok(
      MINOR < SERVER_CHECKS ? 'create --validate=false -f -' : 'create -f -',
      manifest,
    );
    expect(created.trim().split('\n')).toHaveLength(KINDS.length);
    const all = RESOURCES.join(',');
    await ok(`get ${all} -A`);
    await ok(`get ${all} -A -o wide`);
    // They also describe several kinds through versions that are no longer served; the script of commands has the rest.
    if (MINOR < SERVER_CHECKS) return;
    const described = RESOURCES.filter((name) => !DESCRIBED_BY_NEWER.includes(name.split('.')[0] ?? ''));
    const text = await ok(`describe ${described.join(',')}`);
    expect(text).toContain('Subject:');
  }, 120_000);

  test('explains each', async () => {
    for (const { type } of KINDS)
      expect(await ok(`explain ${type.resource} --api-version=${apiVersionOf(type)}`)).toContain(type.kind);
  }, 120_000);

  test('shows every form that discovery offers', async () => {
    const names = (await ok('api-resources --no-headers -o name --verbs=list')).trim().split('\n');
    expect(names.sort()).toEqual(
      [...RESOURCES, 'componentstatuses', 'events.events.k8s.io', 'xs.example.com'].sort(),
    );
    expect(await ok('get events.events.k8s.io x -o jsonpath={.apiVersion}/{.regarding.namespace}')).toBe(
      'events.k8s.io/v1/default',
    );
    expect(
      await ok(
        'get horizontalpodautoscalers.v1.autoscaling x -o jsonpath={.spec.targetCPUUtilizationPercentage}',
      ),
    ).toBe('80');
    expect(await ok('get events.events.k8s.io --field-selector regarding.namespace=default -o name')).toBe(
      'event.events.k8s.io/x\n',
    );
  });

  test('writes through one form what another shows', async () => {
    const patch = JSON.stringify({ spec: { targetCPUUtilizationPercentage: 60 } });
    const v1 = 'horizontalpodautoscalers.v1.autoscaling';
    expect(await ok(['patch', v1, 'x', '--type=merge', '-p', patch])).toContain('patched');
    const share = '{.spec.metrics[0].resource.target.averageUtilization}';
    expect(await ok(['get', 'horizontalpodautoscalers.v2.autoscaling', 'x', '-o', `jsonpath=${share}`])).toBe(
      '60',
    );
    const event = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'told', namespace: 'default' },
      eventTime: '2026-01-01T00:00:00.000000Z',
      regarding: { kind: 'Pod', name: 'p', namespace: 'default' },
      note: 'it happened',
      reportingController: 'example.com/teller',
    };
    await ok('create -f -', JSON.stringify(event));
    const told = 'jsonpath={.apiVersion} {.involvedObject.name} {.message} {.reportingComponent}';
    expect(await ok(['get', 'events.v1.', 'told', '-o', told])).toBe('v1 p it happened example.com/teller');
  });

  test('refuses a member that is written twice', async () => {
    const path = '/api/v1/namespaces/default/configmaps?fieldValidation=Strict';
    const body = '{"metadata":{"name":"twice"},"data":{"a":"1","a":"2"}}';
    const { code, stderr } = await kubectl.input(body, 'create', '--raw', path, '-f', '-');
    expect(code).toBe(1);
    expect(stderr).toContain('strict decoding error: duplicate field "data.a"');
  });

  const commands: readonly Command[] = [
    ['create clusterrole r --verb=get --resource=pods', 'clusterrole.rbac.authorization.k8s.io/r created'],
    [
      'create clusterrolebinding r --clusterrole=r --user=jane',
      'clusterrolebinding.rbac.authorization.k8s.io/r',
    ],
    ['create configmap c --from-literal=a=1', 'configmap/c created'],
    ['create cronjob cj --image=i --schedule=@daily', 'cronjob.batch/cj created', 21],
    ['create deployment d --image=i --replicas=2 --port=80', 'deployment.apps/d created'],
    ['create ingress i --class=c --rule=h.com/p*=svc:80,tls=s', 'ingress.networking.k8s.io/i created'],
    ['create job j --image=i -- date', 'job.batch/j created'],
    ['create job j2 --from=cronjob/cj', 'job.batch/j2 created', 21],
    ['create namespace n', 'namespace/n created'],
    ['create pdb p --selector=app=a --min-available=50%', 'poddisruptionbudget.policy/p created', 21],
    [
      'create priorityclass pc --value=1000 --preemption-policy=Never',
      'priorityclass.scheduling.k8s.io/pc created',
    ],
    ['create quota q --hard=pods=50,cpu=200 --scopes=Terminating', 'resourcequota/q created'],
    ['create role r --verb=list --resource=jobs.batch', 'role.rbac.authorization.k8s.io/r created'],
    [
      'create rolebinding r --role=r --serviceaccount=default:default',
      'rolebinding.rbac.authorization.k8s.io/r',
    ],
    ['create secret generic s --from-literal=a=1', 'secret/s created'],
    ['create secret docker-registry s2 --docker-username=u --docker-password=p', 'secret/s2 created'],
    ['create service clusterip s1 --tcp=80:8080', 'service/s1 created'],
    ['create service externalname s2 --external-name=h.com', 'service/s2 created'],
    ['create service loadbalancer s3 --tcp=80', 'service/s3 created'],
    ['create service nodeport s4 --tcp=80', 'service/s4 created'],
    ['create serviceaccount sa', 'serviceaccount/sa created'],
    ['create token sa', '.', 24],
    ['run p --image=i', 'pod/p created'],
    ['expose deployment d --port=80', 'service/d exposed'],
    [
      'autoscale deployment d --min=2 --max=5 --cpu-percent=70',
      'horizontalpodautoscaler.autoscaling/d autoscaled',
    ],
    ['get hpa d --no-headers', 'cpu: <unknown>/70%'],
    ['scale rc x --replicas=3', 'replicationcontroller/x scaled'],
    ['scale statefulset x --replicas=0', 'statefulset.apps/x scaled'],
    ['set image daemonset/x c=j', 'daemonset.apps/x image updated'],
    ['rollout history daemonset x', 'daemonset.apps/x'],
    ['rollout pause deployment d', 'deployment.apps/d paused'],
    ['certificate approve x', 'certificatesigningrequest.certificates.k8s.io/x approved'],
    ['get csr x --no-headers', 'Approved'],
    ['events', 'OBJECT', 26],
    ['delete job j', 'job.batch "j" deleted'],
  ];

  const possible = commands.filter(([, , since = 0]) => since <= MINOR);
  test.each(possible.map(([typed, printed]) => [typed, printed] as const))(
    '%s',
    async (command, expected) => {
      expect(await ok(command)).toContain(expected);
    },
  );
});
