// Workloads, rights and what kubectl asks about the server.
import { refused, type Script, step } from '../../../../support/kubectlScript.js';

const POD = `apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: p}}
spec:
  containers: [{name: c, image: busybox, resources: {requests: {cpu: 100m}}}]
`;
const READY = `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`;

export const workloads: readonly Script[] = [
  {
    name: 'workloads',
    steps: [
      step('create deployment d --image=web:1 --replicas=3', 'deployment.apps/d created'),
      step('get deploy d', /^NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nd +0\/3 +0 +0 +\d+s$/),
      step('get deploy d -o wide', /CONTAINERS +IMAGES +SELECTOR\nd +0\/3 +0 +0 +\d+s +web +web:1 +app=d$/),
      step('describe deploy d', /^Name: +d\n(.*\n)*Replicas: +3 desired/),
      step('scale deploy d --replicas=1', 'deployment.apps/d scaled'),
      step('scale deploy d --replicas=2 --current-replicas=1', 'deployment.apps/d scaled'),
      refused('scale deploy d --replicas=4 --current-replicas=1', /Expected replicas to be 1, was 2/),
      refused('scale deploy d --replicas=-1', /must be|The --replicas=COUNT flag is required/),
      step('get deploy d --subresource=scale', /^NAME +DESIRED +AVAILABLE +AGE\nd +2 +0 +\d+s$/, {
        since: 24,
      }),
      step('set image deploy/d web=web:2', 'deployment.apps/d image updated'),
      step('set env deploy/d A=1', 'deployment.apps/d env updated'),
      step('set env deploy/d --list', /^# deployments? d, container web\nA=1$/i),
      step('set resources deploy/d --limits=cpu=200m', 'deployment.apps/d resource requirements updated'),
      step('set serviceaccount deploy/d sa', 'deployment.apps/d serviceaccount updated'),
      step('get deploy d -o jsonpath={.metadata.generation}', '7'),
      step('rollout pause deploy/d', 'deployment.apps/d paused'),
      refused('rollout pause deploy/d', /already paused/),
      step('rollout resume deploy/d', 'deployment.apps/d resumed'),
      step('rollout restart deploy/d', 'deployment.apps/d restarted'),
      step('rollout history deploy/d', /deployment.apps\/d/),
      refused('rollout undo deploy/d', /no rollout history found|no last revision to roll back to/),
      step('get deploy d -o jsonpath={.spec.template.spec.containers[0].resources.limits.cpu}', '200m'),
      step('create -f -', 'pod/p created', { input: POD }),
      step('get pod p', /^NAME +READY +STATUS +RESTARTS +AGE\np +0\/1 +Pending +0 +\d+s$/),
      step(
        'get pod p -o wide',
        /NODE +NOMINATED NODE +READINESS GATES\np +0\/1 +Pending +0 +\d+s +<none> +<none> +<none> +<none>$/,
      ),
      step('get pods --field-selector status.phase=Pending -o name', 'pod/p'),
      step('get pods --field-selector status.phase=Running -o name', ''),
      step('describe pod p', /^Name: +p\nNamespace: +workloads\n/),
      step(`patch pod p --subresource=status --type=merge -p '${READY}'`, 'pod/p patched', { since: 24 }),
      step('wait pod p --for=condition=Ready --timeout=5s', 'pod/p condition met', { since: 24 }),
      step('wait pod p --for=jsonpath={.status.phase}=Running --timeout=5s', 'pod/p condition met', {
        since: 24,
      }),
      refused(
        'wait pod p --for=condition=Other --timeout=1s',
        /timed out waiting for the condition on pods\/p/,
      ),
      refused(
        `patch pod p -p '{"spec":{"hostNetwork":true}}'`,
        /pod updates may not change fields other than/,
      ),
      refused('exec p -- true', /pod p does not have a host assigned/),
      refused('logs p -c nothing', /container nothing is not valid for pod p/),
      step('delete pod p --now', /^pod "p" deleted/),
      step('wait pod p --for=delete --timeout=5s', /^$|condition met/, { since: 24 }),
      refused('create -f -', /spec.containers\[0\].name: Required value|missing required field "name"/, {
        input: POD.replace('name: c, ', ''),
      }),
      refused('create -f -', /must be specified|quantit|unable to parse quantity|cannot be handled/, {
        input: POD.replace('100m', '100zz'),
      }),
      step('create job j --image=busybox', 'job.batch/j created'),
      step('delete job j --cascade=background', /^job.batch "j" deleted/),
      step('delete deploy d --cascade=background', /^deployment.apps "d" deleted/),
      step('get all', 'No resources found in workloads namespace.'),
    ],
  },
  {
    name: 'rights',
    steps: [
      step('auth can-i create pods', 'yes'),
      refused('auth can-i create pods --as=nobody', /^no/),
      step(
        'create role reader --verb=get,list,watch --resource=pods',
        'role.rbac.authorization.k8s.io/reader created',
      ),
      step(
        'create rolebinding readers --role=reader --user=jane',
        'rolebinding.rbac.authorization.k8s.io/readers created',
      ),
      step('auth can-i list pods --as=jane', 'yes'),
      refused('auth can-i delete pods --as=jane', /^no/),
      refused('auth can-i list pods --as=jane -n kube-system', /^no/),
      step('auth can-i --list --as=jane', /pods +\[\] +\[\] +\[get list watch\]/),
      step('get pods --as=jane', 'No resources found in rights namespace.'),
      refused(
        'create configmap x --as=jane',
        /User "jane" cannot create resource "configmaps" in API group "" in the namespace "rights"/,
      ),
      refused(
        'get nodes --as=jane',
        /User "jane" cannot list resource "nodes" in API group "" at the cluster scope/,
      ),
      step('get pods --as=john --as-group=system:masters -o name', ''),
      refused('get pods --as=system:serviceaccount:rights:default', /cannot list resource "pods"/),
      step('auth whoami -o jsonpath={.status.userInfo.username}', 'admin', { since: 28 }),
      step(
        'auth whoami --as=jane --as-uid=7 --as-user-extra=scope=a -o jsonpath={.status.userInfo.uid}',
        '7',
        { since: 35 },
      ),
      step('auth reconcile -f -', /role.rbac.authorization.k8s.io\/reader reconciled/, {
        input:
          'apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: reader, namespace: rights}\nrules: [{apiGroups: [""], resources: [pods], verbs: [get]}]\n',
      }),
    ],
  },
  {
    name: 'questions',
    steps: [
      step('api-resources -o name --namespaced=false', /(^|\n)namespaces(\n|$)/),
      step('get componentstatuses', /NAME +STATUS +MESSAGE +ERROR\netcd-0 +Healthy +ok/),
      step('explain componentstatuses', /ComponentStatus/),
      step('get servicecidrs', /kubernetes +10\.96\.0\.0\/\d+ /),
      step('get ipaddresses', /10\.96\.0\.1 +services\/default\/kubernetes/),
      step('api-resources --api-group=apps', /deployments +deploy +apps\/v1 +true +Deployment/),
      step('api-versions', /(^|\n)apps\/v1\n(.*\n)*v1$/),
      step('cluster-info', /is running at/),
      step('version -o json', /"minor": "36"/),
      step('config view --minify -o jsonpath={.contexts[0].name}', 'c'),
      step('config current-context', 'c'),
      step('config get-contexts -o name', 'c'),
      step('config get-clusters', 'NAME\nt'),
      step('explain pod', /^KIND: +Pod\nVERSION: +v1\n/),
      step('explain pod.spec.containers.image', /Container image name/),
      step('explain deployment.spec.strategy', /rollingUpdate/),
      step('explain service.spec.ports', /nodePort\s*<integer>/),
      step('explain pod.spec --recursive', /terminationGracePeriodSeconds\s*<integer>/),
      refused('explain pod.spec.nothing', /field "nothing" does not exist/),
      refused('explain nothing', /the server doesn't have a resource type "nothing"|couldn't find resource/),
      step('get namespaces -o name --field-selector metadata.name=questions', 'namespace/questions'),
      step('get ns questions -o jsonpath={.status.phase}', 'Active'),
      step('get svc kubernetes -n default -o jsonpath={.spec.ports[0].name}', 'https'),
      step('get events', 'No resources found in questions namespace.'),
      step('options', /--as-group/),
      step('create ns q2 --dry-run=client -o jsonpath={.metadata.name}', 'q2'),
    ],
  },
];
