// What a kubelet says at /metrics/resource, read as metrics-server reads it. Pure.
import { latestTimeMs } from '../../base/clock.ts';
import type { Point, Reading } from './usage-points.ts';

interface Said {
  startMs?: number;
  atMs?: number;
  cpuNs?: number;
  memoryBytes?: number;
}

type Note = (said: Said, value: number, atMs: number) => void;

const cpu: Note = (said, value, atMs) => {
  said.cpuNs = Math.floor(value * 1e9);
  said.atMs = atMs;
};
const memory: Note = (said, value, atMs) => {
  said.memoryBytes = Math.floor(value);
  said.atMs = atMs;
};
const start: Note = (said, value) => {
  said.startMs = value * 1000;
};

const families: ReadonlyMap<string, { readonly of: 'node' | 'container'; readonly note: Note }> = new Map([
  ['node_cpu_usage_seconds_total', { of: 'node', note: cpu }],
  ['node_memory_working_set_bytes', { of: 'node', note: memory }],
  ['container_cpu_usage_seconds_total', { of: 'container', note: cpu }],
  ['container_memory_working_set_bytes', { of: 'container', note: memory }],
  ['container_start_time_seconds', { of: 'container', note: start }],
]);

/** Names of pods, namespaces and containers need no quoting. */
function label(labels: string, name: string): string {
  const from = labels.indexOf(`${name}="`);
  if (from < 0) return '';
  const begin = from + name.length + 2;
  return labels.slice(begin, labels.indexOf('"', begin));
}

/** What counts and what it needs to count; a kubelet that has not measured says zero. */
const complete = ({ startMs, atMs, cpuNs = 0, memoryBytes = 0 }: Said): Point | undefined =>
  atMs === undefined || cpuNs === 0 || memoryBytes === 0
    ? undefined
    : { ...(startMs === undefined ? {} : { startMs }), atMs, cpuNs, memoryBytes };

/** Of a pod of which something is missing, nothing is said. */
function completePods(said: ReadonlyMap<string, ReadonlyMap<string, Said>>): Reading['pods'] {
  const pods = new Map<string, ReadonlyMap<string, Point>>();
  for (const [pod, containers] of said) {
    const points = [...containers].map(([name, each]) => [name, complete(each)] as const);
    const whole = points.filter((entry): entry is [string, Point] => entry[1] !== undefined);
    if (whole.length === points.length) pods.set(pod, new Map(whole));
  }
  return pods;
}

const isWithinTime = (ms: number): boolean => ms > 0 && ms <= latestTimeMs;

/** `nowMs` is the time of what comes without one. Numbers that nothing can have are passed over. */
export function readResourceText(text: string, nowMs: number): Reading {
  const node: Said = {};
  const pods = new Map<string, Map<string, Said>>();
  const containerOf = (labels: string): Said => {
    const pod = `${label(labels, 'namespace')}/${label(labels, 'pod')}`;
    const name = label(labels, 'container');
    const containers = pods.get(pod) ?? new Map<string, Said>();
    pods.set(pod, containers);
    const said = containers.get(name) ?? {};
    containers.set(name, said);
    return said;
  };
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('\n', from);
    const line = text.slice(from, end < 0 ? text.length : end);
    from = end < 0 ? text.length : end + 1;
    const brace = line.indexOf('{');
    const close = line.lastIndexOf('}');
    const space = line.indexOf(' ', close < 0 ? 0 : close);
    const family = families.get(line.slice(0, brace < 0 ? space : brace));
    if (family === undefined || space < 0) continue;
    const [value = '', at = ''] = line.slice(space + 1).split(' ');
    const [number, atMs] = [Number(value), at === '' ? nowMs : Number(at)];
    if (value === '' || !(number >= 0 && number < 1e18) || !isWithinTime(atMs)) continue;
    family.note(family.of === 'node' ? node : containerOf(line.slice(brace, close)), number, atMs);
  }
  return { node: complete(node), pods: completePods(pods) };
}
