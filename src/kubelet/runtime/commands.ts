// Commands of probes and hooks: how many are under way, for each may be answered with 32 MiB of what the runtime and the agent have in memory.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import { Places } from '../../base/turns.ts';
import type { RuntimeService } from '../../rpc-api/cri.ts';
import { podUid } from '../pod-format.ts';

export interface Command {
  readonly pod: Pod;
  readonly containerId: string;
  readonly command: readonly string[];
  /** 0: none. */
  readonly timeoutSeconds: number;
}

export type CommandAnswer = Awaited<ReturnType<RuntimeService['execSync']>>;

/** `signal`: it is not begun any more, or ended. Each waits for others of its pod first, and its time-out counts from its own begin. */
export interface Commands {
  probe(command: Command, signal: AbortSignal): Promise<CommandAnswer>;
  hook(command: Command, signal: AbortSignal): Promise<CommandAnswer>;
}

/** Of a pod. Not of the node: commands may take as long as their owner says, and would keep those of others waiting. */
const most = { probe: 4, hook: 16 } as const;

/** What is more is no word of a probe: of its answer 10 KiB are looked at. */
const loudBytes = 256 * 1024;
/** Of all pods of the node with such an answer, for as long as nothing else is heard of them. */
const mostOfLoud = 4;
const loudMs = 600_000;

export function createCommands({
  runtime,
  clock,
}: {
  readonly runtime: Pick<RuntimeService, 'execSync'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}): Commands {
  const placesOf = new Map<string, Places>();
  const ofLoud = new Places(mostOfLoud);
  const loudUntil = new Map<string, number>();

  function heard(pod: Pod, { stdout, stderr }: CommandAnswer): void {
    if (stdout.length + stderr.length <= loudBytes) return;
    const now = clock.monotonic();
    for (const [uid, until] of loudUntil) if (until <= now) loudUntil.delete(uid);
    loudUntil.set(podUid(pod), now + loudMs);
  }

  async function exec(what: Command, signal: AbortSignal): Promise<CommandAnswer> {
    const { pod, containerId, command, timeoutSeconds } = what;
    const answer = await runtime.execSync(containerId, command, timeoutSeconds, signal);
    heard(pod, answer);
    return answer;
  }

  async function inTurn(command: Command, signal: AbortSignal): Promise<CommandAnswer> {
    if ((loudUntil.get(podUid(command.pod)) ?? 0) <= clock.monotonic()) return exec(command, signal);
    const leave = await ofLoud.take(signal);
    try {
      return await exec(command, signal);
    } finally {
      leave();
    }
  }

  const ofKind =
    (kind: keyof typeof most) =>
    async (command: Command, signal: AbortSignal): Promise<CommandAnswer> => {
      const key = `${kind} ${podUid(command.pod)}`;
      const places = placesOf.get(key) ?? new Places(most[kind]);
      placesOf.set(key, places);
      try {
        const leave = await places.take(signal);
        try {
          return await inTurn(command, signal);
        } finally {
          leave();
        }
      } finally {
        if (places.isIdle) placesOf.delete(key);
      }
    };
  return { probe: ofKind('probe'), hook: ofKind('hook') };
}
