// Writes pod statuses to the API: one request a pod at a time, the last one wins.
import { pods } from '../api/generated/resources.ts';
import type { Pod, PodStatus } from '../api/generated/types/core-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Client } from '../client/client.ts';
import type { Logger } from '../component-base/logger.ts';
import { podText, podUid } from './pod-format.ts';

export interface StatusManager {
  set(pod: Pod, status: PodStatus): void;
  /** What the API shows of a pod. Where another has written over the last status that was set, it is written again. */
  seen(pod: Pod): void;
  /** The last status that was set; newer than the API's. */
  get(uid: string): PodStatus | undefined;
  /** Resolves when the last status is written, or the pod is gone. */
  written(uid: string): Promise<void>;
  forget(uid: string): void;
  stop(): void;
}

interface Entry {
  pod: Pod;
  status: PodStatus;
  text: string;
  sent: string;
  work: Promise<void> | undefined;
  gone: boolean;
}

const retryMs = 1000;

/** A strategic merge keeps what is not named, so what must go is named as null. */
const notNamed = { reason: null, message: null, containerStatuses: null, initContainerStatuses: null };

function statusPatch(pod: Pod, status: PodStatus): object {
  const conditions = status.conditions?.map((c) => ({ reason: null, message: null, ...c }));
  return {
    metadata: { uid: podUid(pod) },
    status: { ...notNamed, ...status, ...(conditions ? { conditions } : {}) },
  };
}

/** The node lifecycle controller, for one, says `Ready: False` of the pods of a node that fell silent. */
const shows = (shown: PodStatus | undefined, ours: PodStatus): boolean =>
  shown?.phase === ours.phase &&
  (ours.conditions ?? []).every(({ type, status }) =>
    shown?.conditions?.some((condition) => condition.type === type && condition.status === status),
  );

export function createStatusManager(deps: {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
}): StatusManager {
  const entries = new Map<string, Entry>();
  const stopped = new AbortController();

  async function send(entry: Entry): Promise<void> {
    while (entry.sent !== entry.text && !entry.gone && !stopped.signal.aborted) {
      const { pod, status, text } = entry;
      const key = { name: pod.metadata.name ?? '', namespace: pod.metadata.namespace };
      try {
        await deps.client.patch(
          pods,
          key,
          { type: 'strategic', body: statusPatch(pod, status) },
          { subresource: 'status' },
        );
        entry.sent = text;
      } catch (error) {
        // Gone, or a namesake took its place (the uid in the patch does not match).
        if (isStatusError(error, 'NotFound') || isStatusError(error, 'Conflict')) {
          entry.gone = true;
          return;
        }
        if (isStatusError(error, 'Invalid')) {
          deps.log.error({ error, pod: podText(pod) }, 'the API refused a pod status');
          entry.sent = text;
          continue;
        }
        deps.log.warn({ error, pod: podText(pod) }, 'a pod status could not be written, trying again');
        try {
          await deps.clock.sleep(retryMs, stopped.signal);
        } catch {
          return; // stopped
        }
      }
    }
  }

  const start = (entry: Entry): void => {
    entry.work ??= send(entry).finally(() => {
      entry.work = undefined;
    });
  };

  return {
    set: (pod, status) => {
      const uid = podUid(pod);
      const text = JSON.stringify(status);
      const entry = entries.get(uid) ?? {
        pod,
        status,
        text,
        sent: JSON.stringify(pod.status ?? {}),
        work: undefined,
        gone: false,
      };
      entries.set(uid, entry);
      Object.assign(entry, { pod, status, text });
      if (text !== entry.sent && !entry.gone) start(entry);
    },
    seen: (pod) => {
      const entry = entries.get(podUid(pod));
      const atRest = entry?.work === undefined && entry?.sent === entry?.text;
      if (entry === undefined || entry.gone || !atRest || shows(pod.status, entry.status)) return;
      entry.sent = '';
      start(entry);
    },
    get: (uid) => entries.get(uid)?.status,
    written: async (uid) => {
      await entries.get(uid)?.work;
    },
    forget: (uid) => void entries.delete(uid),
    stop: () => stopped.abort(),
  };
}
