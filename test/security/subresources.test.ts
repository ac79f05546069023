// A right on a subresource is a right on that part: whatever else is sent with it stays as it was.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { JsonObject } from '../../src/apimachinery/declaration.ts';
import { meta, obj, objs, spec, status } from '../../src/apimachinery/json-access.ts';
import {
  type Answer,
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';

let plane: TestControlPlane;
const pods = '/api/v1/namespaces/default/pods';
const csrs = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const merge = { contentType: 'application/merge-patch+json' };

before(async () => {
  plane = await startTestControlPlane();
  const things = await plane.ask('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  });
  assert.equal(things.status, 201, things.text);
  await plane.ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
});
after(() => plane.close());

async function make(url: string, body: JsonObject): Promise<JsonObject> {
  const made = await plane.ask('POST', url, body);
  assert.equal(made.status, 201, made.text);
  return made.body as JsonObject;
}
const newPod = (name: string, more: JsonObject = {}): Promise<JsonObject> =>
  make(pods, {
    metadata: { name, labels: { app: 'a' } },
    spec: {
      containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }],
      ...more,
    },
  });

/** The object with everything of it changed that one would want to change. */
const greedy = (object: JsonObject, more: JsonObject): JsonObject => {
  const copy = structuredClone(object);
  Object.assign(copy['metadata'] as JsonObject, {
    labels: { app: 'stolen' },
    annotations: { a: 'b' },
    finalizers: ['example.com/stay'],
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'gone', uid: 'gone' }],
  });
  return { ...copy, ...more };
};

test('ephemeralcontainers and resize write their own part of a pod, not its node, account, image or labels', async () => {
  const rows: readonly (readonly [string, JsonObject])[] = [
    ['ephemeralcontainers', { ephemeralContainers: [{ name: 'd', image: 'debug' }] }],
    [
      'resize',
      { containers: [{ name: 'c', image: 'stolen', resources: { requests: { cpu: '2' } }, command: ['x'] }] },
    ],
  ];
  for (const [subresource, own] of rows) {
    const name = subresource;
    const pod = await newPod(name);
    const sent = greedy(pod, {
      spec: {
        ...spec(pod),
        nodeName: 'n',
        serviceAccountName: 'other',
        hostNetwork: true,
        ...own,
      },
      status: { phase: 'Succeeded' },
    });
    const answer = await plane.ask('PUT', `${pods}/${name}/${subresource}`, sent);
    assert.equal(answer.status, 200, answer.text);
    const now = (await plane.ask('GET', `${pods}/${name}`)).body as JsonObject;
    for (const key of ['nodeName', 'serviceAccountName', 'hostNetwork'])
      assert.deepEqual(spec(now)[key], spec(pod)[key], `${subresource} ${key}`);
    for (const key of ['labels', 'annotations', 'finalizers', 'ownerReferences'])
      assert.deepEqual(meta(now)[key], meta(pod)[key], `${subresource} ${key}`);
    assert.deepEqual(status(now), status(pod));
    const [container] = objs(spec(now)['containers']);
    assert.deepEqual([container!['image'], container!['command']], ['i', undefined]);
    assert.equal(obj(obj(container!['resources'])['requests'])['cpu'], subresource === 'resize' ? '2' : '1');
    assert.equal(objs(spec(now)['ephemeralContainers']).length, subresource === 'resize' ? 0 : 1);
    assert.equal(meta(now)['generation'], 2);
  }
});

test('what is applied or patched through a subresource is held to the same', async () => {
  await newPod('patched');
  const body = {
    metadata: { labels: { app: 'stolen' } },
    spec: { nodeName: 'n', ephemeralContainers: [{ name: 'd', image: 'debug' }] },
  };
  const url = `${pods}/patched/ephemeralcontainers`;
  assert.equal((await plane.ask('PATCH', url, body, merge)).status, 200);
  const applied = { apiVersion: 'v1', kind: 'Pod', ...body, metadata: { ...body.metadata, name: 'patched' } };
  const answer = await plane.ask('PATCH', `${url}?fieldManager=x&force=1`, applied, {
    contentType: 'application/apply-patch+yaml',
  });
  assert.equal(answer.status, 200, answer.text);
  const now = (await plane.ask('GET', `${pods}/patched`)).body as JsonObject;
  assert.equal(spec(now)['nodeName'], undefined);
  assert.deepEqual(meta(now)['labels'], { app: 'a' });
});

