// What patching and tracking ownership cost on a pod of 2.5 KB, beside parsing its JSON once.
import { readFileSync } from 'node:fs';
import type { JsonObject, SchemaSource, TypeSchema } from '../src/apimachinery/declaration.ts';
import { applyPatch } from '../src/apimachinery/fieldmanager/apply-patch.ts';
import { trackUpdate } from '../src/apimachinery/fieldmanager/field-manager.ts';
import { applyMergePatch } from '../src/apimachinery/patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../src/apimachinery/patch/strategic-merge-patch.ts';
import { type Bench, bestOf, type Measurement } from './bench.ts';

const types = JSON.parse(
  readFileSync(new URL('../src/api/schema/types.json', import.meta.url), 'utf8'),
) as Record<string, TypeSchema>;
const schema: SchemaSource = { type: (name) => types[name] };
const type = 'io.k8s.api.core.v1.Pod';

function container(name: string, image: string): JsonObject {
  return {
    name,
    image,
    env: Array.from({ length: 12 }, (_, i) => ({ name: `VARIABLE_${i}`, value: `the value of number ${i}` })),
    ports: [{ containerPort: 80, protocol: 'TCP', name: 'http' }],
    resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '100m', memory: '128Mi' } },
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
    livenessProbe: { httpGet: { path: '/healthz', port: 'http' }, periodSeconds: 10 },
  };
}
const pod = (image: string): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'default', labels: { app: 'x', tier: 'y' } },
  spec: {
    containers: [container('main', image), container('side', image)],
    volumes: [{ name: 'data', emptyDir: {} }],
  },
});

async function microseconds(work: () => unknown): Promise<number> {
  for (let i = 0; i < 2_000; i++) work();
  return bestOf(7, async () => {
    const from = performance.now();
    for (let i = 0; i < 300; i++) work();
    return ((performance.now() - from) / 300) * 1_000;
  });
}

export const bench: Bench = {
  name: 'patch',
  question: 'what do patches and the tracking of ownership cost on a pod?',
  async run() {
    const request = { schema, type, apiVersion: 'v1', subresource: '', time: '2026-01-01T00:00:00Z' };
    const live = trackUpdate({ ...request, live: undefined, result: pod('a:1'), manager: 'kubectl-create' });
    const applied = applyPatch({ ...request, live, patch: pod('a:1'), manager: 'kubectl', force: true });
    const text = JSON.stringify(applied);
    const floor = { what: 'JSON.parse of the pod', value: await microseconds(() => JSON.parse(text)) };
    const row = async (what: string, aim: number, work: () => unknown): Promise<Measurement> => ({
      what,
      value: await microseconds(work),
      unit: 'µs',
      floor,
      aim: { value: aim },
    });
    const image = { spec: { containers: [{ name: 'main', image: 'b:2' }] } };
    return [
      await row('server-side apply that changes two images', 400, () =>
        applyPatch({ ...request, live: applied, patch: pod('b:2'), manager: 'kubectl', force: true }),
      ),
      await row('ownership of a create', 60, () =>
        trackUpdate({ ...request, live: undefined, result: pod('a:1'), manager: 'kubectl-create' }),
      ),
      await row('strategic merge patch', 50, () => applyStrategicMergePatch(applied, image, schema, type)),
      await row('merge patch', 50, () => applyMergePatch(applied, { metadata: { labels: { a: 'b' } } })),
    ];
  },
};
