// All pods of the node: one worker each, orphans of the runtime and of the disk swept.
import type { Pod } from '../api/generated/types/core-v1.ts';
import type { KubeletContext } from './kubelet-context.ts';
import type { Rejection } from './node-os/node-os.ts';
import { observePod, runningContainers } from './observed-pod.ts';
import { failureText, podUid } from './pod-format.ts';
import type { ResizeRefusal } from './pod-resize.ts';
import { PodWorker, type PodWorkerOptions } from './pod-worker.ts';
import { removePodCgroups, uidsOfCgroups } from './resources/orphaned-cgroups.ts';
import { byTurn } from './resources/resize-order.ts';

/** What the node says to a pod beside the others. */
export interface NodeAdmission {
  readonly admit: (pod: Pod, active: readonly Pod[]) => Rejection | undefined;
  readonly admitResize: (pod: Pod, others: readonly Pod[]) => ResizeRefusal | undefined;
  /** Sees what the API says of the node now. */
  readonly lookAtNode: () => Promise<void>;
}

export class PodWorkers {
  readonly #ctx: KubeletContext;
  readonly #workers = new Map<string, PodWorker>();
  readonly #sweeping = new Set<string>();
  readonly #room: NodeAdmission;
  #stopped = false;

  constructor(ctx: KubeletContext, room: NodeAdmission) {
    this.#ctx = ctx;
    this.#room = room;
  }

  /** Those that have their place on the node. */
  #activeBut(uid: string): Pod[] {
    return [...this.#workers.values()].filter((w) => w.uid !== uid && w.hasPlace).map((w) => w.pod);
  }

  upsert(pod: Pod): void {
    const uid = podUid(pod);
    const worker = this.#workers.get(uid);
    if (worker) {
      worker.update(pod);
      return;
    }
    const options: PodWorkerOptions = {
      done: (gone) => void this.#workers.delete(gone),
      admit: (asking) => this.#room.admit(asking, this.#activeBut(podUid(asking))),
      admitResize: (asking) => this.#room.admitResize(asking, this.#activeBut(podUid(asking))),
      lookAtNode: this.#room.lookAtNode,
      roomChanged: () => this.#considerResizes(),
    };
    this.#workers.set(uid, new PodWorker(this.#ctx, pod, options));
  }

  #considerResizes(): void {
    const asking = this.list().flatMap((worker) => {
      const request = worker.resizeRequest;
      return request ? [{ worker, ...request }] : [];
    });
    for (const { worker } of asking.sort(byTurn)) worker.considerResize();
  }

  /** The API has no such pod any more. */
  remove(pod: Pod): void {
    this.#workers.get(podUid(pod))?.removed(pod);
  }

  get(uid: string): PodWorker | undefined {
    return this.#workers.get(uid);
  }
  list(): readonly PodWorker[] {
    return [...this.#workers.values()];
  }
  find(namespace: string, name: string): PodWorker | undefined {
    // A new pod of the same name hides the one that is still being taken away.
    return this.list().findLast(
      (w) => w.pod.metadata.name === name && w.pod.metadata.namespace === namespace,
    );
  }
  wake(uid: string): void {
    this.#workers.get(uid)?.wake();
  }
  objectsChanged(uids: Iterable<string>): void {
    for (const uid of uids) this.#workers.get(uid)?.objectsChanged();
  }

  /** What runs or lies here of pods that the API does not know. */
  sweep(inRuntime: ReadonlySet<string>): void {
    for (const uid of inRuntime) {
      if (this.#workers.has(uid) || this.#sweeping.has(uid) || this.#stopped) continue;
      this.#sweeping.add(uid);
      this.#removeOrphan(uid)
        .catch((error: unknown) => this.#ctx.log.warn({ error, uid }, `orphan: ${failureText(error)}`))
        .finally(() => this.#sweeping.delete(uid));
    }
  }

  /** What the runtime does not know of: folders, logs, cgroups. */
  async sweepNode(): Promise<void> {
    const { cgroupRoot, cgroups, storage } = this.#ctx;
    const inCgroups = cgroups ? await uidsOfCgroups(cgroups, cgroupRoot) : [];
    for (const uid of new Set([...(await storage.pods()), ...inCgroups])) {
      if (this.#workers.has(uid) || this.#sweeping.has(uid)) continue;
      await this.#removeFromNode(uid);
    }
  }

  /** The cgroups first: what left its container still works in the volumes. */
  async #removeFromNode(uid: string): Promise<void> {
    const { cgroupRoot, cgroups, storage } = this.#ctx;
    if (cgroups) await removePodCgroups(cgroups, cgroupRoot, uid);
    await storage.remove(uid);
    await storage.removeLogsOf(uid);
  }

  async #removeOrphan(uid: string): Promise<void> {
    const { runtime } = this.#ctx.cri;
    const observed = await observePod(runtime, uid, new Map());
    this.#ctx.log.info({ uid }, 'removing what is left of a pod that the API does not know');
    await Promise.all(runningContainers(observed).map((c) => runtime.stopContainer(c.id, 2)));
    for (const sandbox of observed.sandboxes) {
      await runtime.stopPodSandbox(sandbox.id);
      await runtime.removePodSandbox(sandbox.id);
    }
    await this.#removeFromNode(uid);
  }

  stop(): void {
    this.#stopped = true;
    for (const worker of this.#workers.values()) worker.stop();
  }
}
