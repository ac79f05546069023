// The shape of a benchmark: one question a file, with its floor or peer measured in the same run.

export interface Measurement {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** The same work by the bare means (a raw http2 server, an fdatasync loop, `runc run`), in the same unit and run. */
  readonly floor?: { readonly what: string; readonly value: number };
  /** From design.md. `lower` is better unless said. */
  readonly aim?: { readonly value: number; readonly better?: 'higher' };
}

/** Said on the command line; a bench that draws nothing by chance takes none of it. */
export interface BenchArguments {
  /** This one alone, told in full. */
  readonly seed?: number;
  /** So many, from 0. */
  readonly seeds?: number;
}

export interface Bench {
  readonly name: string;
  readonly question: string;
  /** True when it needs root, containerd and the namespace box. */
  readonly needsBox?: boolean;
  run(asked: BenchArguments): Promise<readonly Measurement[]>;
}

/** CPU microseconds (user and system) that `work` cost this process, by `count`. */
export async function cpuPerOperation(
  count: number,
  work: () => Promise<unknown> | unknown,
): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const used = process.cpuUsage(before);
  return (used.user + used.system) / count;
}

/** The smallest of several rounds: the one that the neighbours disturbed least. */
export async function bestOf(rounds: number, measure: () => Promise<number>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < rounds; i++) best = Math.min(best, await measure());
  return best;
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}
