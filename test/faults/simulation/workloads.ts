// Workloads out of a seed: of both systems, with budgets, priorities, quotas.
import * as resources from '../../../src/api/generated/resources.ts';
import type { ResourceRef } from '../../../src/apimachinery/resource-ref.ts';
import type { Client } from '../../../src/client/client.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';

export const namespace = 'shop';

export type WorkloadKind = 'Deployment' | 'StatefulSet' | 'DaemonSet' | 'Job';

export interface Workload {
  readonly kind: WorkloadKind;
  readonly name: string;
  readonly os: 'linux' | 'windows';
  replicas: number;
  /** Each version has another template. */
  version: number;
  readonly create: (client: Client) => Promise<void>;
}

const refs: Readonly<Record<WorkloadKind, ResourceRef>> = {
  Deployment: resources.deployments,
  StatefulSet: resources.statefulsets,
  DaemonSet: resources.daemonsets,
  Job: resources.jobs,
};

export const refOf = ({ kind }: Workload): ResourceRef => refs[kind];

const percent = (chance: SeededRandom, most: number): number | string =>
  chance.below(2) === 0 ? chance.below(most + 1) : `${chance.below(6) * 10}%`;

interface Special {
  readonly priorityClassName?: string;
  readonly cpu?: string;
}

function template(
  chance: SeededRandom,
  os: string,
  app: string,
  {
    cpu = chance.pick(['50m', '100m', '250m', '400m']),
    ...more
  }: Special & { readonly restartPolicy?: string } = {},
): object {
  return {
    metadata: { labels: { app }, annotations: { version: '1' } },
    spec: {
      os: { name: os },
      nodeSelector: { 'kubernetes.io/os': os },
      // Without a grace a pod is gone before it has ended, and the next one of its name may run beside it.
      terminationGracePeriodSeconds: chance.pick([app.startsWith('statefulset') ? 1 : 0, 1, 5, 30]),
      containers: [
        {
          name: 'c',
          image: 'example.com/c:1',
          resources: { requests: { cpu, memory: '64Mi' } },
        },
      ],
      ...more,
    },
  };
}

/** maxSurge and maxUnavailable are not both none. */
function strategy(chance: SeededRandom): object {
  if (chance.below(6) === 0) return { type: 'Recreate' };
  const [maxSurge, maxUnavailable] = [percent(chance, 2), percent(chance, 2)];
  const none = (value: number | string): boolean => Number.parseInt(String(value), 10) === 0;
  const both = none(maxSurge) && none(maxUnavailable);
  return { type: 'RollingUpdate', rollingUpdate: { maxSurge: both ? 1 : maxSurge, maxUnavailable } };
}

function budget(chance: SeededRandom): object | undefined {
  const which = chance.below(3);
  if (which === 0) return undefined;
  return which === 1 ? { minAvailable: percent(chance, 2) } : { maxUnavailable: 1 + chance.below(2) };
}

/** One of the kind; all that is chance in it is drawn now, not when it is made. */
export function workloadOf(
  chance: SeededRandom,
  kind: WorkloadKind,
  serial: number,
  special: Special = {},
): Workload {
  const os = chance.below(3) === 0 ? 'windows' : 'linux';
  const name = `${kind.toLowerCase()}-${serial}`;
  const metadata = { name, namespace };
  const selector = { matchLabels: { app: name } };
  const replicas = kind === 'DaemonSet' ? 1 : 1 + chance.below(os === 'windows' ? 3 : 6);
  const spec: Record<string, unknown> = { selector, template: template(chance, os, name, special) };
  let limits: object | undefined;
  if (kind === 'Deployment') {
    Object.assign(spec, { replicas, strategy: strategy(chance) });
    limits = budget(chance);
  }
  if (kind === 'StatefulSet') {
    const podManagementPolicy = chance.pick(['OrderedReady', 'Parallel']);
    Object.assign(spec, { replicas, serviceName: name, podManagementPolicy });
    limits = budget(chance);
  }
  if (kind === 'DaemonSet')
    spec['updateStrategy'] = {
      type: 'RollingUpdate',
      rollingUpdate:
        chance.below(2) === 0 ? { maxUnavailable: 1 + chance.below(2) } : { maxSurge: 1, maxUnavailable: 0 },
    };
  if (kind === 'Job') {
    const annotations = { 'porthole.dev/simulated-run-seconds': String(1 + chance.below(60)) };
    const made = template(chance, os, name, { restartPolicy: chance.pick(['Never', 'OnFailure']) });
    const completionMode = chance.pick(['NonIndexed', 'Indexed']);
    Object.assign(spec, {
      completions: replicas,
      parallelism: 1 + chance.below(3),
      completionMode,
      backoffLimit: 1000,
    });
    spec['template'] = { ...made, metadata: { labels: { app: name }, annotations } };
    delete spec['selector'];
  }
  return {
    kind,
    name,
    os,
    replicas,
    version: 1,
    create: async (client) => {
      if (limits !== undefined)
        await client.create(resources.poddisruptionbudgets, {
          metadata,
          spec: { selector, ...limits },
        } as never);
      if (kind !== 'Job')
        await client.create(resources.services, {
          metadata,
          spec: { selector: { app: name }, ports: [{ port: 80 }] },
        } as never);
      await client.create(refs[kind] as never, { metadata, spec } as never);
    },
  };
}
