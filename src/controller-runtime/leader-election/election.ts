// Who leads, by a Lease: client-go's rules as a state machine. Times are those of the one clock of whoever asks; what
// others wrote of time is never compared with it. Pure.

export interface ElectionTimes {
  /** How long a leader is believed that was not heard of. */
  readonly leaseDurationMs: number;
  /** How long it leads by itself without having renewed: less, so that it ends before others begin. */
  readonly renewDeadlineMs: number;
  /** How often it renews, and others look. */
  readonly retryPeriodMs: number;
}

/** As upstream's components. */
export const usualTimes: ElectionTimes = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
};

/** What a Lease says of who leads. */
export interface Leadership {
  /** '' when it was given back. */
  readonly holder: string;
  readonly durationSeconds: number;
  readonly transitions: number;
  /** Text that is kept as it is while one leads. */
  readonly acquireTime: string;
}

/** A state of the Lease: each write of it has another version. */
export interface Observation {
  readonly leadership: Leadership;
  readonly version: string;
}

export interface Election {
  readonly identity: string;
  /** What the Lease is known to be, and since when. */
  readonly observed: (Observation & { readonly sinceMs: number }) | undefined;
  /** When the write began by which it leads. */
  readonly renewedMs: number | undefined;
}

export const candidate = (identity: string): Election => ({
  identity,
  observed: undefined,
  renewedMs: undefined,
});

/** The Lease was read. A version that is known already was not renewed since. */
export function observeLease(election: Election, seen: Observation | undefined, nowMs: number): Election {
  if (seen === undefined) return { ...election, observed: undefined };
  if (seen.version === election.observed?.version) return election;
  return { ...election, observed: { ...seen, sinceMs: nowMs } };
}

/** What is to be written, or undefined while another is believed to lead. */
export function claimLease(
  { identity, observed }: Election,
  nowMs: number,
  { leaseDurationMs }: ElectionTimes,
  nowText: string,
): Leadership | undefined {
  const durationSeconds = Math.ceil(leaseDurationMs / 1000);
  if (observed === undefined)
    return { holder: identity, durationSeconds, transitions: 0, acquireTime: nowText };
  const { acquireTime, durationSeconds: believed, holder, transitions } = observed.leadership;
  if (holder === identity) return { holder, durationSeconds, transitions, acquireTime };
  if (holder !== '' && nowMs < observed.sinceMs + believed * 1000) return undefined;
  return { holder: identity, durationSeconds, transitions: transitions + 1, acquireTime: nowText };
}

/** The claim was stored. It counts from when its write began: others saw it no earlier. */
export const claimed = (election: Election, stored: Observation, beganMs: number): Election => ({
  ...election,
  observed: { ...stored, sinceMs: beganMs },
  renewedMs: beganMs,
});

/** Whoever acts asks this before each act, by the same clock. */
export const leads = ({ renewedMs }: Election, nowMs: number, { renewDeadlineMs }: ElectionTimes): boolean =>
  renewedMs !== undefined && nowMs < renewedMs + renewDeadlineMs;

/** From now on it does not lead, whatever becomes of the Lease. */
export const resigned = (election: Election): Election => ({ ...election, renewedMs: undefined });

/** What gives the Lease back, so that another may lead at once; undefined when it is not its own. */
export function givenBack({ identity, observed }: Election, nowText: string): Leadership | undefined {
  if (observed?.leadership.holder !== identity) return undefined;
  const { transitions } = observed.leadership;
  return { holder: '', durationSeconds: 1, transitions, acquireTime: nowText };
}
