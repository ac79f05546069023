// Starts jobs by the clock.
import { cronjobs, jobs } from '../api/generated/resources.ts';
import type { CronJob, CronJobStatus, Job } from '../api/generated/types/batch-v1.ts';
import type { ObjectReference } from '../api/generated/types/core-v1.ts';
import { semanticEqual } from '../apimachinery/equality.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { rfc3339 } from '../base/clock.ts';
import { referenceTo } from '../client/event-recorder.ts';
import { declareMetrics, exponentialBuckets } from '../component-base/metrics.ts';
import { may, mayRecordEvents } from '../controller-runtime/access.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
} from '../controller-runtime/define-controller.ts';
import { controllerIndex, controllerOf, controllerReference } from '../controller-runtime/owner-reference.ts';
import { endOf, jobNameAt, lastSuccess, localTime, surplusJobs, timingOf } from './cronjob/cronjob-plan.ts';
import { isNamespaceTerminating } from './workload/namespace-terminating.ts';

/** Upstream's: so that the timer never fires just before the minute. */
const timerSlackMs = 100;

const creationSkew = declareMetrics((metrics) =>
  metrics.histogram(
    'cronjob_controller_job_creation_skew_duration_seconds',
    'Time between when a cronjob is scheduled to be run, and when the corresponding job is created',
    [],
    exponentialBuckets(1, 2, 10),
  ),
);

class CronJobSync {
  readonly #context: ControllerContext;
  readonly #cronJob: CronJob;
  readonly #jobs: readonly Job[];
  #active: ObjectReference[];
  #lastScheduleTime: string | undefined;

  constructor(context: ControllerContext, cronJob: CronJob, owned: readonly Job[]) {
    this.#context = context;
    this.#cronJob = cronJob;
    this.#jobs = owned;
    this.#active = [...(cronJob.status?.active ?? [])];
    this.#lastScheduleTime = cronJob.status?.lastScheduleTime;
  }

