// What admission policies cost a write: none at all, policies for other kinds, and simple ones for this kind.
import type { JsonObject } from '../src/apimachinery/declaration.ts';
import {
  startTestControlPlane,
  type TestControlPlane,
} from '../src/controlplane/testing/test-control-plane.ts';
import { type Bench, bestOf, cpuPerOperation, type Measurement } from './bench.ts';

const registration = '/apis/admissionregistration.k8s.io/v1';
const creates = 1_500;
const rounds = 5;

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

async function enforce({ ask }: TestControlPlane, resource: string): Promise<void> {
  for (const [i, expression] of [limited, known].entries()) {
    const name = `${resource}-${i}`;
    const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: [resource] };
    const spec = { matchConstraints: { resourceRules: [rule] }, validations: [{ expression }] };
    await ask('POST', `${registration}/validatingadmissionpolicies`, { metadata: { name }, spec });
    await ask('POST', `${registration}/validatingadmissionpolicybindings`, {
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    });
  }
}

/** CPU of the server of one create, in its own thread; nothing is stored. */
async function createCost({ ask }: TestControlPlane): Promise<number> {
  const url = '/api/v1/namespaces/default/pods?dryRun=All';
  const work = async (): Promise<void> => {
    for (let i = 0; i < creates; i++) {
      const answer = await ask('POST', url, pod);
      if (answer.status !== 201) throw new Error(answer.text);
    }
  };
  await work();
  return bestOf(rounds, () => cpuPerOperation(creates, work));
}

export const bench: Bench = {
  name: 'admission',
  question: 'what do admission policies cost a create?',
  async run() {
    const plane = await startTestControlPlane();
    await plane.ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
    const none = await createCost(plane);
    await enforce(plane, 'services');
    const others = await createCost(plane);
    await enforce(plane, 'pods');
    const two = await createCost(plane);
    await plane.close();
    const floor = { what: 'without policies', value: none };
    const row = (what: string, value: number, aim: number): Measurement => ({
      what,
      value,
      unit: 'µs',
      floor,
      aim: { value: none + aim },
    });
    return [
      row('create of a pod, two policies for Services', others, 10),
      row('create of a pod, two simple policies for it', two, 60),
    ];
  },
};
