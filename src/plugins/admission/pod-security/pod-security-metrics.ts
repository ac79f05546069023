// How often pods were judged by which policy, were exempt, or had labels that can't be read.
import type { AdmissionRequest } from '../../../apiserver/admission/admission.ts';
import {
  type CounterMetric,
  declareMetrics,
  type Labels,
  type MetricsRegistry,
} from '../../../component-base/metrics.ts';
import { latestMinor } from './evaluate.ts';
import type { LevelVersion, Policy } from './policy.ts';

interface Counters {
  readonly evaluations: CounterMetric;
  readonly exemptions: CounterMetric;
  readonly errors: CounterMetric;
}

const counters: (metrics: MetricsRegistry) => Counters = declareMetrics((metrics: MetricsRegistry) => ({
  evaluations: metrics.counter(
    'pod_security_evaluations_total',
    'Number of policy evaluations that occurred, not counting ignored or exempt requests.',
    ['decision', 'mode', 'policy_level', 'policy_version', 'request_operation', 'resource', 'subresource'],
  ),
  exemptions: metrics.counter(
    'pod_security_exemptions_total',
    'Number of exempt requests, not counting ignored or out of scope requests.',
    ['request_operation', 'resource', 'subresource'],
  ),
  errors: metrics.counter(
    'pod_security_errors_total',
    'Number of errors preventing normal evaluation. Non-fatal errors may result in the latest restricted profile being used for evaluation.',
    ['fatal', 'request_operation', 'resource', 'subresource'],
  ),
}));

export interface PodSecurityCounts {
  judged(
    request: AdmissionRequest,
    mode: keyof Policy,
    level: LevelVersion,
    decision: 'allow' | 'deny',
  ): void;
  exempted(request: AdmissionRequest): void;
  /** Its namespace's labels can't be read. */
  misread(request: AdmissionRequest): void;
}

const labelsOf = ({ declaration, operation, subresource }: AdmissionRequest): Labels => ({
  request_operation: operation.toLowerCase(),
  resource: declaration.group === '' && declaration.resource === 'pods' ? 'pod' : 'controller',
  subresource,
});

/** Of no limited level there is but one version; one that is not known yet is told as such. */
function versionOf({ level, minor }: LevelVersion): string {
  if (level === 'privileged' || minor === undefined) return 'latest';
  return minor <= latestMinor ? `v1.${minor}` : 'future';
}

export function podSecurityCounts(metrics: MetricsRegistry): PodSecurityCounts {
  const { evaluations, exemptions, errors } = counters(metrics);
  return {
    judged: (request, mode, level, decision) =>
      evaluations.inc({
        ...labelsOf(request),
        ...{ decision, mode, policy_level: level.level, policy_version: versionOf(level) },
      }),
    exempted: (request) => exemptions.inc(labelsOf(request)),
    misread: (request) => errors.inc({ ...labelsOf(request), fatal: 'false' }),
  };
}
