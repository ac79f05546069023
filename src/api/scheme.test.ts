// The scheme holds every kind, and reads and defaults objects as upstream.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../apimachinery/declaration.ts';
import { duplicateField, type StrictProblems, unknownField } from '../apimachinery/field-validation.ts';
import { inTextOrder, parseJsonText } from '../apimachinery/serializer/json-text.ts';
import data from './schema/resources.json' with { type: 'json' };
import { createScheme } from './scheme.ts';
import { decodeResource } from './testing/decode-resource.ts';

const scheme = createScheme();
const pods = scheme.resource('', 'v1', 'pods')!;
const aPod = (): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a', labels: null, annotations: {} },
  spec: { containers: [{ name: 'c', image: 'nginx', resources: { limits: { memory: '1024Mi' } } }] },
});

test('the scheme declares each resource of the data and finds it by kind', () => {
  const whole = createScheme(() => true);
  for (const { group, version, resource, responseKind } of data) {
    const declaration = whole.resource(group, version, resource);
    assert.ok(declaration !== undefined && whole.plans.plan(declaration.type), resource);
    assert.equal(whole.kind({ group, version, kind: responseKind.kind }), declaration);
  }
  assert.equal(scheme.kind({ group: 'apps', version: 'v1', kind: 'Deployment' })?.resource, 'deployments');
  assert.equal(
    scheme.typeOf({ group: 'apps', version: 'v1', kind: 'DeleteOptions' }),
    'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions',
  );
});

test('a pod gets the defaults of upstream', () => {
  const pod = aPod();
  decodeResource(scheme, pods, pod);
  assert.deepEqual(pod, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a' },
    spec: {
      containers: [
        {
          name: 'c',
          image: 'nginx',
          resources: { limits: { memory: '1Gi' }, requests: { memory: '1Gi' } },
          imagePullPolicy: 'Always',
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
        },
      ],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      securityContext: {},
      schedulerName: 'default-scheduler',
      enableServiceLinks: true,
    },
    status: {},
  });
});

test('unknown and duplicate fields are refused with the text of upstream', () => {
  const text =
    '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"foo":1,"hostNetwork":true,"hostNetwork":false,"containers":[{"name":"c","imag":"x"}]}}';
  const { value, duplicateFields } = parseJsonText(text);
  const problems: StrictProblems = (unknown) =>
    inTextOrder(text, duplicateFields, unknown).map(({ path, isUnknown }) =>
      isUnknown ? unknownField(path) : duplicateField(path),
    );
  assert.throws(
    () => decodeResource(scheme, pods, value as JsonObject, { fieldValidation: 'Strict', problems }),
    {
      message:
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.foo", duplicate field "spec.hostNetwork", unknown field "spec.containers[0].imag"',
    },
  );
});

test('a value of another type is refused with the text of Go', () => {
  const pod = aPod();
  (pod['spec'] as JsonObject)['terminationGracePeriodSeconds'] = 'x';
  assert.throws(() => decodeResource(scheme, pods, pod), {
    message:
      'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64',
  });
});
