// From what a kubelet counts to what was used lately: two readings of each container make one answer, by metrics-server's rules. Pure.

/** What a node or a container has used, at a moment. */
export interface Point {
  /** When it began to count; undefined: nobody says. */
  readonly startMs?: number | undefined;
  readonly atMs: number;
  /** Of all its time. */
  readonly cpuNs: number;
  readonly memoryBytes: number;
}

/** What a kubelet says at once. */
export interface Reading {
  readonly node: Point | undefined;
  /** By `namespace/name`, then by container. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Point>>;
}

interface Points {
  readonly last: Point;
  /** Before it, since the same start. */
  readonly before?: Point | undefined;
}

/** What is kept of a node. */
export interface NodePoints {
  readonly node: Points | undefined;
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Points>>;
}

/** What was used over a window that ends at a moment. */
export interface Usage {
  readonly atMs: number;
  readonly windowMs: number;
  readonly cpuNanoCores: number;
  readonly memoryBytes: number;
}

export interface PodUsage {
  readonly atMs: number;
  readonly windowMs: number;
  readonly containers: readonly (Pick<Usage, 'cpuNanoCores' | 'memoryBytes'> & { readonly name: string })[];
}

/** How often kubelets are asked. */
export const resolutionMs = 15_000;
/** A container of this age at least is measured from its start, so that it need not wait for a second reading. */
const freshMs = 10_000;

/** `known` is of the reading before; what was told at the same moment as then is no second point. */
function after(known: Points | undefined, point: Point): Points {
  if (known === undefined) return { last: point };
  if (point.atMs > known.last.atMs) return { last: point, before: known.last };
  const { before } = known;
  return before !== undefined && before.atMs < point.atMs ? { last: point, before } : { last: point };
}

function ofContainer(known: Points | undefined, point: Point): Points {
  const { startMs, atMs } = point;
  if (startMs !== undefined && startMs < atMs) {
    const ageMs = atMs - startMs;
    if (ageMs < resolutionMs && ageMs >= freshMs)
      return { last: point, before: { ...point, atMs: startMs, cpuNs: 0 } };
  }
  // What began after the last reading counts from nothing: both make no rate.
  const isSame = known !== undefined && (startMs ?? 0) < known.last.atMs;
  return after(isSame ? known : undefined, point);
}

/** What is kept once a kubelet has answered; of what it no longer tells, nothing. */
export function withReading(known: NodePoints | undefined, { node, pods }: Reading): NodePoints {
  return {
    node: node && after(known?.node, node),
    pods: new Map(
      [...pods].map(([pod, containers]) => [
        pod,
        new Map(
          [...containers].map(([name, point]) => [name, ofContainer(known?.pods.get(pod)?.get(name), point)]),
        ),
      ]),
    ),
  };
}

function usageOf({ last, before }: Points): Usage | undefined {
  if (before === undefined || last.cpuNs < before.cpuNs) return undefined;
  if ((last.startMs ?? 0) < (before.startMs ?? 0)) return undefined;
  const windowMs = last.atMs - before.atMs;
  return {
    atMs: last.atMs,
    windowMs,
    cpuNanoCores: Math.floor(((last.cpuNs - before.cpuNs) * 1000) / windowMs),
    memoryBytes: last.memoryBytes,
  };
}

export const usageOfNode = (points: NodePoints | undefined): Usage | undefined =>
  points?.node && usageOf(points.node);

/** Nothing as long as one of its containers was read once only. */
export function usageOfPod(points: NodePoints | undefined, pod: string): PodUsage | undefined {
  const containers = [...(points?.pods.get(pod) ?? [])];
  if (containers.some(([, { before }]) => before === undefined)) return undefined;
  const used = containers.flatMap(([name, kept]) => {
    const usage = usageOf(kept);
    return usage === undefined ? [] : [{ name, ...usage }];
  });
  const [first] = used;
  if (first === undefined) return undefined;
  const earliest = used.reduce((a, b) => (b.atMs < a.atMs ? b : a), first);
  return {
    atMs: earliest.atMs,
    windowMs: earliest.windowMs,
    containers: used.map(({ name, cpuNanoCores, memoryBytes }) => ({ name, cpuNanoCores, memoryBytes })),
  };
}
