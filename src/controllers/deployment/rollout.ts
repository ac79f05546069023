// One reconcile of a deployment: the steps that change replica sets, over a view that is kept current.
import { deployments, replicasets } from '../../api/generated/resources.ts';
import type { Deployment, ReplicaSet } from '../../api/generated/types/apps-v1.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { findCondition, withConditionLast } from '../../apimachinery/conditions.ts';
import { semanticEqual } from '../../apimachinery/equality.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import { referenceTo } from '../../client/event-recorder.ts';
import { isPodTerminal } from '../../component-helpers/pod-status.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';
import { controllerOf } from '../../controller-runtime/owner-reference.ts';
import { sameStatus } from '../workload/same-status.ts';
import {
  condition,
  deploymentStatus,
  hasProgressDeadline,
  isComplete,
  rolloutStatus,
} from './deployment-status.ts';
import {
  byAge,
  desiredOf,
  isActive,
  isRollingUpdate,
  newReplicaSetSize,
  oldReplicaSetSizes,
  proportionalSizes,
  replicasOf,
  revisionAnnotation,
  type Sizes,
} from './replica-counts.ts';
import {
  findNewReplicaSet,
  newAnnotations,
  newReplicaSet,
  nextRevision,
  replicaAnnotations,
  revisionOf,
  sameTemplate,
} from './revisions.ts';

export class Rollout {
  readonly #context: ControllerContext;
  deployment: Deployment;
  newRS: ReplicaSet | undefined;
  old: ReplicaSet[];

  constructor(context: ControllerContext, deployment: Deployment, owned: readonly ReplicaSet[]) {
    this.#context = context;
    this.deployment = deployment;
    this.newRS = findNewReplicaSet(deployment, owned);
    this.old = owned.filter((rs) => rs !== this.newRS);
  }

