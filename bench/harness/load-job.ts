// What the load client is asked to do, and what it answers.

export interface Target {
  readonly origin: string;
  /** The process whose CPU is read. */
  readonly pid: number;
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
}

/** `{i}` in path and body becomes the number of the request. */
export interface Requests {
  readonly kind: 'requests';
  readonly protocol: 'http/1.1' | 'h2';
  /** Each sends one request after the other. */
  readonly connections: number;
  readonly total: number;
  /** As many a second, spread evenly; default: as many as the connections take. */
  readonly perSecond?: number;
  /** Number of the first request. */
  readonly from?: number;
  readonly method: string;
  readonly path: string;
  /** The path counts modulo this: many requests for few objects. */
  readonly names?: number;
  readonly contentType?: string;
  readonly body?: string;
}

/** Watches on HTTP/2, then creates until every watcher has had every event. */
export interface FanOut {
  readonly kind: 'fan-out';
  readonly connections: number;
  readonly watchersPerConnection: number;
  readonly events: number;
  /** Creates that are under way at once. */
  readonly creators: number;
  readonly watchPath: string;
  readonly createPath: string;
  readonly body: string;
}

export interface LoadJob {
  readonly target: Target;
  readonly work: Requests | FanOut;
}

export interface LoadResult {
  /** Of requests, or of deliveries. */
  readonly count: number;
  readonly cpuMicros: number;
  readonly wallMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly bytes: number;
}
