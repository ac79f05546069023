// A control plane with the admission plugins that a test asks for, and files that tell them something.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import { type AdmissionFlags, configuredAdmission } from '../../src/cmd/compose/configured-admission.ts';
import { createMetrics } from '../../src/component-base/metrics.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import {
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { type AdmissionChoice, admissionPlugins } from '../../src/plugins/admission/registry.ts';
import { scratchDirectory } from '../harness/scratch.ts';

/** With the default namespace's account, so that pods can be made. */
export async function planeWith(admission: AdmissionChoice): Promise<TestControlPlane> {
  const plane = await startTestControlPlane({ admission });
  after(() => plane.close());
  await account(plane, 'default');
  return plane;
}
const account = (plane: TestControlPlane, namespace: string) =>
  plane.ask('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } });
export async function namespace(
  plane: TestControlPlane,
  name: string,
  metadata: object = {},
): Promise<string> {
  assert.equal(
    (await plane.ask('POST', '/api/v1/namespaces', { metadata: { name, ...metadata } })).status,
    201,
  );
  await account(plane, name);
  return `/api/v1/namespaces/${name}/pods`;
}
export const pod = (name: string, spec: object = {}, metadata: object = {}): object => ({
  metadata: { name, ...metadata },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});
export const pods = '/api/v1/namespaces/default/pods';

interface Spec {
  readonly containers: readonly { imagePullPolicy?: string }[];
  readonly nodeSelector?: Record<string, string>;
  readonly tolerations?: readonly { key?: string }[];
}
export const specOf = ({ body }: { body: Record<string, unknown> }): Spec => body.spec as Spec;

/** Of a file of tests. */
const scratch = scratchDirectory('admission-plugins');
after(scratch.remove);
export const folder: string = scratch.path;
let files = 0;
export function fileOf(content: object | string): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${files++}.yaml`);
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}
export const configured = (flags: AdmissionFlags): Promise<AdmissionChoice> =>
  configuredAdmission(flags, systemClock, () => {});
export const toldBy = (...plugins: object[]): string =>
  fileOf({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AdmissionConfiguration', plugins });

export const told: Readonly<Record<string, object>> = {
  EventRateLimit: {
    apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1',
    kind: 'Configuration',
    limits: [{ type: 'Server', qps: 1, burst: 1 }],
  },
  ImagePolicyWebhook: { imagePolicy: { kubeConfigFile: '/none' } },
};
export const madeBy = async (choice: AdmissionChoice): Promise<string[]> => {
  const deps = { webhooks: {}, clock: systemClock, metrics: createMetrics() } as Parameters<
    typeof admissionPlugins
  >[0];
  const reviewerOf = async () => ({ review: async () => ({}) });
  const plugins = await admissionPlugins(deps, { configOf: (name) => told[name], reviewerOf, ...choice });
  return plugins.map(({ name }) => name);
};
