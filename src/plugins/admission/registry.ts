// All admission plugins, in the order in which upstream's server runs them; those that few ask for are loaded when somebody does.
import type { JsonObject, Scheme } from '../../apimachinery/declaration.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import type { PolicyDeps } from '../../apiserver/admission/policy/policy-match.ts';
import type { DispatchDeps } from '../../apiserver/admission/webhook/validating-dispatch.ts';
import type { Authorizer } from '../../apiserver/authorization/authorizer.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { CredentialsFor } from '../../client/webhook-credentials.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import type { Reservations } from '../../component-helpers/quota-reservations.ts';
import type { RemoteReviewer } from '../webhook/remote-reviewer.ts';
import {
  createCertificateApproval,
  createCertificateSigning,
  createCertificateSubjectRestriction,
} from './certificates.ts';
import { createDefaultIngressClass } from './default-ingress-class.ts';
import { createDefaultStorageClass } from './default-storage-class.ts';
import { createDefaultTolerationSeconds, type TolerationSeconds } from './default-toleration-seconds.ts';
import { createLimitRanger } from './limit-ranger.ts';
import { createMutatingAdmissionPolicy } from './mutating-admission-policy.ts';
import { createMutatingAdmissionWebhook } from './mutating-admission-webhook.ts';
import { createNamespaceLifecycle } from './namespace-lifecycle.ts';
import { createNodeDeclaredFeatureValidator } from './node-declared-feature-validator.ts';
import { createNodeRestriction } from './node-restriction.ts';
import { createPersistentVolumeClaimResize } from './persistent-volume-claim-resize.ts';
import { createPodResizeValidator } from './pod-resize-validator.ts';
import { podSecurityCounts } from './pod-security/pod-security-metrics.ts';
import { createPodSecurity } from './pod-security.ts';
import { createPodTopologyLabels } from './pod-topology-labels.ts';
import { createPriority } from './priority.ts';
import type { QuotaRecorder } from './quota/evaluator.ts';
import { createResourceQuota } from './resource-quota.ts';
import { createRuntimeClass } from './runtime-class.ts';
import { createServiceAccountAdmission } from './service-account.ts';
import { createStorageObjectInUseProtection } from './storage-object-in-use-protection.ts';
import { createTaintNodesByCondition } from './taint-nodes-by-condition.ts';
import { createValidatingAdmissionPolicy } from './validating-admission-policy.ts';
import { createValidatingAdmissionWebhook } from './validating-admission-webhook.ts';

/** Asks the service of a kubeconfig. */
export type ReviewerOf = (kubeConfigFile: string) => Promise<RemoteReviewer>;

/** As whom webhooks are asked, by the users of a kubeconfig. */
export type CredentialsOf = (kubeConfigFile: string) => Promise<CredentialsFor>;

export interface AdmissionDependencies {
  readonly live: LiveObjects;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: MetricsRegistry;
  readonly authorizer: Authorizer;
  readonly recordQuota: QuotaRecorder;
  readonly reservations: Reservations;
  readonly webhooks: DispatchDeps & { readonly scheme: Scheme };
  readonly policies: PolicyDeps;
  createNamespace(namespace: JsonObject): Promise<unknown>;
}

/** What whoever runs the server has said. */
export interface AdmissionChoice {
  /** Besides those that are on by themselves. */
  readonly enabled?: readonly string[] | undefined;
  readonly disabled?: readonly string[] | undefined;
  /** A plugin's configuration, as its file says it. */
  readonly configOf?: ((plugin: string) => unknown) | undefined;
  readonly reviewerOf?: ReviewerOf | undefined;
  readonly credentialsOf?: CredentialsOf | undefined;
  readonly tolerationSeconds?: TolerationSeconds | undefined;
}

type Deps = AdmissionDependencies & {
  readonly reviewerOf: ReviewerOf;
  readonly credentialsOf: CredentialsOf;
  readonly tolerationSeconds: TolerationSeconds | undefined;
};
type Made = AdmissionPlugin | Promise<AdmissionPlugin>;

interface Entry {
  readonly name: string;
  readonly isOn: boolean;
  readonly create: (deps: Deps, config: unknown) => Made;
}

const on = (name: string, create: Entry['create']): Entry => ({ name, isOn: true, create });
const off = (name: string, create: Entry['create']): Entry => ({ name, isOn: false, create });

/** Webhooks that are asked as the plugin's configuration says. */
async function askingAs({ webhooks, credentialsOf }: Deps, config: unknown): Promise<Deps['webhooks']> {
  if (config === undefined) return webhooks;
  const { readWebhookAdmissionConfiguration } = await import(
    '../../api/config/webhook-admission-configuration.ts'
  );
  const { kubeConfigFile } = readWebhookAdmissionConfiguration(config);
  if (kubeConfigFile === '') return webhooks;
  const credentials = await credentialsOf(kubeConfigFile);
  return { ...webhooks, caller: webhooks.caller.as(credentials) };
}