test('the status of a pod brings no owner, the status of a custom resource no metadata at all', async () => {
  const pod = await newPod('reported');
  const sent = greedy(pod, { status: { phase: 'Running' }, spec: { ...spec(pod), nodeName: 'n' } });
  assert.equal((await plane.ask('PUT', `${pods}/reported/status`, sent)).status, 200);
  // F15: as upstream, and as docs/SECURITY.md says.
  const reported = (await plane.ask('GET', `${pods}/reported`)).body as JsonObject;
  assert.deepEqual(meta(reported)['finalizers'], ['example.com/stay']);
  assert.deepEqual(meta(reported)['annotations'], { a: 'b' });
  const now = (await plane.ask('GET', `${pods}/reported`)).body as JsonObject;
  assert.deepEqual([meta(now)['ownerReferences'], spec(now)['nodeName']], [undefined, undefined]);
  assert.equal(status(now)['phase'], 'Running');

  const things = '/apis/example.com/v1/namespaces/default/things';
  const thing = await make(things, { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 't' } });
  const changed = greedy(thing, { status: { ok: true }, spec: { a: 1 } });
  const answer = await plane.ask('PUT', `${things}/t/status`, changed);
  assert.equal(answer.status, 200, answer.text);
  const after = (await plane.ask('GET', `${things}/t`)).body as JsonObject;
  assert.deepEqual([status(after), after['spec']], [{ ok: true }, undefined]);
  for (const key of ['labels', 'annotations', 'finalizers', 'ownerReferences'])
    assert.equal(meta(after)[key], undefined, key);
});

test('a certificate request is decided by approval alone, and signed by status alone, once', async () => {
  const request = Buffer.from('-----BEGIN CERTIFICATE REQUEST-----').toString('base64');
  const csr = { metadata: { name: 'r' }, spec: { signerName: 'example.com/s', usages: ['any'], request } };
  await make(csrs, csr);
  const patch = (subresource: string, body: object): Promise<Answer> =>
    plane.ask('PATCH', `${csrs}/r${subresource}`, body, merge);
  const condition = (type: string) => ({ type, status: 'True', reason: 'r', message: 'm' });
  const certificate = Buffer.from(plane.pki.caCertificatePem).toString('base64');
  for (const [subresource, body, ends] of [
    [
      '/status',
      { conditions: [condition('Approved')] },
      'updates may not add a condition of type "Approved"',
    ],
    ['/status', { conditions: [condition('Denied')] }, 'updates may not add a condition of type "Denied"'],
  ] as const) {
    const answer = await patch(subresource, { status: body });
    assert.equal(answer.status, 422, answer.text);
    assert.ok(answer.message.endsWith(`Forbidden: ${ends}`), answer.message);
  }
  // Approval leaves the certificate and the spec where they are.
  const approved = await patch('/approval', {
    status: { conditions: [condition('Approved')], certificate },
    spec: { signerName: 'kubernetes.io/kube-apiserver-client', usages: ['client auth'] },
  });
  assert.equal(approved.status, 200, approved.text);
  assert.equal(status(approved.body as JsonObject)['certificate'], undefined);
  assert.equal(spec(approved.body as JsonObject)['signerName'], 'example.com/s');
  const both = await patch('/approval', {
    status: { conditions: [condition('Approved'), condition('Denied')] },
  });
  assert.match(both.message, /Approved and Denied conditions are mutually exclusive$/);
  const none = await patch('/approval', { status: { conditions: [] } });
  assert.match(none.message, /updates may not remove a condition of type "Approved"$/);
  assert.equal((await patch('/status', { status: { certificate } })).status, 200);
  const other = Buffer.from(`\n${plane.pki.caCertificatePem}`).toString('base64');
  const again = await patch('/status', { status: { certificate: other } });
  assert.match(again.message, /updates may not modify existing certificate content$/);
});

