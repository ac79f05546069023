// Validation: what the server makes itself passes, and the texts are upstream's.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { JsonObject } from '../apimachinery/declaration.ts';
import { fieldErrorText } from '../apimachinery/field-error.ts';
import { meta, obj, spec, str } from '../apimachinery/json-access.ts';
import { createScheme } from './scheme.ts';
import { decodeResource } from './testing/decode-resource.ts';

const scheme = createScheme();

function errorsOf(object: JsonObject): string[] {
  const copy = structuredClone(object);
  const apiVersion = str(copy['apiVersion']);
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const d = scheme.kind({ group: group!, version: version!, kind: str(copy['kind']) })!;
  decodeResource(scheme, d, copy);
  return (d.strategy.validate?.(copy) ?? []).map(fieldErrorText);
}
const pod = (more: JsonObject, container: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'c', image: 'nginx', ...container }], ...more },
});

test('every object that a new cluster holds is valid, and reading it changes nothing', () => {
  const data: Record<string, JsonObject[]> = JSON.parse(
    readFileSync(new URL('./schema/bootstrap-objects.json', import.meta.url), 'utf8'),
  );
  let count = 0;
  for (const [key, list] of Object.entries(data)) {
    const parts = key.split('/');
    const d = scheme.resource(parts.length === 3 ? parts[0]! : '', parts.at(-2)!, parts.at(-1)!);
    assert.ok(d, key);
    for (const object of list) {
      const copy = structuredClone(object);
      decodeResource(scheme, d, copy, { fieldValidation: 'Strict' });
      const label = `${key} ${str(meta(object)['name'])}`;
      assert.deepEqual((d.strategy.validate?.(copy) ?? []).map(fieldErrorText), [], label);
      // Go writes null for a required list that is not there; here it stays away.
      const { rules, ...rest } = object;
      assert.deepEqual(copy, rules === null ? rest : object, label);
      count++;
    }
  }
  assert.ok(count > 50, String(count));
});

test('the claim of an ephemeral volume is one that could be made', () => {
  const errors = (ephemeral: JsonObject): string[] => errorsOf(pod({ volumes: [{ name: 'v', ephemeral }] }));
  const at = 'spec.volumes[0].ephemeral.volumeClaimTemplate';
  const requests = { storage: '1Gi' };
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests } };
  assert.deepEqual(errors({ volumeClaimTemplate: { spec: claim } }), []);
  assert.deepEqual(errors({}), [`${at}: Required value`]);
  assert.deepEqual(errors({ volumeClaimTemplate: { spec: {} } }), [
    `${at}.spec.accessModes: Required value: at least 1 access mode is required`,
    `${at}.spec.resources[storage]: Required value`,
  ]);
});

test('a small pod is valid; its wrong parts are named', () => {
  assert.deepEqual(errorsOf(pod({})), []);
  assert.deepEqual(errorsOf(pod({ containers: [] })), ['spec.containers: Required value']);
  assert.deepEqual(errorsOf(pod({}, { image: '' })), ['spec.containers[0].image: Required value']);
  assert.deepEqual(errorsOf(pod({}, { resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } })), [
    'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
  ]);
  assert.deepEqual(errorsOf(pod({}, { volumeMounts: [{ name: 'v', mountPath: '/v' }] })), [
    'spec.containers[0].volumeMounts[0].name: Not found: "v"',
  ]);
  assert.deepEqual(errorsOf(pod({ restartPolicy: 'Sometimes' })), [
    'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"',
  ]);
  assert.deepEqual(errorsOf(pod({ dnsPolicy: 'None', dnsConfig: { searches: ['a.b'] } })), [
    'spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None',
  ]);
});

test('a windows pod may not have what only Linux has, even when it is false', () => {
  const windows = { os: { name: 'windows' } };
  assert.deepEqual(errorsOf(pod(windows)), []);
  assert.deepEqual(
    errorsOf(pod({ ...windows, hostNetwork: true }, { securityContext: { runAsNonRoot: true } })),
    [],
  );
  assert.deepEqual(
    errorsOf(
      pod({ ...windows, securityContext: { fsGroup: 1 } }, { securityContext: { privileged: false } }),
    ),
    [
      'spec.securityContext.fsGroup: Forbidden: cannot be set for a windows pod',
      'spec.containers[0].securityContext.privileged: Forbidden: cannot be set for a windows pod',
    ],
  );
  assert.deepEqual(
    errorsOf(pod({ os: { name: 'linux' } }, { securityContext: { windowsOptions: { runAsUserName: 'a' } } })),
    [
      'spec.containers[0].securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod',
    ],
  );
  assert.deepEqual(errorsOf(pod({ os: { name: 'plan9' } })), [
    'spec.os: Unsupported value: "plan9": supported values: "linux", "windows"',
  ]);
  const hostProcess = { securityContext: { windowsOptions: { hostProcess: true } } };
  assert.deepEqual(errorsOf(pod({ ...windows, ...hostProcess })), [
    'spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers',
  ]);
});