const lazily: Readonly<Record<string, Entry['create']>> = {
  alwaysAdmit: async () => (await import('./always-admit.ts')).createAlwaysAdmit(),
  alwaysDeny: async () => (await import('./always-deny.ts')).createAlwaysDeny(),
  alwaysPullImages: async () => (await import('./always-pull-images.ts')).createAlwaysPullImages(),
  denyServiceExternalIps: async () =>
    (await import('./deny-service-external-ips.ts')).createDenyServiceExternalIps(),
  async eventRateLimit({ clock }, config) {
    const { readEventRateLimits } = await import('../../api/config/event-rate-limit-configuration.ts');
    const { createEventRateLimit } = await import('./event-rate-limit.ts');
    return createEventRateLimit(readEventRateLimits(config), clock);
  },
  extendedResourceToleration: async () =>
    (await import('./extended-resource-toleration.ts')).createExtendedResourceToleration(),
  async imagePolicyWebhook({ clock, reviewerOf }, config) {
    const { readImagePolicy } = await import('../../api/config/image-policy-configuration.ts');
    const { createImagePolicyWebhook } = await import('./image-policy-webhook.ts');
    const settings = readImagePolicy(config);
    return createImagePolicyWebhook({ settings, clock, reviewer: await reviewerOf(settings.kubeConfigFile) });
  },
  limitPodHardAntiAffinityTopology: async () =>
    (await import('./limit-pod-hard-anti-affinity-topology.ts')).createLimitPodHardAntiAffinityTopology(),
  namespaceAutoProvision: async ({ live, createNamespace }) =>
    (await import('./namespace-auto-provision.ts')).createNamespaceAutoProvision(live, createNamespace),
  namespaceExists: async ({ live }) => (await import('./namespace-exists.ts')).createNamespaceExists(live),
  ownerReferences: async ({ webhooks: { scheme }, authorizer }) =>
    (await import('./owner-references-permission-enforcement.ts')).createOwnerReferencesPermissionEnforcement(
      scheme,
      authorizer,
    ),
  async podNodeSelector({ live }, config) {
    const { createPodNodeSelector, readNodeSelectors } = await import('./pod-node-selector.ts');
    return createPodNodeSelector(live, readNodeSelectors(config));
  },
  async podTolerationRestriction({ live }, config) {
    const { readClusterTolerations } = await import(
      '../../api/config/pod-toleration-restriction-configuration.ts'
    );
    const { createPodTolerationRestriction } = await import('./pod-toleration-restriction.ts');
    return createPodTolerationRestriction(live, readClusterTolerations(config));
  },
};

async function podSecurity({ live, metrics }: Deps, config: unknown): Promise<AdmissionPlugin> {
  const counts = podSecurityCounts(metrics);
  if (config === undefined) return createPodSecurity(live, undefined, counts);
  const { readPodSecurityConfiguration } = await import('../../api/config/pod-security-configuration.ts');
  return createPodSecurity(live, readPodSecurityConfiguration(config), counts);
}

async function resourceQuota(deps: Deps, config: unknown): Promise<AdmissionPlugin> {
  const { live, random, reservations } = deps;
  const evaluation = { live, random, reservations, record: deps.recordQuota };
  if (config === undefined) return createResourceQuota(evaluation);
  const { readLimitedResources } = await import('../../api/config/resource-quota-configuration.ts');
  return createResourceQuota(evaluation, readLimitedResources(config));
}

