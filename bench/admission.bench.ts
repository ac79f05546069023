// What admission costs a write: policies for other kinds, simple policies for this kind, a webhook.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { JsonObject } from '../src/apimachinery/declaration.ts';
import { createWebhookClient } from '../src/apiserver/admission/webhook/webhook-client.ts';
import { systemClock } from '../src/component-base/system-clock.ts';
import {
  startTestControlPlane,
  type TestControlPlane,
} from '../src/controlplane/testing/test-control-plane.ts';
import { type Bench, cpuPerOperation, type Measurement, quantile } from './bench.ts';
import { withUs } from './harness/servers.ts';

const registration = '/apis/admissionregistration.k8s.io/v1';
/**
 * Rounds so short that what waits for a webhook and what waits for nobody come to their processor alike: of longer ones that never wait
 * some are not disturbed at all, and of those that wait all are, so that their least told of the machine what was put down to the webhook.
 */
const creates = 6;
const rounds = 500;
/** Of the first rounds functions are still compiled. */
const warm = 100;
/** The rounds that others disturbed least, but not one of them by itself. */
const undisturbed = 0.1;

const pod: JsonObject = {
  metadata: { name: 'p', labels: { app: 'a' } },
  spec: {
    serviceAccountName: 'default',
    automountServiceAccountToken: false,
    containers: [
      { name: 'a', image: 'registry.example.com/a:1', resources: { limits: { cpu: '1', memory: '1Gi' } } },
      { name: 'b', image: 'registry.example.com/b:1', resources: { limits: { cpu: '1', memory: '1Gi' } } },
    ],
  },
};
const limited = 'object.spec.containers.all(c, has(c.resources) && has(c.resources.limits))';
const known = "object.spec.containers.all(c, c.image.startsWith('registry.example.com/'))";

async function plane(): Promise<TestControlPlane> {
  const made = await startTestControlPlane();
  await made.ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  return made;
}

const creating = (resource: string): object => ({
  operations: ['CREATE'],
  apiGroups: [''],
  apiVersions: ['v1'],
  resources: [resource],
});

async function enforce({ ask }: TestControlPlane, resource: string): Promise<void> {
  for (const [i, expression] of [limited, known].entries()) {
    const name = `${resource}-${i}`;
    const spec = { matchConstraints: { resourceRules: [creating(resource)] }, validations: [{ expression }] };
    await ask('POST', `${registration}/validatingadmissionpolicies`, { metadata: { name }, spec });
    await ask('POST', `${registration}/validatingadmissionpolicybindings`, {
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    });
  }
}

interface Webhook {
  readonly url: string;
  readonly caBundle: string;
  stop(): void;
}

async function startWebhook(): Promise<Webhook> {
  const program = fileURLToPath(new URL('harness/webhook-process.ts', import.meta.url));
  const child = spawn(...withUs(process.execPath, [program]), { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { ...(JSON.parse(line.toString()) as Webhook), stop: () => void child.kill() };
}

async function askWebhook({ ask }: TestControlPlane, { url, caBundle }: Webhook): Promise<void> {
  const webhook = {
    name: 'h.example.com',
    clientConfig: { url, caBundle },
    rules: [creating('pods')],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  };
  await ask('POST', `${registration}/validatingwebhookconfigurations`, {
    metadata: { name: 'h' },
    webhooks: [webhook],
  });
}

/** One create; nothing is stored. */
const create =
  ({ ask }: TestControlPlane): (() => Promise<void>) =>
  async () => {
    const answer = await ask('POST', '/api/v1/namespaces/default/pods?dryRun=All', pod);
    if (answer.status !== 201) throw new Error(answer.text);
  };

/** The same question by Node's client alone, over a connection that is kept. */
function bareCall({ url, caBundle }: Webhook): () => Promise<void> {
  const agent = new Agent({ keepAlive: true, ca: Buffer.from(caBundle, 'base64') });
  const review = { apiVersion: 'admission.k8s.io/v1', request: { uid: 'u', object: pod } };
  return async () => {
    const body = JSON.stringify(review);
    const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
    const outgoing = request(url, { method: 'POST', agent, headers });
    outgoing.end(body);
    const [response] = await once(outgoing, 'response');
    JSON.parse(await text(response));
  };
}

/** The same by the client that webhooks are asked with. */
function clientCall({ url, caBundle }: Webhook): () => Promise<void> {
  const nobody = (): never => {
    throw new Error('asked by its URL');
  };
  const client = createWebhookClient({ clock: systemClock, resolve: nobody, userAgent: 'bench' });
  const { signal } = new AbortController();
  const review = { apiVersion: 'admission.k8s.io/v1', request: { uid: 'u', object: pod } };
  const address = { url, caBundle };
  return async () => {
    const { body } = await client.ask(address, { body: JSON.stringify(review), timeoutMs: 10_000, signal });
    JSON.parse(body.toString());
  };
}

const oneAfterTheOther =
  (first: () => Promise<void>, second: () => Promise<void>): (() => Promise<void>) =>
  async () => {
    await first();
    await second();
  };

/** CPU of this process of one of each, in turns. */
async function inTurns(work: Readonly<Record<string, () => Promise<void>>>): Promise<Record<string, number>> {
  const costs = new Map<string, number[]>(Object.keys(work).map((name) => [name, []]));
  for (let round = 0; round < warm + rounds; round++)
    for (const [name, once] of Object.entries(work)) {
      const all = async (): Promise<void> => {
        for (let i = 0; i < creates; i++) await once();
      };
      const cost = await cpuPerOperation(creates, all);
      if (round >= warm) costs.get(name)!.push(cost);
    }
  return Object.fromEntries([...costs].map(([name, all]) => [name, quantile(all, undisturbed)]));
}

async function run(): Promise<readonly Measurement[]> {
  const webhook = await startWebhook();
  const planes = [await plane(), await plane(), await plane(), await plane()] as const;
  const [bare, others, both, asking] = planes;
  await enforce(others, 'services');
  await enforce(both, 'pods');
  await askWebhook(asking, webhook);
  const cost = await inTurns({
    bare: create(bare),
    others: create(others),
    both: create(both),
    asking: create(asking),
    call: bareCall(webhook),
    client: clientCall(webhook),
    apart: oneAfterTheOther(create(bare), bareCall(webhook)),
  });
  for (const one of planes) await one.close();
  webhook.stop();
  const floor = { what: 'without policies', value: cost['bare']! };
  const more = (what: string, value: number, aim: number): Measurement => ({
    what,
    value,
    unit: 'µs',
    floor,
    aim: { value: floor.value + aim },
  });
  const call = { what: 'the question by node:https', value: cost['call']! };
  return [
    more('create of a pod, two policies for Services', cost['others']!, 10),
    more('create of a pod, two simple policies for it', cost['both']!, 60),
    {
      what: 'a validating webhook: what a create is dearer',
      value: cost['asking']! - floor.value,
      unit: 'µs',
      floor: call,
      aim: { value: call.value * 1.5 },
    },
    { what: "… of that the webhook's client", value: cost['client']!, unit: 'µs', floor: call },
    {
      what: '… what a create and that question are dearer, one after the other',
      value: cost['apart']! - floor.value,
      unit: 'µs',
      floor: call,
    },
    { what: 'create of a pod with it', value: cost['asking']!, unit: 'µs', floor: call },
  ];
}

export const bench: Bench = {
  name: 'admission',
  question: 'what do admission policies and webhooks cost a create?',
  run,
};
