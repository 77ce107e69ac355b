// Making, showing and changing plain objects.
import { refused, type Script, step } from '../../../../support/kubectlScript.js';

const AGE = '\\d+s';
const MANIFEST = `apiVersion: v1
kind: ConfigMap
metadata: {name: m, labels: {tier: one}}
data: {a: "1", b: "2"}
`;

export const objects: readonly Script[] = [
  {
    name: 'generators',
    steps: [
      step('create configmap c --from-literal=a=1 --from-literal=b=2', 'configmap/c created'),
      refused('create configmap c', 'error: failed to create configmap: configmaps "c" already exists', {
        since: 21,
      }),
      step('create secret generic s --from-literal=p=secret', 'secret/s created'),
      step('get secret s -o jsonpath={.data.p}', 'c2VjcmV0'),
      step('get secret s -o jsonpath={.type}', 'Opaque'),
      step(
        'create secret docker-registry reg --docker-username=u --docker-password=p --docker-server=r',
        'secret/reg created',
      ),
      step('get secret reg -o jsonpath={.type}', 'kubernetes.io/dockerconfigjson'),
      step('create serviceaccount sa', 'serviceaccount/sa created'),
      step('create role r --verb=get,list --resource=pods', 'role.rbac.authorization.k8s.io/r created'),
      step(
        'create rolebinding rb --role=r --serviceaccount=generators:sa',
        'rolebinding.rbac.authorization.k8s.io/rb created',
      ),
      step(
        'create clusterrole gen-cr --verb=get --resource=nodes',
        'clusterrole.rbac.authorization.k8s.io/gen-cr created',
      ),
      step(
        'create clusterrolebinding gen-crb --clusterrole=gen-cr --user=jane',
        'clusterrolebinding.rbac.authorization.k8s.io/gen-crb created',
      ),
      step('create quota q --hard=pods=10,services=9', 'resourcequota/q created'),
      step('get quota q -o jsonpath={.spec.hard.pods}', '10'),
      step('create service clusterip svc --tcp=80:8080', 'service/svc created'),
      step('create service nodeport np --tcp=80', 'service/np created'),
      step('get svc np -o jsonpath={.spec.type}', 'NodePort'),
      step('create service externalname en --external-name=example.test', 'service/en created'),
      step('create service loadbalancer lb --tcp=443', 'service/lb created'),
      step('create deployment d --image=web --replicas=2', 'deployment.apps/d created'),
      step('create job j --image=busybox -- sleep 1', 'job.batch/j created'),
      step('create cronjob cj --image=busybox --schedule="* * * * *"', 'cronjob.batch/cj created', {
        since: 21,
      }),
      step(
        'create poddisruptionbudget pdb --selector=app=d --min-available=1',
        'poddisruptionbudget.policy/pdb created',
        { since: 21 },
      ),
      step(
        'create priorityclass gen-high --value=1000 --description=high',
        'priorityclass.scheduling.k8s.io/gen-high created',
      ),
      step('create ingress ing --rule=h.test/*=svc:80', 'ingress.networking.k8s.io/ing created'),
      step('create token sa', /^ey[\w-]+\.[\w-]+\.[\w-]+$/, { since: 24 }),
      step('run p --image=busybox --restart=Never', 'pod/p created'),
      step('run p2 --image=busybox --port=80 --expose', /^service\/p2 created\npod\/p2 created$/),
      step('expose deployment d --port=80 --name=exposed', 'service/exposed exposed'),
      step(
        'autoscale deployment d --min=1 --max=3 --cpu-percent=50',
        'horizontalpodautoscaler.autoscaling/d autoscaled',
      ),
      step('create configmap dry --from-literal=a=1 --dry-run=client -o name', 'configmap/dry'),
      step(
        'create configmap dry --from-literal=a=1 --dry-run=server',
        'configmap/dry created (server dry run)',
      ),
      refused('get configmap dry', 'Error from server (NotFound): configmaps "dry" not found'),
      step('delete priorityclass gen-high', /^priorityclass.scheduling.k8s.io "gen-high" deleted/),
      step(
        'delete clusterrolebinding gen-crb',
        /^clusterrolebinding.rbac.authorization.k8s.io "gen-crb" deleted/,
      ),
      step('delete clusterrole gen-cr', /^clusterrole.rbac.authorization.k8s.io "gen-cr" deleted/),
    ],
  },
  {
    name: 'printers',
    steps: [
      step('create -f -', 'configmap/m created', { input: MANIFEST }),
      step('get cm m', new RegExp(`^NAME +DATA +AGE\\nm +2 +${AGE}$`)),
      step('get cm m --no-headers', new RegExp(`^m +2 +${AGE}$`)),
      step('get cm m --show-labels', new RegExp(`^NAME +DATA +AGE +LABELS\\nm +2 +${AGE} +tier=one$`)),
      step('get cm m -L tier', new RegExp(`^NAME +DATA +AGE +TIER\\nm +2 +${AGE} +one$`)),
      step('get cm m --show-kind', new RegExp(`^NAME +DATA +AGE\\nconfigmap/m +2 +${AGE}$`)),
      step('get cm -o name', 'configmap/m'),
      step('get cm m -o jsonpath={.data.a}', '1'),
      step("get cm m -o jsonpath='{range .data.*}{@},{end}'", /^[12],[12],$/),
      step('get cm m -o go-template={{.data.b}}', '2'),
      step('get cm m -o custom-columns=N:.metadata.name,A:.data.a', /^N +A\nm +1$/),
      step('get cm m -o json', /^\{\n {4}"apiVersion": "v1",\n {4}"data": \{/),
      step('get cm m -o yaml', /^apiVersion: v1\ndata:\n {2}a: "1"\n {2}b: "2"\nkind: ConfigMap\n/),
      step('get cm m -o wide', new RegExp(`^NAME +DATA +AGE\\nm +2 +${AGE}$`)),
      step('get cm -l tier=one -o name', 'configmap/m'),
      step("get cm -l 'tier in (one,two)' -o name", 'configmap/m'),
      step('get cm -l tier!=one -o name', ''),
      step('get cm -l !tier -o name', ''),
      step('get cm --field-selector metadata.name=m -o name', 'configmap/m'),
      step('get cm --field-selector metadata.name!=m -o name', ''),
      step('get cm --chunk-size=1 -o name', 'configmap/m'),
      step('get cm --sort-by=.metadata.name -o name', 'configmap/m'),
      step('get cm,secret -o name', 'configmap/m'),
      step('get all -o name', ''),
      step('get cm m --ignore-not-found -o name', 'configmap/m'),
      step('get cm nothing --ignore-not-found', ''),
      refused('get cm nothing', 'Error from server (NotFound): configmaps "nothing" not found'),
      refused('get nonsense', 'error: the server doesn\'t have a resource type "nonsense"'),
      refused('get cm -l a=b=c', /unable to parse requirement|found '=', expected/),
      refused(
        'get cm --field-selector x=y',
        /"x" is not a known field selector: only "metadata.name", "metadata.namespace"/,
      ),
      step('get --raw /version', /"gitVersion": ?"v1\.36/),
      step('get --raw /healthz', 'ok'),
      step('get --raw /readyz?verbose', /readyz check passed$/),
      step('describe cm m', /^Name: +m\nNamespace: +printers\nLabels: +tier=one\n/),
      step(
        'get cm m --show-managed-fields -o jsonpath={.metadata.managedFields[0].manager}',
        'kubectl-create',
        { since: 21 },
      ),
    ],
  },
  {
    name: 'changes',
    steps: [
      step('create -f -', 'configmap/m created', { input: MANIFEST }),
      step('label cm m x=y', 'configmap/m labeled'),
      refused('label cm m x=z', /already has a value \(y\), and --overwrite is false/),
      step('label cm m x=z --overwrite', /^configmap\/m (un)?labeled$/),
      step('label cm m x-', /^configmap\/m (un)?labeled$/),
      refused('label cm m bad/key/x=1', /invalid label key|a qualified name must consist of|prefix part/),
      step('annotate cm m note=hello', 'configmap/m annotated'),
      step('get cm m -o jsonpath={.metadata.annotations.note}', 'hello'),
      step('annotate cm m note-', 'configmap/m annotated'),
      step(`patch cm m -p '{"data":{"a":"9"}}'`, 'configmap/m patched'),
      step(`patch cm m -p '{"data":{"a":"9"}}'`, 'configmap/m patched (no change)'),
      step(`patch cm m --type=merge -p '{"data":{"b":null}}'`, 'configmap/m patched'),
      step('get cm m -o jsonpath={.data}', '{"a":"9"}'),
      step(`patch cm m --type=json -p '[{"op":"add","path":"/data/c","value":"3"}]'`, 'configmap/m patched'),
      refused(`patch cm m --type=json -p '[{"op":"test","path":"/data/c","value":"4"}]'`, /test|testing/i),
      refused(
        `patch cm m --type=merge -p '{"data":{"a":{"x":1}}}'`,
        /cannot be handled as a ConfigMap|json: cannot unmarshal/,
      ),
      refused(
        `patch cm m --type=merge -p '{"metadata":{"name":"other"}}'`,
        /the name of the object \(other\) does not match the name on the URL \(m\)|metadata.name: Invalid value/,
      ),
      step('replace -f -', 'configmap/m replaced', { input: MANIFEST }),
      step('get cm m -o jsonpath={.data}', '{"a":"1","b":"2"}'),
      refused('replace -f -', /resourceVersion|the object has been modified/, {
        input: MANIFEST.replace('name: m,', 'name: m, resourceVersion: "1",'),
      }),
      step('edit cm m', 'configmap/m edited', { editor: `sed -i 's/a: "1"/a: "edited"/' "$1"` }),
      step('get cm m -o jsonpath={.data.a}', 'edited'),
      step('edit cm m', 'Edit cancelled, no changes made.', { editor: 'true' }),
      step(`patch cm m --type=merge -p '{"immutable":true}'`, 'configmap/m patched'),
      refused(
        `patch cm m --type=merge -p '{"data":{"a":"x"}}'`,
        /field is immutable when `immutable` is set/,
      ),
      step('replace --force -f -', /configmap "m" deleted[^\n]*\nconfigmap\/m replaced$/, {
        input: MANIFEST,
      }),
      step('delete cm m', /^configmap "m" deleted/),
      refused('delete cm m', 'Error from server (NotFound): configmaps "m" not found'),
      step('delete cm m --ignore-not-found', ''),
      step('create configmap one', 'configmap/one created'),
      step('create configmap two', 'configmap/two created'),
      step('delete cm --all', /^configmap "one" deleted[^\n]*\nconfigmap "two" deleted/),
      refused('create -f -', /unknown field "dat"|unknown field "ConfigMap.dat"/, {
        input: MANIFEST.replace('\ndata:', '\ndat:'),
      }),
      refused('create -f -', /metadata.name: Invalid value: "B_D"/, {
        input: MANIFEST.replace('name: m', 'name: B_D'),
      }),
    ],
  },
];
