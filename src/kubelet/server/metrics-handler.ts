// `/metrics` is about the agent itself, `/metrics/probes` about probes, `/metrics/resource` and `/metrics/cadvisor` about what its pods use.
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import type { HttpResponse } from '../../wire/http-message.ts';
import { cgroupFamilies } from '../metrics/cgroup-families.ts';
import { readGroups } from '../metrics/cgroup-readings.ts';
import { exposition, expositionType, type Family } from '../metrics/exposition.ts';
import { resourceFamilies } from '../metrics/resource-families.ts';
import { uses } from './container-uses.ts';
import { type KubeletServerDeps, type RouteInput, textResponse } from './route.ts';

async function registered(registry: Pick<MetricsRegistry, 'text'>): Promise<HttpResponse> {
  const { text, contentType } = await registry.text();
  return { status: 200, headers: { 'content-type': contentType }, body: Buffer.from(text) };
}

const shown = (families: readonly Family[]): HttpResponse => ({
  status: 200,
  headers: { 'content-type': expositionType },
  body: Buffer.from(exposition(families)),
});

async function resource(deps: KubeletServerDeps): Promise<HttpResponse> {
  const { ctx, host } = deps;
  // Whoever scrapes is told that something is missing, and gets the rest.
  const all = await uses(deps).catch((error: unknown) => {
    ctx.log.warn({ error }, 'what pods use could not be read');
    return undefined;
  });
  return shown(
    resourceFamilies({
      uses: all ?? [],
      node: await host.stats.usage(),
      nowMs: ctx.clock.now(),
      failed: all === undefined,
    }),
  );
}

/** By cAdvisor's names, though there is none; nothing of pods on a node without control groups. */
async function cadvisor(deps: KubeletServerDeps): Promise<HttpResponse> {
  const { ctx, host, workers } = deps;
  const { cgroups, cgroupRoot, log, machine } = ctx;
  const groups = cgroups && { cgroups, cgroupRoot, log, stats: host.stats, workers: workers.list() };
  const { all, failed } = groups ? await readGroups(groups) : { all: [], failed: false };
  const atMs = ctx.clock.now();
  const { machineId: machine_id, systemUuid: system_uuid, bootId: boot_id } = machine;
  const labels = { boot_id, machine_id, system_uuid };
  const one = (name: string, help: string, value: number, more: object = {}): Family => ({
    name,
    help,
    type: 'gauge',
    rows: [{ value, atMs, ...more }],
  });
  return shown([
    ...cgroupFamilies(all, atMs),
    one(
      'container_scrape_error',
      '1 if there was an error while getting container metrics, 0 otherwise',
      failed ? 1 : 0,
    ),
    one('machine_cpu_cores', 'Number of logical CPU cores.', machine.cpuCount, { labels }),
    one('machine_memory_bytes', 'Amount of memory installed on the machine.', machine.memoryBytes, {
      labels,
    }),
  ]);
}

const parts: Readonly<Record<string, (deps: KubeletServerDeps) => Promise<HttpResponse>>> = Object.assign(
  Object.create(null),
  {
    '': ({ metrics }: KubeletServerDeps) => registered(metrics['']),
    probes: ({ metrics }: KubeletServerDeps) => registered(metrics.probes),
    resource,
    cadvisor,
  },
);

export async function metrics(input: RouteInput): Promise<HttpResponse> {
  const part = parts[input.parts[0] ?? ''];
  return part ? part(input.deps) : textResponse(404, '404 page not found\n');
}
