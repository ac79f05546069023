// The audit log out of its options: a policy, and who keeps what it asks for.
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { readAuditPolicy } from '../../api/audit/policy.ts';
import { type MatchPolicy, policyMatcher } from '../../apiserver/audit/audit-rules.ts';
import {
  type AuditBackend,
  AuditFailures,
  ignoringFailures,
  unionBackend,
} from '../../apiserver/audit/backend.ts';
import { BufferedBackend } from '../../apiserver/audit/backend-buffered.ts';
import { fileBackend, type LineSink } from '../../apiserver/audit/backend-file.ts';
import { truncatedBackend } from '../../apiserver/audit/backend-truncated.ts';
import { WebhookBackend } from '../../apiserver/audit/backend-webhook.ts';
import type { AuditConfig } from '../../apiserver/server-config.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { yamlToJson } from '../../base/yaml.ts';
import { loadKubeconfig } from '../../client/kubeconfig.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import { RotatingFile } from '../../component-base/rotating-file.ts';
import { jsonPost } from '../../wire/json-post.ts';
import type { AuditFlags } from '../audit-options.ts';

interface AuditLogDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
}

const dayMs = 24 * 3_600_000;
const megabyte = 1024 * 1024;
/** Events with objects are as large as those: so much of them waits or is on its way, however many upstream's flags let wait. */
const maxBufferedBytes = 64 * megabyte;
const maxBatchBytes = 4 * megabyte;
/** Batches that a webhook which hangs holds; the rest waits in the buffer. */
const webhookBatchesUnderWay = 16;

/** undefined: without a policy, or without anybody to keep them, there are no events. */
export async function openAuditLog(
  flags: AuditFlags,
  deps: AuditLogDependencies,
): Promise<AuditConfig | undefined> {
  if (flags.policyFile === undefined) {
    if (flags.log !== undefined || flags.webhook !== undefined)
      deps.log.warn({}, 'no --audit-policy-file: no audit events are written');
    return undefined;
  }
  const match = readPolicy(flags.policyFile, deps.log);
  const failures = new AuditFailures(deps.log, deps.metrics);
  const backends: AuditBackend[] = [];
  // Not before the rest is known to be right: nobody would close a file of a start that fails.
  if (flags.webhook !== undefined) backends.push(await webhookOf(flags.webhook, failures, deps));
  if (flags.log !== undefined) backends.unshift(logOf(flags.log, failures, deps));
  return backends.length === 0 ? undefined : { match, backend: unionBackend(backends), readYaml: yamlToJson };
}

function readPolicy(file: string, log: Logger): MatchPolicy {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`loading audit policy file: failed to read file path ${JSON.stringify(file)}: ${why}`, {
      cause,
    });
  }
  try {
    const { policy, unknownFields } = readAuditPolicy(text);
    for (const field of unknownFields)
      log.warn({ file, field }, 'the audit policy has a field that nobody knows');
    return policyMatcher(policy);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`loading audit policy file: ${why}: from file ${file}`, { cause });
  }
}

const standardOutput: LineSink = {
  write: (lines) => void process.stdout.write(lines),
  close: async () => {},
};

function logOf(
  flags: NonNullable<AuditFlags['log']>,
  failures: AuditFailures,
  { clock, log }: AuditLogDependencies,
): AuditBackend {
  const sink =
    flags.path === '-'
      ? standardOutput
      : new RotatingFile({
          path: flags.path,
          maxBytes: flags.maxMegabytes * megabyte,
          maxBackups: flags.maxBackups,
          maxAgeMs: flags.maxAgeDays * dayMs,
          compress: flags.compress,
          clock,
          onTrouble: (error) =>
            log.error({ error, file: flags.path }, 'old audit files are not looked after'),
        });
  return inMode(fileBackend(sink, flags.format, failures), flags, 1, failures, clock);
}

async function webhookOf(
  flags: NonNullable<AuditFlags['webhook']>,
  failures: AuditFailures,
  { clock, random }: AuditLogDependencies,
): Promise<AuditBackend> {
  const { transport } = await loadKubeconfig(flags.configFile, (path) => readFile(path));
  const receiver = jsonPost({ ...transport, userAgent: 'kube-apiserver-audit' });
  const { initialBackoffMs } = flags;
  const webhook = new WebhookBackend({ receiver, initialBackoffMs, clock, random, failures });
  return inMode(webhook, flags, webhookBatchesUnderWay, failures, clock);
}

function inMode(
  backend: AuditBackend,
  { mode, batch, truncate }: NonNullable<AuditFlags['log'] | AuditFlags['webhook']>,
  maxUnderWay: number,
  failures: AuditFailures,
  clock: Clock,
): AuditBackend {
  const { bufferSize, maxSize: maxBatchSize, maxWaitMs: maxBatchWaitMs, throttle } = batch;
  const options = {
    bufferSize,
    maxBufferedBytes,
    maxBatchBytes,
    maxBatchSize,
    maxBatchWaitMs,
    throttle,
    maxUnderWay,
  };
  const inItsMode =
    mode === 'blocking-strict'
      ? backend
      : mode === 'blocking'
        ? ignoringFailures(backend)
        : new BufferedBackend(backend, options, clock, failures);
  return truncate === undefined ? inItsMode : truncatedBackend(inItsMode, truncate, failures);
}
