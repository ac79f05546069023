// All admission plugins, in the order in which upstream's server runs them.

import type { Scheme } from '../../apimachinery/declaration.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import type { DispatchDeps } from '../../apiserver/admission/webhook/validating-dispatch.ts';
import type { Authorizer } from '../../apiserver/authorization/authorizer.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import type { Random } from '../../base/random.ts';
import type { Reservations } from '../../component-helpers/quota-reservations.ts';
import {
  createCertificateApproval,
  createCertificateSigning,
  createCertificateSubjectRestriction,
} from './certificates.ts';
import { createDefaultIngressClass } from './default-ingress-class.ts';
import { createDefaultStorageClass } from './default-storage-class.ts';
import { createDefaultTolerationSeconds } from './default-toleration-seconds.ts';
import { createLimitRanger } from './limit-ranger.ts';
import { createMutatingAdmissionWebhook } from './mutating-admission-webhook.ts';
import { createNamespaceLifecycle } from './namespace-lifecycle.ts';
import { createNodeRestriction } from './node-restriction.ts';
import { createPersistentVolumeClaimResize } from './persistent-volume-claim-resize.ts';
import { createPodSecurity } from './pod-security.ts';
import { createPriority } from './priority.ts';
import type { QuotaRecorder } from './quota/evaluator.ts';
import { createResourceQuota } from './resource-quota.ts';
import { createRuntimeClass } from './runtime-class.ts';
import { createServiceAccountAdmission } from './service-account.ts';
import { createStorageObjectInUseProtection } from './storage-object-in-use-protection.ts';
import { createTaintNodesByCondition } from './taint-nodes-by-condition.ts';
import { createValidatingAdmissionWebhook } from './validating-admission-webhook.ts';

export interface AdmissionDependencies {
  readonly live: LiveObjects;
  readonly random: Random;
  readonly authorizer: Authorizer;
  readonly recordQuota: QuotaRecorder;
  readonly reservations: Reservations;
  readonly webhooks: DispatchDeps & { readonly scheme: Scheme };
}

/** `disabled` names plugins that are left out. Throws Error for a name that none has: what it was meant for would stay on. */
export function admissionPlugins(
  deps: AdmissionDependencies,
  disabled: readonly string[] = [],
): AdmissionPlugin[] {
  const { live, random, authorizer } = deps;
  const recommendedOrder: AdmissionPlugin[] = [
    createNamespaceLifecycle(live),
    createLimitRanger(live),
    createServiceAccountAdmission({ live, random }),
    createNodeRestriction(live, authorizer),
    createTaintNodesByCondition(),
    createPodSecurity(live),
    createPriority(live),
    createDefaultTolerationSeconds(),
    createDefaultStorageClass(live),
    createStorageObjectInUseProtection(),
    createPersistentVolumeClaimResize(live),
    createRuntimeClass(live),
    createCertificateApproval(authorizer),
    createCertificateSigning(authorizer),
    createCertificateSubjectRestriction(),
    createDefaultIngressClass(live),
    createMutatingAdmissionWebhook(live, deps.webhooks),
    createValidatingAdmissionWebhook(live, deps.webhooks),
    createResourceQuota({ live, random, reservations: deps.reservations, record: deps.recordQuota }),
  ];
  const names = recommendedOrder.map((plugin) => plugin.name);
  const unknown = disabled.filter((name) => !names.includes(name));
  if (unknown.length > 0)
    throw new Error(
      `there is no admission plugin ${unknown.map((name) => JSON.stringify(name)).join(', ')} to disable; there are ${names.sort().join(', ')}`,
    );
  return recommendedOrder.filter((plugin) => !disabled.includes(plugin.name));
}
