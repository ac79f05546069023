// Policies as projects publish them, applied by kubectl: parameters of a custom kind, variables, warnings, sidecars; and the way back
// from one that lets nobody do anything.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import type { Kubectl } from '../harness/kubectl.ts';
import { limit } from '../harness/linux-cluster.ts';

let cluster: TestCluster;
let kubectl: Kubectl;
before(async () => {
  cluster = await startTestCluster({ runtime: 'simulated' });
  kubectl = cluster.kubectl;
}, limit);
after(() => cluster?.down(), limit);

const rules = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: imagerules.policies.example.com
spec:
  group: policies.example.com
  scope: Namespaced
  names: {plural: imagerules, singular: imagerule, kind: ImageRule}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              registries: {type: array, items: {type: string}}
`;
const policy = `
apiVersion: policies.example.com/v1
kind: ImageRule
metadata: {name: rule, namespace: default}
spec:
  registries: [registry.example.com/]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: images.policies.example.com
  annotations: {policies.example.com/title: Images come from known registries and have a tag}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: policies.example.com/v1, kind: ImageRule}
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  variables:
  - name: containers
    expression: >-
      object.spec.template.spec.containers +
      (has(object.spec.template.spec.initContainers) ? object.spec.template.spec.initContainers : [])
  - name: strangers
    expression: >-
      variables.containers.filter(c, !params.spec.registries.exists(r, c.image.startsWith(r))).map(c, c.image)
  validations:
  - expression: variables.strangers.size() == 0
    messageExpression: "'from an unknown registry: ' + variables.strangers.join(', ')"
    reason: Forbidden
  - expression: variables.containers.all(c, c.image.contains(':') && !c.image.endsWith(':latest'))
    message: every image needs a tag other than latest
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: images.policies.example.com}
spec:
  policyName: images.policies.example.com
  validationActions: [Deny, Audit]
  paramRef: {name: rule, namespace: default, parameterNotFoundAction: Deny}
  matchResources:
    namespaceSelector:
      matchExpressions:
      - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: labels.policies.example.com}
spec:
  reinvocationPolicy: IfNeeded
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  matchConditions:
  - {name: unlabelled, expression: "!has(object.metadata.labels) || !('owner' in object.metadata.labels)"}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >-
        Object{metadata: Object.metadata{labels: {"owner": request.userInfo.username}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: labels.policies.example.com}
spec: {policyName: labels.policies.example.com}
`;

const deploy = (name: string, image: string): Promise<{ code: number; stderr: string }> =>
  kubectl.run(['create', 'deployment', name, `--image=${image}`]);

test('a published policy holds for what kubectl creates, sets and scales', limit, async () => {
  await kubectl.apply(rules);
  await kubectl.ok([
    'wait',
    '--for=condition=Established',
    'crd/imagerules.policies.example.com',
    '--timeout=30s',
  ]);
  await kubectl.apply(policy);
  const stranger = await deploy('web', 'docker.io/web:1');
  assert.notEqual(stranger.code, 0);
  assert.match(
    stranger.stderr,
    /error: failed to create deployment: deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'images.policies.example.com' with binding 'images.policies.example.com' denied request: from an unknown registry: docker.io\/web:1/,
  );
  assert.match(
    (await deploy('web', 'registry.example.com/web:latest')).stderr,
    /needs a tag other than latest/,
  );
  assert.equal((await deploy('web', 'registry.example.com/web:1')).code, 0);
  assert.match(await kubectl.ok(['get', 'deployment', 'web', '--show-labels']), /owner=/);
  const changed = await kubectl.run(['set', 'image', 'deployment/web', 'web=other/web:2']);
  assert.match(changed.stderr, /from an unknown registry: other\/web:2/);
  await kubectl.ok(['scale', 'deployment/web', '--replicas=0']);
  assert.match(
    await kubectl.ok(['get', 'validatingadmissionpolicies,mutatingadmissionpolicies']),
    /images.policies.example.com +2 +policies.example.com\/v1\/ImageRule[\s\S]*labels.policies.example.com +1 +<unset>/,
  );
});

test('what a policy gets wrong of a kind is told in its status', limit, async () => {
  await kubectl.apply(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: mistyped}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  validations:
  - expression: object.spec.replicas > '1'
`);
  await eventually(async () => {
    const said = await kubectl.ok([
      'get',
      'validatingadmissionpolicy',
      'mistyped',
      '-o',
      'jsonpath={.status.observedGeneration} {.status.typeChecking.expressionWarnings[0].warning}',
    ]);
    assert.match(
      said,
      /^1 apps\/v1, Kind=Deployment: ERROR: .* no matching overload for '_>_' applied to '\(int, string\)'/,
    );
  });
});

test('one that refuses everything is taken away by deleting its binding', limit, async () => {
  await kubectl.apply(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: closed}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']}
  validations:
  - {expression: 'false', message: closed}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: closed}
spec: {policyName: closed, validationActions: [Deny]}
`);
  const refused = await kubectl.run(['create', 'namespace', 'more']);
  assert.match(refused.stderr, /denied request: closed/);
  await kubectl.ok(['auth', 'can-i', 'create', 'namespaces']);
  await kubectl.ok(['delete', 'validatingadmissionpolicybinding', 'closed']);
  await kubectl.ok(['create', 'namespace', 'more']);
});