  #event(type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#context.events.event(referenceTo(cronjobs, this.#cronJob), type, reason, message);
  }
  #forget(uid: string | undefined): void {
    this.#active = this.#active.filter((reference) => reference.uid !== uid);
  }

  /** Returns when to look again. */
  async run(): Promise<number | undefined> {
    let again: number | undefined;
    try {
      await this.#followActive();
      again = await this.#start();
      for (const job of surplusJobs(this.#cronJob, this.#jobs)) await this.#deleteJob(job.metadata.name);
    } finally {
      // What was started must not be forgotten, whatever failed after it.
      await this.#write();
    }
    return again;
  }

  async #write(): Promise<void> {
    const lastSuccessfulTime = lastSuccess(this.#cronJob, this.#jobs);
    const status: CronJobStatus = {
      ...(this.#active.length === 0 ? {} : { active: this.#active }),
      ...(this.#lastScheduleTime === undefined ? {} : { lastScheduleTime: this.#lastScheduleTime }),
      ...(lastSuccessfulTime === undefined ? {} : { lastSuccessfulTime }),
    };
    if (semanticEqual(status, this.#cronJob.status)) return;
    await this.#context.write.update(cronjobs, { ...this.#cronJob, status }, { subresource: 'status' });
  }

  async #followActive(): Promise<void> {
    for (const job of this.#jobs) {
      const { uid, name } = job.metadata;
      const listed = this.#active.some((reference) => reference.uid === uid);
      const end = endOf(job);
      if (!listed && end === undefined) {
        const fresh = await this.#context.write.get(cronjobs, this.#cronJob.metadata);
        if (fresh.status?.active?.some((reference) => reference.uid === uid)) continue;
        this.#event(
          'Warning',
          'UnexpectedJob',
          `Saw a job that the controller did not create or forgot: ${name}`,
        );
      } else if (listed && end !== undefined) {
        this.#forget(uid);
        this.#event('Normal', 'SawCompletedJob', `Saw completed job: ${name}, condition: ${end}`);
      }
    }
    const known = new Set(this.#jobs.map((job) => job.metadata.uid));
    for (const { uid, name = '' } of this.#active.filter((reference) => !known.has(reference.uid))) {
      // The informer may not show yet what was just created.
      const job = await this.#live(name);
      if (job !== undefined) continue;
      this.#event('Normal', 'MissingJob', `Active job went missing: ${name}`);
      this.#forget(uid);
    }
  }

  async #live(name: string): Promise<Job | undefined> {
    const { namespace } = this.#cronJob.metadata;
    try {
      return await this.#context.write.get(jobs, { name, namespace });
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  async #start(): Promise<number | undefined> {
    const { spec, metadata } = this.#cronJob;
    if (metadata.deletionTimestamp !== undefined || spec.suspend === true) return undefined;
    const now = this.#context.clock.now();
    const { due, next, complaints } = timingOf(this.#cronJob, now);
    for (const { reason, message } of complaints) this.#event('Warning', reason, message);
    const again = next === undefined ? undefined : next - now + timerSlackMs;
    if (due === undefined || this.#active.some(({ name }) => name === jobNameAt(this.#cronJob, due)))
      return again;
    if (spec.concurrencyPolicy === 'Forbid' && this.#active.length > 0) {
      this.#event(
        'Normal',
        'JobAlreadyActive',
        'Not starting job because prior execution is running and concurrency policy is Forbid',
      );
      return again;
    }
    if (spec.concurrencyPolicy === 'Replace')
      for (const { name = '' } of this.#active) await this.#deleteJob(name);
    const job = await this.#create(due);
    if (job === undefined) return again;
    this.#active.push(referenceTo(jobs, job));
    this.#lastScheduleTime = rfc3339(due);
    return again;
  }

  async #create(due: number): Promise<Job | undefined> {
    const { metadata, spec } = this.#cronJob;
    const template = spec.jobTemplate;
    const name = jobNameAt(this.#cronJob, due);
    try {
      const job = await this.#context.write.create(jobs, {
        metadata: {
          name,
          namespace: metadata.namespace,
          labels: template.metadata?.labels ?? {},
          annotations: {
            ...template.metadata?.annotations,
            'batch.kubernetes.io/cronjob-scheduled-timestamp': localTime(this.#cronJob, due),
          },
          ownerReferences: [controllerReference(cronjobs, this.#cronJob)],
        },
        spec: template.spec ?? { template: {} },
      });
      creationSkew(this.#context.metrics).observe({}, (this.#context.clock.now() - due) / 1000);
      this.#event('Normal', 'SuccessfulCreate', `Created job ${name}`);
      return job;
    } catch (error) {
      if (isNamespaceTerminating(error)) return undefined;
      if (isStatusError(error, 'AlreadyExists')) {
        // Started before a crash that lost the status: it is ours all the same.
        const job = await this.#live(name);
        const ours = job !== undefined && controllerOf(job)?.uid === metadata.uid;
        return ours && endOf(job) === undefined ? job : undefined;
      }
      const why = error instanceof Error ? error.message : String(error);
      this.#event('Warning', 'FailedCreate', `Error creating job: ${why}`);
      throw error;
    }
  }

  async #deleteJob(name: string): Promise<void> {
    const { namespace } = this.#cronJob.metadata;
    try {
      await this.#context.write.delete(jobs, { name, namespace }, { propagationPolicy: 'Background' });
      this.#event('Normal', 'SuccessfulDelete', `Deleted job ${name}`);
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) {
        const why = error instanceof Error ? error.message : String(error);
        this.#event('Warning', 'FailedDelete', `Deleted job: ${why}`);
        throw error;
      }
    }
    this.#active = this.#active.filter((reference) => reference.name !== name);
  }
}

export const cronJobController: Controller = defineController({
  name: 'cronjob-controller',
  queue: 'cronjob',
  serviceAccount: 'cronjob-controller',
  for: cronjobs,
  owns: [jobs],
  access: [
    may('get', cronjobs),
    may('update', cronjobs, 'status'),
    may(['create', 'delete', 'get'], jobs),
    mayRecordEvents,
  ],
  async reconcile({ name, namespace }, context) {
    const cronJob = context.read(cronjobs).get(name, namespace);
    if (cronJob === undefined) return undefined;
    const owned = context.read(jobs).byIndex(controllerIndex, cronJob.metadata.uid ?? '');
    return { requeueAfterMs: await new CronJobSync(context, cronJob, owned).run() };
  },
});
