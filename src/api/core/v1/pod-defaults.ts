// Defaults of pods and of everything that holds a pod template, as upstream's core/v1 defaults.go.
import { type Decoded, ensured } from '../../../apimachinery/decoded.ts';
import type {
  Container,
  DownwardAPIVolumeFile,
  HTTPGetAction,
  ObjectFieldSelector,
  Pod,
  PodSpec,
  PodTemplateSpec,
  Probe,
  Volume,
} from '../../generated/types/core-v1.ts';
import { isHugePages, isPodLevelResource, podRequests } from './pod-resources.ts';

const defaultMode = 0o644;
/** The name of the scheduler of pods that name none. */
const defaultScheduler = 'default-scheduler';

/** A Pod's own defaults: the template's and those that only a pod has. */
export function podDefaults(pod: Decoded<Pod>): void {
  const podSpec = ensured(pod, 'spec');
  podSpecDefaults(podSpec);
  for (const c of [...(podSpec.containers ?? []), ...(podSpec.initContainers ?? [])]) requestsFromLimits(c);
  podRequestsFromLimits(podSpec);
  podSpec.enableServiceLinks ??= true;
  if (podSpec.hostNetwork === true) hostNetworkPorts(podSpec);
}

/** Requests that are not given are the limits. Only for pods: a template keeps what was written. */
function requestsFromLimits(container: Decoded<Container>): void {
  const resources = container.resources ?? {};
  const limits = resources.limits;
  if (limits === undefined) return;
  const requests = ensured(resources, 'requests');
  for (const name of Object.keys(limits)) if (!Object.hasOwn(requests, name)) requests[name] = limits[name];
}

/**
 * As upstream's defaultPodRequests: a pod with limits of its own asks for what its containers ask for together, and for
 * its limit where they ask for nothing. Huge pages can't be shared beyond that: only their limit counts.
 */
function podRequestsFromLimits(podSpec: Decoded<PodSpec>): void {
  const resources = podSpec.resources ?? {};
  const limits = resources.limits ?? {};
  if (Object.keys(limits).length === 0) return;
  const found = { ...resources.requests };
  const pod = { metadata: {}, spec: podSpec } as unknown as Pod;
  const containers = podRequests(pod, { excludePodLevel: true, excludeOverhead: true });
  for (const [name, value] of Object.entries(containers))
    if (!Object.hasOwn(found, name) && isPodLevelResource(name) && !isHugePages(name)) found[name] = value;
  for (const [name, value] of Object.entries(limits))
    if (!Object.hasOwn(found, name) && isPodLevelResource(name)) found[name] = value;
  if (Object.keys(found).length > 0) resources.requests = found;
}

function hostNetworkPorts(podSpec: Decoded<PodSpec>): void {
  for (const list of ['containers', 'initContainers'] as const)
    for (const container of podSpec[list] ?? [])
      for (const port of container.ports ?? [])
        if (!port.hostPort && port.containerPort) port.hostPort = port.containerPort;
}

/** Defaults of any PodSpec, in a pod or a template. */
function podSpecDefaults(podSpec: Decoded<PodSpec>): void {
  podSpec.restartPolicy ??= 'Always';
  podSpec.terminationGracePeriodSeconds ??= 30;
  podSpec.dnsPolicy ??= 'ClusterFirst';
  podSpec.securityContext ??= {};
  podSpec.schedulerName ??= defaultScheduler;
  // The old name of the field is kept in step with the new one.
  if (podSpec.serviceAccountName) podSpec.serviceAccount = podSpec.serviceAccountName;
  else if (podSpec.serviceAccount) podSpec.serviceAccountName = podSpec.serviceAccount;
  if (podSpec.hostNetwork === true) hostNetworkPorts(podSpec);
  for (const container of podSpec.containers ?? []) containerDefaults(container);
  for (const container of podSpec.initContainers ?? []) containerDefaults(container);
  for (const container of podSpec.ephemeralContainers ?? []) containerDefaults(container);
  for (const volume of podSpec.volumes ?? []) volumeDefaults(volume);
  for (const constraint of podSpec.topologySpreadConstraints ?? []) {
    constraint.whenUnsatisfiable ??= 'DoNotSchedule';
  }
}