test('a deployment must select its own pods', () => {
  const deployment = (labels: JsonObject): JsonObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd' },
    spec: {
      selector: { matchLabels: { app: 'a' } },
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'x' }] } },
    },
  });
  assert.deepEqual(errorsOf(deployment({ app: 'a' })), []);
  assert.deepEqual(errorsOf(deployment({ app: 'b' })), [
    'spec.template.metadata.labels: Invalid value: {"app":"b"}: `selector` does not match template `labels`',
  ]);
});

test('services, jobs, config and roles name what is wrong', () => {
  assert.deepEqual(errorsOf({ apiVersion: 'v1', kind: 'Service', metadata: { name: 's' }, spec: {} }), [
    'spec.ports: Required value',
  ]);
  assert.deepEqual(
    errorsOf({ apiVersion: 'v1', kind: 'Service', metadata: { name: 's' }, spec: { ports: [{ port: 80 }] } }),
    [],
  );
  assert.match(
    errorsOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'A' } })[0]!,
    /a lowercase RFC 1123 subdomain must consist/,
  );
  assert.match(
    errorsOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { 'a/b': '' } })[0]!,
    /a valid config key must consist/,
  );
  const job = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'j' },
    spec: { manualSelector: true, selector: {}, template: pod({}) as JsonObject },
  };
  delete job.spec.template['apiVersion'];
  assert.deepEqual(errorsOf(job), [
    'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
  ]);
  assert.deepEqual(
    errorsOf({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'a:b' },
      rules: [{ apiGroups: [''], resources: ['pods'] }],
    }),
    ['rules[0].verbs: Required value: verbs must contain at least one value'],
  );
});

test('an update of a pod may change images and little else', () => {
  const d = scheme.resource('', 'v1', 'pods')!;
  const read = (more: JsonObject, container: JsonObject = {}): JsonObject => {
    const o = pod(more, container);
    decodeResource(scheme, d, o);
    return o;
  };
  const context = { now: '', namespace: 'x', subresource: '' };
  const update = (next: JsonObject, old: JsonObject): string[] =>
    (d.strategy.validateUpdate?.(next, old, context) ?? []).map(fieldErrorText);
  assert.deepEqual(
    update(
      read({}, { image: 'nginx:2', imagePullPolicy: 'Always' }),
      read({}, { imagePullPolicy: 'Always' }),
    ),
    [],
  );
  assert.match(
    update(read({ hostname: 'a' }), read({}))[0]!,
    /^spec: Forbidden: pod updates may not change fields other than `spec.containers\[\*\].image`/,
  );
});

test('a pod is warned of variables that hide others', () => {
  const d = scheme.resource('', 'v1', 'pods')!;
  const hiding = pod({}, { env: [{ name: 'A' }, { name: 'A' }] });
  assert.deepEqual(d.strategy.warnings?.(hiding, undefined), [
    'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
  ]);
});

test('a pod that names limits asks for what its containers ask for, else for its limits', () => {
  const decoded = (more: JsonObject, container: JsonObject = {}): JsonObject => {
    const object = pod(more, container);
    decodeResource(scheme, scheme.kind({ group: '', version: 'v1', kind: 'Pod' })!, object);
    return obj(obj(spec(object)['resources'])['requests']);
  };
  const limits = { cpu: '1', memory: '1Gi', 'hugepages-2Mi': '4Mi' };
  assert.deepEqual(decoded({ resources: { limits } }), limits);
  const asking = { resources: { requests: { cpu: '250m', 'hugepages-2Mi': '2Mi' } } };
  assert.deepEqual(decoded({ resources: { limits } }, asking), { ...limits, cpu: '250m' });
  const said = { limits, requests: { cpu: '300m' } };
  assert.deepEqual(decoded({ resources: said }, asking), { ...limits, cpu: '300m' });
  assert.deepEqual(decoded({ resources: { requests: { cpu: '1' } } }), { cpu: '1' });
  assert.deepEqual(decoded({}), {});
});

test('/proc is shown whole only to a user namespace of its own', () => {
  const container = { securityContext: { procMount: 'Unmasked' } };
  assert.deepEqual(errorsOf(pod({}, container)), [
    'spec.containers[0].securityContext.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`',
  ]);
  assert.deepEqual(errorsOf(pod({ hostUsers: false }, container)), []);
});

test('what a pod has as a whole covers its containers, and is of what can be shared', () => {
  const asking = { resources: { requests: { cpu: '2' }, limits: { cpu: '2' } } };
  assert.deepEqual(errorsOf(pod({ resources: { limits: { cpu: '1' }, requests: { cpu: '1' } } }, asking)), [
    'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
    'spec.resources.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1',
  ]);
  assert.deepEqual(errorsOf(pod({ resources: { limits: { cpu: '2', memory: '1Gi' } } }, asking)), []);
  assert.deepEqual(errorsOf(pod({ resources: { limits: { 'ephemeral-storage': '1Gi' } } })), [
    'spec.resources.limits: Unsupported value: "ephemeral-storage": supported values: "cpu", "hugepages-", "memory"',
  ]);
});
