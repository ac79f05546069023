// All controllers, by upstream's names.
import type { Controller } from '../controller-runtime/define-controller.ts';
import { resourcesRead } from '../controller-runtime/wire-events.ts';
import { bootstrapSignerController } from './bootstrap-signer-controller.ts';
import { certificateApprovingController } from './certificatesigningrequest-approving-controller.ts';
import { certificateCleanerController } from './certificatesigningrequest-cleaner-controller.ts';
import {
  type CertificateSigners,
  certificateSigningController,
} from './certificatesigningrequest-signing-controller.ts';
import { clusterRoleAggregationController } from './clusterrole-aggregation-controller.ts';
import { cronJobController } from './cronjob-controller.ts';
import { daemonSetController } from './daemonset-controller.ts';
import { deploymentController } from './deployment-controller.ts';
import { disruptionController } from './disruption-controller.ts';
import { endpointsController } from './endpoints-controller.ts';
import { endpointSliceController } from './endpointslice-controller.ts';
import { endpointSliceMirroringController } from './endpointslice-mirroring-controller.ts';
import { ephemeralVolumeController } from './ephemeral-volume-controller.ts';
import { garbageCollectorController } from './garbage-collector-controller.ts';
import { horizontalPodAutoscalerController } from './horizontal-pod-autoscaler-controller.ts';
import { jobController } from './job-controller.ts';
import { legacyServiceAccountTokenCleanerController } from './legacy-serviceaccount-token-cleaner-controller.ts';
import { localPathController } from './local-path-controller.ts';
import { namespaceController } from './namespace-controller.ts';
import { usualNodeTimes } from './node/node-health.ts';
import { type EvictionRates, usualEvictionRates } from './node/zone-state.ts';
import { nodeIpamController } from './node-ipam-controller.ts';
import { nodeLifecycleController } from './node-lifecycle-controller.ts';
import { persistentVolumeBinderController } from './persistentvolume-binder-controller.ts';
import { persistentVolumeExpanderController } from './persistentvolume-expander-controller.ts';
import { persistentVolumeProtectionController } from './persistentvolume-protection-controller.ts';
import { persistentVolumeClaimProtectionController } from './persistentvolumeclaim-protection-controller.ts';
import { podGarbageCollectorController } from './pod-garbage-collector-controller.ts';
import { type AutoscalerSettings, usualAutoscaling } from './podautoscaler/decide.ts';
import { replicaSetController } from './replicaset-controller.ts';
import { replicationControllerController } from './replicationcontroller-controller.ts';
import { resourceClaimController } from './resourceclaim-controller.ts';
import { resourceQuotaController } from './resourcequota-controller.ts';
import {
  type ChangingText,
  rootCaCertificatePublisherController,
} from './root-ca-certificate-publisher-controller.ts';
import { serviceCidrController } from './service-cidr-controller.ts';
import { serviceLoadBalancerController } from './service-lb-controller.ts';
import { serviceAccountController } from './serviceaccount-controller.ts';
import { type SignToken, serviceAccountTokenController } from './serviceaccount-token-controller.ts';
import { statefulSetController } from './statefulset-controller.ts';
import { storageVersionMigratorController } from './storage-version-migrator-controller.ts';
import { taintEvictionController } from './taint-eviction-controller.ts';
import { tokenCleanerController } from './token-cleaner-controller.ts';
import { ttlAfterFinishedController } from './ttl-after-finished-controller.ts';
import { ttlController } from './ttl-controller.ts';
import { volumeAttributesClassProtectionController } from './volumeattributesclass-protection-controller.ts';