  get all(): ReplicaSet[] {
    return this.newRS === undefined ? this.old : [...this.old, this.newRS];
  }
  get #now(): number {
    return this.#context.clock.now();
  }
  #event(type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#context.events.event(referenceTo(deployments, this.deployment), type, reason, message);
  }

  async #updateStatus(deployment: Deployment): Promise<void> {
    this.deployment = await this.#context.write.update(deployments, deployment, { subresource: 'status' });
  }
  /** Progressing, where the rollout has a deadline. */
  #withProgress(d: Deployment, status: string, reason: string, message: string): Deployment {
    if (!hasProgressDeadline(d)) return d;
    const next = condition('Progressing', status, reason, message, this.#now);
    return { ...d, status: { ...d.status, conditions: withConditionLast(d.status?.conditions, next) } };
  }
  #withRevision(d: Deployment, revision: string | undefined): Deployment {
    if (revision === undefined || d.metadata.annotations?.[revisionAnnotation] === revision) return d;
    const annotations = { ...d.metadata.annotations, [revisionAnnotation]: revision };
    return { ...d, metadata: { ...d.metadata, annotations } };
  }

  /** Finds or makes the replica set of the present template, and numbers it. */
  async syncRevision(create: boolean): Promise<void> {
    const revision = nextRevision(this.old);
    if (this.newRS !== undefined) return this.#syncExisting(this.newRS, revision);
    if (create) await this.#create(revision);
  }

  async #syncExisting(existing: ReplicaSet, revision: bigint): Promise<void> {
    const d = this.deployment;
    const annotations = newAnnotations(d, existing.metadata.annotations ?? {}, revision);
    const minReadySeconds = d.spec.minReadySeconds ?? 0;
    if (
      !semanticEqual(annotations, existing.metadata.annotations) ||
      minReadySeconds !== (existing.spec?.minReadySeconds ?? 0)
    )
      this.newRS = await this.#context.write.update(replicasets, {
        ...existing,
        metadata: { ...existing.metadata, annotations },
        spec: { ...existing.spec!, minReadySeconds },
      });
    let next = this.#withRevision(d, (this.newRS ?? existing).metadata.annotations?.[revisionAnnotation]);
    if (findCondition(d.status?.conditions, 'Progressing') === undefined) {
      const message = `Found new replica set ${JSON.stringify(existing.metadata.name)}`;
      next = this.#withProgress(next, 'True', 'FoundNewReplicaSet', message);
    }
    if (next !== d) await this.#updateStatus(next);
  }

  async #create(revision: bigint): Promise<void> {
    const d = this.deployment;
    const wanted = newReplicaSet(d, this.old, revision);
    const { name } = wanted.metadata;
    try {
      this.newRS = await this.#context.write.create(replicasets, wanted);
    } catch (error) {
      if (isStatusError(error, 'AlreadyExists')) return this.#resolveCollision(wanted, error);
      const text = error instanceof Error ? error.message : String(error);
      const message = `Failed to create new replica set ${JSON.stringify(name)}: ${text}`;
      const failed = this.#withProgress(d, 'False', 'ReplicaSetCreateError', message);
      if (failed !== d) await this.#updateStatus(failed);
      this.#event('Warning', 'ReplicaSetCreateError', message);
      throw error;
    }
    const count = replicasOf(this.newRS);
    if (count > 0)
      this.#event('Normal', 'ScalingReplicaSet', `Scaled up replica set ${name} from 0 to ${count}`);
    const numbered = this.#withRevision(d, String(revision));
    const message = `Created new replica set ${JSON.stringify(name)}`;
    const next = this.#withProgress(numbered, 'True', 'NewReplicaSetCreated', message);
    if (next !== d) await this.#updateStatus(next);
  }

  /** Ours, not yet seen here; or another template with the same hash, which then gets another name. */
  async #resolveCollision(wanted: ReplicaSet, error: Error): Promise<void> {
    const { name, namespace } = wanted.metadata;
    const existing = await this.#context.write.get(replicasets, { name, namespace });
    const d = this.deployment;
    if (
      controllerOf(existing)?.uid === d.metadata.uid &&
      sameTemplate(existing.spec?.template, wanted.spec?.template)
    ) {
      this.newRS = existing;
      return;
    }
    const collisionCount = (d.status?.collisionCount ?? 0) + 1;
    await this.#updateStatus({ ...d, status: { ...d.status, collisionCount } });
    throw error;
  }

  /** Returns whether the size changed. */
  async scale(rs: ReplicaSet, size: number): Promise<boolean> {
    const before = replicasOf(rs);
    const annotations = { ...rs.metadata.annotations, ...replicaAnnotations(this.deployment) };
    const changes = size !== before;
    if (!changes && semanticEqual(annotations, rs.metadata.annotations)) return false;
    const updated = await this.#context.write.update(replicasets, {
      ...rs,
      metadata: { ...rs.metadata, annotations },
      spec: { ...rs.spec!, replicas: size },
    });
    if (this.newRS === rs) this.newRS = updated;
    else this.old = this.old.map((other) => (other === rs ? updated : other));
    if (changes) {
      const direction = size > before ? 'up' : 'down';
      this.#event(
        'Normal',
        'ScalingReplicaSet',
        `Scaled ${direction} replica set ${rs.metadata.name} from ${before} to ${size}`,
      );
    }
    return changes;
  }
  async #scaleAll(sizes: Sizes): Promise<boolean> {
    let scaled = false;
    for (const [rs, size] of sizes) if (await this.scale(rs, size)) scaled = true;
    return scaled;
  }

  /** Scaling without a rollout, or in the middle of one. */
  async scaleToDesired(): Promise<void> {
    const d = this.deployment;
    const active = this.all.filter(isActive);
    const only = active.length === 0 ? (this.newRS ?? [...this.old].sort(byAge).at(-1)) : active[0];
    if (active.length <= 1) {
      if (only !== undefined && replicasOf(only) !== replicasOf(d)) await this.scale(only, replicasOf(d));
      return;
    }
    const isSaturated =
      this.newRS !== undefined &&
      replicasOf(this.newRS) === replicasOf(d) &&
      desiredOf(this.newRS) === replicasOf(d) &&
      (this.newRS.status?.availableReplicas ?? 0) === replicasOf(d);
    if (isSaturated) await this.#scaleAll(new Map(this.old.filter(isActive).map((rs) => [rs, 0])));
    else if (isRollingUpdate(d)) await this.#scaleAll(proportionalSizes(d, active));
  }

  async rollingUpdate(): Promise<void> {
    await this.syncRevision(true);
    const d = this.deployment;
    const { newRS } = this;
    if (newRS !== undefined && replicasOf(newRS) !== replicasOf(d)) {
      const size =
        replicasOf(newRS) > replicasOf(d) ? replicasOf(d) : newReplicaSetSize(d, this.all, replicasOf(newRS));
      if (await this.scale(newRS, size)) return;
    }
    if (await this.#scaleAll(oldReplicaSetSizes(d, this.newRS, this.old.filter(isActive)))) return;
    await this.#cleanUpWhenComplete();
  }

  async recreate(podsOf: (rs: ReplicaSet) => readonly Pod[]): Promise<void> {
    await this.syncRevision(false);
    if (await this.#scaleAll(new Map(this.old.filter(isActive).map((rs) => [rs, 0])))) return;
    const stillRunning = this.old.some((rs) => podsOf(rs).some((pod) => !isPodTerminal(pod)));
    if (stillRunning) return;
    if (this.newRS === undefined) await this.syncRevision(true);
    if (this.newRS !== undefined) await this.scale(this.newRS, replicasOf(this.deployment));
    await this.#cleanUpWhenComplete();
  }

  async #cleanUpWhenComplete(): Promise<void> {
    if (isComplete(this.deployment, deploymentStatus(this.#view))) await this.cleanUp();
  }
  get #view() {
    return { deployment: this.deployment, all: this.all, newRS: this.newRS, now: this.#now };
  }

  /** Deletes what the history need not keep. */
  async cleanUp(): Promise<void> {
    const limit = this.deployment.spec.revisionHistoryLimit;
    if (limit === undefined) return;
    const alive = this.old.filter((rs) => rs.metadata.deletionTimestamp === undefined);
    const surplus = [...alive]
      .sort((a, b) => Number(revisionOf(a) - revisionOf(b)) || byAge(a, b))
      .slice(0, Math.max(0, alive.length - limit));
    for (const rs of surplus) {
      const inUse = (rs.status?.replicas ?? 0) !== 0 || replicasOf(rs) !== 0;
      if (inUse || (rs.metadata.generation ?? 0) > (rs.status?.observedGeneration ?? 0)) continue;
      const { name, namespace } = rs.metadata;
      await this.#context.write.delete(replicasets, { name, namespace }).catch((error: unknown) => {
        if (!isStatusError(error, 'NotFound')) throw error;
      });
    }
  }

  /** Writes what changed; returns the status as it now is. */
  async writeStatus(kind: 'rollout' | 'counts'): Promise<NonNullable<Deployment['status']>> {
    const d = this.deployment;
    const status = kind === 'rollout' ? rolloutStatus(this.#view) : deploymentStatus(this.#view);
    if (!sameStatus(status, d.status)) await this.#updateStatus({ ...d, status });
    return status;
  }
}