/** NodeRestriction is off in upstream's server and on in every cluster that kubeadm makes: it is on here. */
const recommendedOrder: readonly Entry[] = [
  off('AlwaysAdmit', lazily.alwaysAdmit!),
  off('NamespaceAutoProvision', lazily.namespaceAutoProvision!),
  on('NamespaceLifecycle', ({ live }) => createNamespaceLifecycle(live)),
  off('NamespaceExists', lazily.namespaceExists!),
  off('LimitPodHardAntiAffinityTopology', lazily.limitPodHardAntiAffinityTopology!),
  on('LimitRanger', ({ live }) => createLimitRanger(live)),
  on('ServiceAccount', ({ live, random }) => createServiceAccountAdmission({ live, random })),
  on('NodeRestriction', ({ live, authorizer }) => createNodeRestriction(live, authorizer)),
  on('TaintNodesByCondition', () => createTaintNodesByCondition()),
  off('AlwaysPullImages', lazily.alwaysPullImages!),
  off('ImagePolicyWebhook', lazily.imagePolicyWebhook!),
  on('PodSecurity', podSecurity),
  off('PodNodeSelector', lazily.podNodeSelector!),
  on('Priority', ({ live }) => createPriority(live)),
  on('DefaultTolerationSeconds', ({ tolerationSeconds }) =>
    createDefaultTolerationSeconds(tolerationSeconds),
  ),
  off('PodTolerationRestriction', lazily.podTolerationRestriction!),
  off('EventRateLimit', lazily.eventRateLimit!),
  off('ExtendedResourceToleration', lazily.extendedResourceToleration!),
  on('DefaultStorageClass', ({ live }) => createDefaultStorageClass(live)),
  on('StorageObjectInUseProtection', () => createStorageObjectInUseProtection()),
  off('OwnerReferencesPermissionEnforcement', lazily.ownerReferences!),
  on('PersistentVolumeClaimResize', ({ live }) => createPersistentVolumeClaimResize(live)),
  on('RuntimeClass', ({ live }) => createRuntimeClass(live)),
  on('CertificateApproval', ({ authorizer }) => createCertificateApproval(authorizer)),
  on('CertificateSigning', ({ authorizer }) => createCertificateSigning(authorizer)),
  on('CertificateSubjectRestriction', () => createCertificateSubjectRestriction()),
  on('DefaultIngressClass', ({ live }) => createDefaultIngressClass(live)),
  off('DenyServiceExternalIPs', lazily.denyServiceExternalIps!),
  on('PodTopologyLabels', ({ live }) => createPodTopologyLabels(live)),
  on('NodeDeclaredFeatureValidator', ({ live }) => createNodeDeclaredFeatureValidator(live)),
  on('PodResizeValidator', ({ live }) => createPodResizeValidator(live)),
  on('MutatingAdmissionPolicy', ({ live, policies }) => createMutatingAdmissionPolicy(live, policies)),
  on('MutatingAdmissionWebhook', async (deps, config) =>
    createMutatingAdmissionWebhook(deps.live, await askingAs(deps, config)),
  ),
  on('ValidatingAdmissionPolicy', ({ live, policies }) => createValidatingAdmissionPolicy(live, policies)),
  on('ValidatingAdmissionWebhook', async (deps, config) =>
    createValidatingAdmissionWebhook(deps.live, await askingAs(deps, config)),
  ),
  on('ResourceQuota', resourceQuota),
  off('AlwaysDeny', lazily.alwaysDeny!),
];

/**
 * Known names that do nothing: upstream's server has them on, too, and their features off, so that there is nothing for
 * them to look at. Whoever names them need not learn which.
 */
const featureless: readonly string[] = [
  'ClusterTrustBundleAttest',
  'JobValidation',
  'PodGroupProtection',
  'PodGroupWorkloadExists',
];

/** Throws for a name that none has: what it was meant for would stay as it is. */
function chosen({ enabled = [], disabled = [] }: AdmissionChoice): readonly Entry[] {
  const names = new Set([...recommendedOrder.map(({ name }) => name), ...featureless]);
  const faults = (['enable', 'disable'] as const).flatMap((flag) =>
    (flag === 'enable' ? enabled : disabled)
      .filter((name) => !names.has(name))
      .map((name) => `${flag}-admission-plugins plugin ${JSON.stringify(name)} is unknown`),
  );
  const both = [...new Set(enabled)].filter((name) => disabled.includes(name)).sort();
  if (both.length > 0)
    faults.push(`[${both.join(' ')}] in enable-admission-plugins and disable-admission-plugins overlapped`);
  if (faults.length > 0) throw new Error(faults.length === 1 ? faults[0] : `[${faults.join(', ')}]`);
  return recommendedOrder.filter(({ name, isOn }) =>
    isOn ? !disabled.includes(name) : enabled.includes(name),
  );
}

const nobody = (): Promise<never> => Promise.reject(new Error('there is nobody who reads kubeconfigs'));

/** Throws for names and configurations that can't be followed. */
export async function admissionPlugins(
  deps: AdmissionDependencies,
  choice: AdmissionChoice = {},
): Promise<AdmissionPlugin[]> {
  const {
    configOf = () => undefined,
    reviewerOf = nobody,
    credentialsOf = nobody,
    tolerationSeconds,
  } = choice;
  const plugins: AdmissionPlugin[] = [];
  for (const { name, create } of chosen(choice)) {
    try {
      plugins.push(await create({ ...deps, reviewerOf, credentialsOf, tolerationSeconds }, configOf(name)));
    } catch (error) {
      throw new Error(`couldn't init admission plugin ${JSON.stringify(name)}: ${(error as Error).message}`);
    }
  }
  return plugins;
}