test('a signer has a domain and a path, and writes certificates, in upstream’s words', async () => {
  const request = Buffer.from('-----BEGIN CERTIFICATE REQUEST-----').toString('base64');
  const csrOf = (name: string, signerName: string): JsonObject => ({
    metadata: { name },
    spec: { signerName, usages: ['any'], request },
  });
  const form = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
  const labelRule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
  const subdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
  for (const [signer, why] of [
    ['', 'spec.signerName: Required value'],
    ['x', `spec.signerName: Invalid value: "x": ${form}`],
    ['a/b/c', `spec.signerName: Invalid value: "a/b/c": ${form}`],
    [
      'ex ample.com/x',
      `spec.signerName: Invalid value: "ex ample.com": validating label "ex ample": ${labelRule}`,
    ],
    ['kubernetes.io/*', `spec.signerName: Invalid value: "*": validating label "*": ${subdomainRule}`],
    [
      'example/x',
      'spec.signerName: Invalid value: "example": should be a domain with at least two segments separated by dots',
    ],
    [
      'kubernetes.io/legacy-unknown',
      'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
    ],
  ] as const) {
    const answer = await plane.ask('POST', csrs, csrOf('named', signer));
    assert.equal(answer.status, 422, signer);
    assert.equal(
      answer.message,
      `CertificateSigningRequest.certificates.k8s.io "named" is invalid: ${why}`,
      signer,
    );
  }
  const long = await plane.ask('POST', csrs, csrOf('named', `example.com/${'a.'.repeat(300)}a`));
  assert.match(long.message, /spec\.signerName: Too long: may not be more than 571 bytes$/);

  await make(csrs, csrOf('signed', 'example.com/s'));
  const pem = plane.pki.caCertificatePem;
  const write = (text: string): Promise<Answer> =>
    plane.ask(
      'PATCH',
      `${csrs}/signed/status`,
      { status: { certificate: Buffer.from(text).toString('base64') } },
      merge,
    );
  const der = Buffer.from(pem.replace(/-----[^\n]*-----/g, ''), 'base64');
  const block = (bytes: Buffer, type = 'CERTIFICATE', header = ''): string =>
    `-----BEGIN ${type}-----\n${header}${bytes.toString('base64')}\n-----END ${type}-----\n`;
  for (const [text, why] of [
    ['garbage', 'must contain at least one CERTIFICATE PEM block'],
    ['-----BEGIN CERTIFICATE-----\n'.repeat(1000), 'must contain at least one CERTIFICATE PEM block'],
    [`${pem}${block(der, 'PRIVATE KEY')}`, 'only CERTIFICATE PEM blocks are allowed, found "PRIVATE KEY"'],
    [block(der, 'CERTIFICATE', 'A: b\n\n'), 'no PEM block headers are permitted'],
    [block(Buffer.from('x')), 'x509: malformed certificate'],
    [block(der.subarray(0, -1)), 'x509: malformed certificate'],
    [block(Buffer.concat([der, Buffer.from('x')])), 'x509: malformed certificate'],
    [block(Buffer.from([0x30, 2, 0x30, 0])), 'x509: malformed serial number'],
  ] as const) {
    const answer = await write(text);
    assert.equal(answer.status, 422, text.slice(0, 60));
    assert.equal(
      answer.message,
      `CertificateSigningRequest.certificates.k8s.io "signed" is invalid: status.certificate: Invalid value: "<certificate data>": ${why}`,
    );
  }
  assert.equal((await write(`a comment\n${pem}${block(Buffer.concat([der, der]))}`)).status, 200);
});

test('a pod is bound in its first generation; each change of its spec is one more', async () => {
  const generation = async (): Promise<unknown> =>
    meta((await plane.ask('GET', `${pods}/counted`)).body as JsonObject)['generation'];
  const made = await newPod('counted');
  assert.equal(meta(made)['generation'], 1);
  // A pod is resized to what its node has.
  await plane.ask('POST', '/api/v1/nodes', {
    metadata: { name: 'n', labels: { 'kubernetes.io/os': 'linux' } },
    status: { allocatable: { cpu: '4', memory: '1Gi' } },
  });
  const binding = { metadata: { name: 'counted' }, target: { kind: 'Node', name: 'n' } };
  assert.equal((await plane.ask('POST', `${pods}/counted/binding`, binding)).status, 201);
  assert.equal(await generation(), 1);
  const report = { status: { phase: 'Running' } };
  assert.equal((await plane.ask('PATCH', `${pods}/counted/status`, report, merge)).status, 200);
  assert.equal(
    (await plane.ask('PATCH', `${pods}/counted`, { metadata: { labels: { b: 'c' } } }, merge)).status,
    200,
  );
  assert.equal(await generation(), 1);
  const image = { spec: { containers: [{ name: 'c', image: 'j', resources: { requests: { cpu: '1' } } }] } };
  assert.equal(
    (
      await plane.ask('PATCH', `${pods}/counted`, image, {
        contentType: 'application/strategic-merge-patch+json',
      })
    ).status,
    200,
  );
  assert.equal(await generation(), 2);
  const debug = { spec: { ephemeralContainers: [{ name: 'd', image: 'i' }] } };
  assert.equal((await plane.ask('PATCH', `${pods}/counted/ephemeralcontainers`, debug, merge)).status, 200);
  assert.equal(await generation(), 3);
  // Resize by replace: the object as it was read, with other amounts.
  const read = (await plane.ask('GET', `${pods}/counted/resize`)).body as JsonObject;
  obj(obj(objs(spec(read)['containers'])[0]!['resources'])['requests'])['cpu'] = '2';
  const resized = await plane.ask('PUT', `${pods}/counted/resize`, read);
  assert.equal(resized.status, 200, resized.text);
  assert.equal(await generation(), 4);
  assert.equal((await plane.ask('DELETE', `${pods}/counted`)).status, 200);
  assert.equal(await generation(), 5);
});
