// Pod Security on the real server: what is refused, what is warned of, and what is kept for the audit log.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { JsonObject } from '../../src/apimachinery/declaration.ts';
import {
  type Answer,
  administrator,
  startTestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { createPodSecurity } from '../../src/plugins/admission/pod-security.ts';

const plane = await startTestControlPlane();
after(() => plane.close());

interface Said extends Answer {
  readonly object: JsonObject;
}

async function send(method: string, url: string, body: JsonObject): Promise<Said> {
  const contentType = method === 'PATCH' ? 'application/strategic-merge-patch+json' : 'application/json';
  const answer = await plane.ask(method, url, body, { contentType });
  return {
    ...answer,
    object: answer.body as JsonObject,
    warnings: answer.warnings.map((w) => w.replace(/^299 - "|"$/g, '').replaceAll('\\', '')),
  };
}

const label = (name: string): string => `pod-security.kubernetes.io/${name}`;
async function namespace(name: string, labels: Record<string, string>): Promise<string> {
  const made = await send('POST', '/api/v1/namespaces', {
    metadata: { name, labels: Object.fromEntries(Object.entries(labels).map(([k, v]) => [label(k), v])) },
  });
  assert.equal(made.status, 201, made.message);
  await send('POST', `/api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name: 'default' } });
  return `/api/v1/namespaces/${name}`;
}
const podSpec = (more: JsonObject = {}): JsonObject => ({ containers: [{ name: 'c', image: 'i' }], ...more });
const pod = (name: string, spec: JsonObject, annotations: Record<string, string> = {}): JsonObject => ({
  metadata: { name, annotations },
  spec,
});

test('an AppArmor annotation and the host of a probe do not pass baseline', async () => {
  const url = `${await namespace('base', { enforce: 'baseline' })}/pods`;
  const annotated = { 'container.apparmor.security.beta.kubernetes.io/c': 'unconfined' };
  const armor = await send('POST', url, pod('armor', podSpec(), annotated));
  assert.equal(armor.status, 403, 'AppArmor by annotation');
  assert.match(
    armor.message,
    /^pods "armor" is forbidden: violates PodSecurity "baseline:latest": forbidden AppArmor profile /,
  );
  const probed = podSpec({
    containers: [
      { name: 'c', image: 'i', livenessProbe: { httpGet: { host: '169.254.169.254', port: 80 } } },
    ],
  });
  const probe = await send('POST', url, pod('probe', probed));
  assert.equal(
    probe.message,
    'pods "probe" is forbidden: violates PodSecurity "baseline:latest": probe or lifecycle host (container "c" uses probe or lifecycle host "169.254.169.254")',
  );
  assert.equal((await send('POST', url, pod('fine', podSpec()))).status, 201);
});

test('a pinned version keeps the rules of its day', async () => {
  const old = await namespace('pinned', { enforce: 'baseline', 'enforce-version': 'v1.33' });
  const probed = podSpec({
    containers: [{ name: 'c', image: 'i', livenessProbe: { tcpSocket: { host: 'h', port: 80 } } }],
  });
  assert.equal((await send('POST', `${old}/pods`, pod('p', probed))).status, 201);
  const refused = await send('POST', `${old}/pods`, pod('q', podSpec({ hostPID: true })));
  assert.match(refused.message, /violates PodSecurity "baseline:v1\.33": host namespaces \(hostPID=true\)$/);
});

test('an ephemeral container and a new image are judged, a label is not', async () => {
  const base = await namespace('later', {});
  const made = await send('POST', `${base}/pods`, pod('p', podSpec({ hostNetwork: true })));
  assert.equal(made.status, 201, made.message);
  await send('PATCH', '/api/v1/namespaces/later', {
    metadata: { labels: { [label('enforce')]: 'baseline' } },
  });
  const labelled = await send('PATCH', `${base}/pods/p`, { metadata: { labels: { a: 'b' } } });
  assert.equal(labelled.status, 200, labelled.message);
  const image = await send('PATCH', `${base}/pods/p`, { spec: { containers: [{ name: 'c', image: 'j' }] } });
  assert.equal(image.status, 403, image.message);
  await send('POST', `${base}/pods`, pod('q', podSpec()));
  const debug = { name: 'd', image: 'i', securityContext: { privileged: true } };
  const ephemeral = await send('PATCH', `${base}/pods/q/ephemeralcontainers`, {
    spec: { ephemeralContainers: [debug] },
  });
  assert.equal(ephemeral.status, 403, ephemeral.message);
  assert.match(
    ephemeral.message,
    /privileged \(container "d" must not set securityContext\.privileged=true\)$/,
  );
});

test('templates are warned about, not refused; of every kind that holds one', async () => {
  await namespace('warned', { enforce: 'baseline', warn: 'restricted', 'warn-version': 'v1.18' });
  const template = { metadata: { labels: { a: 'b' } }, spec: podSpec({ hostNetwork: true }) };
  const selector = { matchLabels: { a: 'b' } };
  const once = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } };
  for (const [url, body] of [
    ['/apis/apps/v1/namespaces/warned/deployments', { spec: { selector, template } }],
    ['/apis/apps/v1/namespaces/warned/replicasets', { spec: { selector, template } }],
    ['/apis/apps/v1/namespaces/warned/daemonsets', { spec: { selector, template } }],
    ['/apis/apps/v1/namespaces/warned/statefulsets', { spec: { selector, template, serviceName: 's' } }],
    ['/apis/batch/v1/namespaces/warned/jobs', { spec: { template: once } }],
    [
      '/apis/batch/v1/namespaces/warned/cronjobs',
      { spec: { schedule: '* * * * *', jobTemplate: { spec: { template: once } } } },
    ],
    ['/api/v1/namespaces/warned/replicationcontrollers', { spec: { selector: { a: 'b' }, template } }],
    ['/api/v1/namespaces/warned/podtemplates', { template }],
  ] as const) {
    const answer = await send('POST', url, { metadata: { name: 'x' }, ...body } as JsonObject);
    assert.equal(answer.status, 201, `${url} ${answer.message}`);
    const about = answer.warnings.filter((w) =>
      w.startsWith('would violate PodSecurity "restricted:v1.18": '),
    );
    assert.equal(about.length, 1, `${url} ${answer.warnings.join()}`);
    assert.match(about[0]!, /host namespaces \(hostNetwork=true\), allowPrivilegeEscalation != false/);
  }
});

test('a namespace with a stricter level is told of the pods that it has; wrong labels are refused', async () => {
  const base = await namespace('grown', {});
  for (const name of ['b', 'a', 'c'])
    await send('POST', `${base}/pods`, pod(name, podSpec({ hostPID: true })));
  await send(
    'POST',
    `${base}/pods`,
    pod('d', podSpec({ hostPID: true, volumes: [{ name: 'v', hostPath: { path: '/' } }] })),
  );
  const set = (labels: Record<string, string>): Promise<Said> =>
    send('PATCH', '/api/v1/namespaces/grown', {
      metadata: { labels: Object.fromEntries(Object.entries(labels).map(([k, v]) => [label(k), v])) },
    });
  const stricter = await set({ enforce: 'baseline' });
  assert.equal(stricter.status, 200);
  assert.deepEqual(stricter.warnings, [
    'existing pods in namespace "grown" violate the new PodSecurity enforce level "baseline:latest"',
    'a (and 2 other pods): host namespaces',
    'd: host namespaces, hostPath volumes',
  ]);
  assert.deepEqual((await set({ enforce: 'privileged' })).warnings, []);
  const wrong = await set({ enforce: 'strict', 'warn-version': '1.36' });
  assert.equal(wrong.status, 422);
  assert.equal(
    wrong.message,
    'Namespace "grown" is invalid: [metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted, metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "1.36": must be "latest" or "v1.x"]',
  );
});

test('what is audited goes to the audit annotations of the request, and nowhere else', async () => {
  await namespace('audited', { audit: 'restricted', 'audit-version': 'v1.18' });
  const declaration = plane.controlPlane.api.scheme.resource('', 'v1', 'pods')!;
  const said = new Map<string, string>();
  createPodSecurity(plane.controlPlane.live).validate!({
    operation: 'CREATE',
    declaration,
    subresource: '',
    namespace: 'audited',
    name: 'p',
    object: pod('p', podSpec()),
    oldObject: undefined,
    user: administrator,
    dryRun: false,
    signal: new AbortController().signal,
    reinvocation: { wanted: false, again: false },
    options: {},
    warn: (text) => assert.fail(text),
    atEnd: () => {},
    annotate: (key, value) => void said.set(key, value),
    annotateContent: () => assert.fail('it has nothing to say of contents'),
  });
  assert.equal(said.get(label('enforce-policy')), 'privileged:latest');
  assert.match(
    said.get(label('audit-violations')) ?? '',
    /^would violate PodSecurity "restricted:v1\.18": allowPriv/,
  );
});

const appArmor = 'container.apparmor.security.beta.kubernetes.io/c';
const mirror = 'kubernetes.io/config.mirror';

test('annotations that the kubelet obeys neither come, change nor go after the pod was judged', async () => {
  const url = `${await namespace('kept', { enforce: 'baseline' })}/pods`;
  await send('POST', url, pod('plain', podSpec()));
  await send('POST', url, pod('armored', podSpec(), { [appArmor]: 'runtime/default' }));
  const field = (key: string): string => `metadata.annotations[${key}]: Forbidden: `;
  for (const [name, value, said] of [
    ['plain', 'unconfined', 'may not add AppArmor annotations'],
    ['armored', 'unconfined', 'may not remove or update AppArmor annotations'],
    ['armored', null, 'may not remove or update AppArmor annotations'],
  ] as const)
    for (const [part, body] of [
      ['', {}],
      ['/status', { status: { message: 'm' } }],
      ['/ephemeralcontainers', { spec: { ephemeralContainers: [{ name: 'e', image: 'i' }] } }],
      ['/resize', {}],
    ] as const) {
      const metadata = { annotations: { [appArmor]: value } };
      const answer = await send('PATCH', `${url}/${name}${part}`, { metadata, ...body } as JsonObject);
      const now = await send('GET', `${url}/${name}`, {});
      const kept = (now.object['metadata'] as JsonObject)['annotations'] as JsonObject | undefined;
      assert.equal(kept?.[appArmor], name === 'plain' ? undefined : 'runtime/default', `${part} kept`);
      if (answer.status === 200) continue; // a subresource that leaves metadata as it was
      assert.equal(answer.status, 422, `${part} ${answer.message}`);
      assert.equal(answer.message, `Pod "${name}" is invalid: ${field(appArmor)}${said}`);
    }
  const mirrored = await send('PATCH', `${url}/plain`, { metadata: { annotations: { [mirror]: 'x' } } });
  assert.equal(mirrored.status, 422);
  assert.ok(mirrored.message.includes(`${field(mirror)}may not add mirror pod annotation`), mirrored.message);
});

test('annotations of a new pod and of a template say what can be obeyed', async () => {
  const url = await namespace('said', {});
  const at = (key: string): string => `metadata.annotations[${key}]: Invalid value: `;
  const seccomp = 'seccomp.security.alpha.kubernetes.io/pod';
  for (const [key, value, said] of [
    [mirror, 'x', `${at(mirror)}"x": must set spec.nodeName if mirror pod annotation is set`],
    [appArmor, 'loud', `${at(appArmor)}"loud": invalid AppArmor profile name: "loud"`],
    [`${appArmor}x`, 'unconfined', `${at(`${appArmor}x`)}"cx": container not found`],
    [
      seccomp,
      'loud',
      `metadata.annotations.${seccomp}: Invalid value: "loud": must be a valid seccomp profile`,
    ],
    [
      seccomp,
      'localhost/../x',
      `metadata.annotations.${seccomp}: Invalid value: "../x": must not contain '..'`,
    ],
    [
      'controller.kubernetes.io/pod-deletion-cost',
      '+1',
      `${at('controller.kubernetes.io/pod-deletion-cost')}"+1": must be a 32bit integer`,
    ],
  ] as const) {
    const answer = await send('POST', `${url}/pods`, pod('p', podSpec(), { [key]: value }));
    assert.deepEqual([answer.status, answer.message], [422, `Pod "p" is invalid: ${said}`]);
  }
  const template = { metadata: { annotations: { [appArmor]: 'loud' } }, spec: podSpec() };
  const made = await send('POST', `${url}/podtemplates`, { metadata: { name: 't' }, template });
  assert.equal(
    made.message,
    `PodTemplate "t" is invalid: template.annotations[${appArmor}]: Invalid value: "loud": invalid AppArmor profile name: "loud"`,
  );
});

test('a seccomp annotation that changes is judged by the version of its day', async () => {
  const url = `${await namespace('day', { enforce: 'baseline', 'enforce-version': 'v1.18' })}/pods`;
  await send('POST', url, pod('p', podSpec()));
  const annotations = { 'container.seccomp.security.alpha.kubernetes.io/c': 'unconfined' };
  const answer = await send('PATCH', `${url}/p`, { metadata: { annotations } });
  assert.equal(answer.status, 403, answer.message);
  assert.match(answer.message, /violates PodSecurity "baseline:v1\.18": seccompProfile/);
});