/** `latest`, or no tag and no digest: the image may change under its name. */
function pullPolicyOf(image: string): 'Always' | 'IfNotPresent' {
  const digest = image.indexOf('@');
  if (digest >= 0) return 'IfNotPresent';
  const tag = image.slice(image.lastIndexOf('/') + 1).split(':')[1] ?? 'latest';
  return tag === 'latest' || tag === '' ? 'Always' : 'IfNotPresent';
}

function containerDefaults(container: Decoded<Container>): void {
  if (!container.imagePullPolicy) container.imagePullPolicy = pullPolicyOf(container.image ?? '');
  if (!container.terminationMessagePath) container.terminationMessagePath = '/dev/termination-log';
  if (!container.terminationMessagePolicy) container.terminationMessagePolicy = 'File';
  for (const port of container.ports ?? []) if (!port.protocol) port.protocol = 'TCP';
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe'] as const)
    probeDefaults(container[name]);
  httpGetDefaults(container.lifecycle?.postStart?.httpGet);
  httpGetDefaults(container.lifecycle?.preStop?.httpGet);
  for (const variable of container.env ?? []) {
    fieldRefDefaults(variable.valueFrom?.fieldRef);
    const resourceRef = variable.valueFrom?.resourceFieldRef;
    if (resourceRef !== undefined) resourceRef.divisor ??= '0';
  }
}

function probeDefaults(probe: Decoded<Probe> | undefined): void {
  if (probe === undefined) return;
  httpGetDefaults(probe.httpGet);
  if (!probe.timeoutSeconds) probe.timeoutSeconds = 1;
  if (!probe.periodSeconds) probe.periodSeconds = 10;
  if (!probe.successThreshold) probe.successThreshold = 1;
  if (!probe.failureThreshold) probe.failureThreshold = 3;
}

function httpGetDefaults(action: Decoded<HTTPGetAction> | undefined): void {
  if (action === undefined) return;
  if (!action.path) action.path = '/';
  if (!action.scheme) action.scheme = 'HTTP';
}

function fieldRefDefaults(ref: Decoded<ObjectFieldSelector> | undefined): void {
  if (ref !== undefined && !ref.apiVersion) ref.apiVersion = 'v1';
}

function volumeDefaults(volume: Decoded<Volume>): void {
  // A volume without a source is an empty directory.
  if (!Object.keys(volume).some((key) => key !== 'name')) volume.emptyDir = {};
  for (const source of [volume.secret, volume.configMap, volume.downwardAPI, volume.projected])
    if (source !== undefined) source.defaultMode ??= defaultMode;
  for (const item of volume.downwardAPI?.items ?? []) downwardItemDefaults(item);
  for (const source of volume.projected?.sources ?? []) {
    for (const item of source.downwardAPI?.items ?? []) downwardItemDefaults(item);
    if (source.serviceAccountToken !== undefined) source.serviceAccountToken.expirationSeconds ??= 3600;
  }
  if (volume.hostPath !== undefined) volume.hostPath.type ??= '';
  const image = volume.image;
  if (image !== undefined && !image.pullPolicy) image.pullPolicy = pullPolicyOf(image.reference ?? '');
  const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
  if (claim !== undefined) claim.volumeMode ??= 'Filesystem';
}

function downwardItemDefaults(item: Decoded<DownwardAPIVolumeFile>): void {
  fieldRefDefaults(item.fieldRef);
  if (item.resourceFieldRef !== undefined) item.resourceFieldRef.divisor ??= '0';
}

/** The template of a workload: same defaults as a pod's spec. */
export function podTemplateDefaults(template: Decoded<PodTemplateSpec> | undefined): void {
  if (template !== undefined) podSpecDefaults(ensured(template, 'spec'));
}
