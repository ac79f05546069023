// Starts containerd again when it died or hangs; its containers live on under their shims meanwhile.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../component-base/logger.ts';
import { createCri } from '../../rpc-api/cri.ts';
import { createGrpcClient, isGrpcError } from '../../wire/grpc-client.ts';
import { runEvery } from '../run-every.ts';
import {
  type ContainerdDeps,
  type EnsureContainerdOptions,
  killContainerd,
  runningPid,
} from './containerd-process.ts';
import { ensureCri } from './damaged-store.ts';

const everyMs = 1000;
const askEveryMs = 10_000;
/** So many asks in a row, each of which CRI's client gives 10 s. */
const silentAsks = 3;

/** Any other failure is an answer. */
const saysNothing = (error: unknown): boolean =>
  isGrpcError(error, 'DeadlineExceeded') || isGrpcError(error, 'Unavailable');

/** What a containerd needs besides itself. */
export interface ContainerdCare {
  /** Around each start. */
  started(start: () => Promise<unknown>): Promise<void>;
  /** Each time it has answered. */
  answered(): Promise<void>;
}

export interface SupervisedContainerd extends ContainerdCare {
  isRunning(): Promise<boolean>;
  start(): Promise<unknown>;
  /** Rejects when it does not answer. */
  ask(): Promise<unknown>;
  kill(): Promise<void>;
}

/** One look, to be called each second. */
export function lookAfter(
  containerd: SupervisedContainerd,
  { clock, log }: { readonly clock: Pick<Clock, 'monotonic'>; readonly log: Logger },
): () => Promise<void> {
  let [silent, askAt] = [0, 0];

  async function answers(): Promise<boolean> {
    askAt = clock.monotonic() + askEveryMs;
    try {
      await containerd.ask();
      silent = 0;
      return true;
    } catch (error) {
      silent = saysNothing(error) ? silent + 1 : 0;
      if (silent === 0) askAt = 0; // it is not ready yet; the kubelet says why
    }
    if (silent < silentAsks) return false;
    log.warn({}, `containerd did not answer ${silentAsks} times for 10 s; killing it and starting it again`);
    await containerd.kill(); // the next look finds it dead
    return false;
  }

  async function startAgain(): Promise<void> {
    log.warn({}, 'containerd died and is started again');
    [silent, askAt] = [0, 0];
    try {
      await containerd.started(() => containerd.start());
    } catch (error) {
      log.error({ error }, 'containerd could not be started again');
    }
  }

  return async () => {
    try {
      if (!(await containerd.isRunning())) return await startAgain();
      if (clock.monotonic() >= askAt && (await answers())) await containerd.answered();
    } catch (error) {
      log.error({ error }, 'containerd could not be looked after; trying again');
    }
  };
}

const noCare: ContainerdCare = {
  started: async (start) => void (await start()),
  answered: async () => undefined,
};

/** Returns the function that ends the watch; containerd itself goes on. */
export function superviseContainerd(
  deps: ContainerdDeps,
  options: EnsureContainerdOptions,
  care: ContainerdCare = noCare,
): () => Promise<void> {
  const grpc = createGrpcClient(deps.clock, `unix://${options.address}`);
  const { runtime } = createCri(grpc);
  let stopped = false;
  const look = lookAfter(
    {
      ...care,
      isRunning: async () => (await runningPid(deps, options)) !== undefined,
      start: () => ensureCri(deps, options),
      ask: () => runtime.status(),
      kill: async () => (stopped ? undefined : killContainerd(deps, options)),
    },
    deps,
  );
  const stop = runEvery(deps.clock, everyMs, look);
  return async () => {
    stopped = true;
    grpc.close(); // whoever waits for an answer is told
    await stop();
  };
}