export interface ControllersConfig {
  /** PEM of the certificates that vouch for the server. */
  readonly rootCa: ChangingText;
  /** Who signs certificates of clients and nodes; none are signed without it. */
  readonly signers?: CertificateSigners;
  /** Signs tokens that lie in Secrets; they get none without it. */
  readonly signToken?: SignToken | undefined;
  /** How long a token in a Secret that nobody asked for may be of no use. Default a year. */
  readonly legacyTokenCleanUpMs?: number | undefined;
  /** How long signed certificates are good at most. Default a year. */
  readonly clusterSigningMs?: number;
  /** Approves serving certificates of kubelets for the names and addresses of their Node. Default false, as upstream. */
  readonly approveKubeletServing?: boolean;
  readonly clusterCIDRs: readonly string[];
  /** Default 24. */
  readonly nodeCIDRMaskSizeIPv4?: number;
  /** Default 64. */
  readonly nodeCIDRMaskSizeIPv6?: number;
  /** How long a node may be silent. Default 50 s. */
  readonly nodeMonitorGracePeriodMs?: number;
  /** How long one may be silent that never spoke. Default a minute. */
  readonly nodeStartupGracePeriodMs?: number;
  /** How fast pods are evicted from nodes that are not ready. Default as upstream. */
  readonly nodeEvictions?: Partial<EvictionRates> | undefined;
  /** The kind StorageVersionMigration is served, and is acted on. Default false, as upstream. */
  readonly storageVersionMigrator?: boolean;
  /** Of which Services of type LoadBalancer get addresses; undefined: from somebody else, or none. */
  readonly loadBalancerRange?: string | undefined;
  /** How autoscalers measure and wait. Default as upstream. */
  readonly autoscaling?: Partial<AutoscalerSettings> | undefined;
  /** How many finished pods are kept; 0: all. Default 12500. */
  readonly terminatedPodThreshold?: number;
  /** How many keys of a controller are worked on at once, by its name. */
  readonly concurrency?: Readonly<Record<string, number>>;
}

function withConcurrency(controller: Controller, { concurrency = {} }: ControllersConfig): Controller {
  const most = concurrency[controller.name];
  if (most === undefined || controller.type !== 'keyed') return controller;
  return { ...controller, definition: { ...controller.definition, concurrency: most } };
}

export function allControllers(config: ControllersConfig): readonly Controller[] {
  const list = [
    bootstrapSignerController,
    certificateApprovingController({ kubeletServing: config.approveKubeletServing ?? false }),
    certificateCleanerController,
    certificateSigningController(config.signers, config.clusterSigningMs),
    clusterRoleAggregationController,
    cronJobController,
    daemonSetController(),
    deploymentController,
    disruptionController,
    endpointsController,
    endpointSliceController,
    endpointSliceMirroringController,
    ephemeralVolumeController,
    horizontalPodAutoscalerController({ ...usualAutoscaling, ...config.autoscaling }),
    jobController(),
    legacyServiceAccountTokenCleanerController(config.legacyTokenCleanUpMs),
    localPathController,
    namespaceController,
    nodeIpamController(config),
    nodeLifecycleController(
      {
        ...usualNodeTimes,
        ...(config.nodeMonitorGracePeriodMs === undefined
          ? {}
          : { monitorGracePeriodMs: config.nodeMonitorGracePeriodMs }),
        ...(config.nodeStartupGracePeriodMs === undefined
          ? {}
          : { startupGracePeriodMs: config.nodeStartupGracePeriodMs }),
      },
      { ...usualEvictionRates, ...config.nodeEvictions },
    ),
    persistentVolumeBinderController,
    persistentVolumeClaimProtectionController,
    persistentVolumeExpanderController,
    persistentVolumeProtectionController,
    podGarbageCollectorController(config.terminatedPodThreshold),
    replicaSetController,
    replicationControllerController,
    resourceClaimController(),
    resourceQuotaController,
    rootCaCertificatePublisherController(config.rootCa),
    serviceAccountController,
    serviceAccountTokenController(config.rootCa, config.signToken),
    serviceCidrController,
    ...(config.loadBalancerRange === undefined
      ? []
      : [serviceLoadBalancerController(config.loadBalancerRange)]),
    statefulSetController,
    ...(config.storageVersionMigrator === true ? [storageVersionMigratorController] : []),
    taintEvictionController(),
    tokenCleanerController,
    ttlAfterFinishedController,
    ttlController(),
    volumeAttributesClassProtectionController,
  ];
  const collector = garbageCollectorController(
    list.flatMap(resourcesRead),
    config.concurrency?.['garbage-collector-controller'],
  );
  return [...list.map((controller) => withConcurrency(controller, config)), collector];
}
