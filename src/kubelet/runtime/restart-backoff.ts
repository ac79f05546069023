// How long a failing container or image waits before the next try: 10 s, doubled up to 5 minutes. Pure.

interface Entry {
  readonly delayMs: number;
  readonly sinceMs: number;
}

export interface BackoffOptions {
  readonly firstMs: number;
  readonly maxMs: number;
}

const containerBackoff: BackoffOptions = { firstMs: 10_000, maxMs: 300_000 };

/** Keys are a container's name and definition, or an image. */
export class RestartBackoff {
  readonly #entries = new Map<string, Entry>();
  readonly #options: BackoffOptions;
  constructor(options: BackoffOptions = containerBackoff) {
    this.#options = options;
  }

  /** Milliseconds still to wait after an end at `eventMs`; 0: go on. */
  remainingMs(key: string, eventMs: number, nowMs: number): number {
    const entry = this.#entries.get(key);
    if (!entry || this.#isOld(entry, eventMs)) return 0;
    // An end in the future: the clock was set back. Nobody waits longer for it than for one of this moment.
    return Math.max(entry.delayMs - Math.max(nowMs - eventMs, 0), 0);
  }

  /** What the next wait is, for messages. */
  delayMs(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  /** A try begins: the next one waits twice as long. */
  next(key: string, eventMs: number, nowMs: number): void {
    const entry = this.#entries.get(key);
    const fresh = !entry || this.#isOld(entry, eventMs);
    const delayMs = fresh ? this.#options.firstMs : Math.min(entry.delayMs * 2, this.#options.maxMs);
    this.#entries.set(key, { delayMs, sinceMs: nowMs });
  }

  reset(key: string): void {
    this.#entries.delete(key);
  }

  /** Who ran well for twice the longest wait begins anew. */
  #isOld(entry: Entry, eventMs: number): boolean {
    return eventMs - entry.sinceMs > 2 * this.#options.maxMs;
  }
}

/** As Go prints a duration: `10s`, `1m20s`, `5m0s`. */
export function goSeconds(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${minutes}m${seconds % 60}s`
    : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds % 60}s`;
}
