// Defaults of pods and of everything that holds a pod template, as upstream's core/v1 defaults.go.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import {
  ensure,
  isObject,
  num,
  obj,
  objs,
  setDefault,
  spec,
  str,
} from '../../../apimachinery/json-access.ts';
import type { Pod } from '../../generated/types/core-v1.ts';
import { isHugePages, isPodLevelResource, podRequests } from './pod-resources.ts';

const defaultMode = 0o644;
/** The name of the scheduler of pods that name none. */
const defaultScheduler = 'default-scheduler';

/** A Pod's own defaults: the template's and those that only a pod has. */
export function podDefaults(pod: JsonObject): void {
  const podSpec = ensure(pod, 'spec');
  podSpecDefaults(podSpec);
  for (const c of [...objs(podSpec['containers']), ...objs(podSpec['initContainers'])]) requestsFromLimits(c);
  podRequestsFromLimits(podSpec);
  setDefault(podSpec, 'enableServiceLinks', true);
  if (podSpec['hostNetwork'] === true) hostNetworkPorts(podSpec);
}

/** Requests that are not given are the limits. Only for pods: a template keeps what was written. */
function requestsFromLimits(container: JsonObject): void {
  const resources = obj(container['resources']);
  const limits = resources['limits'];
  if (!isObject(limits)) return;
  const requests = ensure(resources, 'requests');
  for (const name of Object.keys(limits)) if (!Object.hasOwn(requests, name)) requests[name] = limits[name];
}

/**
 * As upstream's defaultPodRequests: a pod with limits of its own asks for what its containers ask for together, and for
 * its limit where they ask for nothing. Huge pages can't be shared beyond that: only their limit counts.
 */
function podRequestsFromLimits(podSpec: JsonObject): void {
  const resources = obj(podSpec['resources']);
  const limits = obj(resources['limits']);
  if (Object.keys(limits).length === 0) return;
  const found: JsonObject = { ...obj(resources['requests']) };
  const pod = { metadata: {}, spec: podSpec } as unknown as Pod;
  const containers = podRequests(pod, { excludePodLevel: true, excludeOverhead: true });
  for (const [name, value] of Object.entries(containers))
    if (!Object.hasOwn(found, name) && isPodLevelResource(name) && !isHugePages(name)) found[name] = value;
  for (const [name, value] of Object.entries(limits))
    if (!Object.hasOwn(found, name) && isPodLevelResource(name)) found[name] = value;
  if (Object.keys(found).length > 0) resources['requests'] = found;
}

function hostNetworkPorts(podSpec: JsonObject): void {
  for (const list of ['containers', 'initContainers'])
    for (const container of objs(podSpec[list]))
      for (const port of objs(container['ports']))
        if (num(port['hostPort']) === 0 && num(port['containerPort']) !== 0)
          port['hostPort'] = num(port['containerPort']);
}

/** Defaults of any PodSpec, in a pod or a template. */
function podSpecDefaults(podSpec: JsonObject): void {
  setDefault(podSpec, 'restartPolicy', 'Always');
  setDefault(podSpec, 'terminationGracePeriodSeconds', 30);
  setDefault(podSpec, 'dnsPolicy', 'ClusterFirst');
  setDefault(podSpec, 'securityContext', {});
  setDefault(podSpec, 'schedulerName', defaultScheduler);
  // The old name of the field is kept in step with the new one.
  if (str(podSpec['serviceAccountName']) !== '') podSpec['serviceAccount'] = podSpec['serviceAccountName'];
  else if (str(podSpec['serviceAccount']) !== '') podSpec['serviceAccountName'] = podSpec['serviceAccount'];
  if (podSpec['hostNetwork'] === true) hostNetworkPorts(podSpec);
  for (const container of objs(podSpec['containers'])) containerDefaults(container);
  for (const container of objs(podSpec['initContainers'])) containerDefaults(container);
  for (const container of objs(podSpec['ephemeralContainers'])) containerDefaults(container);
  for (const volume of objs(podSpec['volumes'])) volumeDefaults(volume);
  for (const constraint of objs(podSpec['topologySpreadConstraints'])) {
    setDefault(constraint, 'whenUnsatisfiable', 'DoNotSchedule');
  }
}

/** `latest`, or no tag and no digest: the image may change under its name. */
function pullPolicyOf(image: string): 'Always' | 'IfNotPresent' {
  const digest = image.indexOf('@');
  if (digest >= 0) return 'IfNotPresent';
  const tag = image.slice(image.lastIndexOf('/') + 1).split(':')[1] ?? 'latest';
  return tag === 'latest' || tag === '' ? 'Always' : 'IfNotPresent';
}

function containerDefaults(container: JsonObject): void {
  if (str(container['imagePullPolicy']) === '')
    container['imagePullPolicy'] = pullPolicyOf(str(container['image']));
  if (str(container['terminationMessagePath']) === '')
    container['terminationMessagePath'] = '/dev/termination-log';
  if (str(container['terminationMessagePolicy']) === '') container['terminationMessagePolicy'] = 'File';
  for (const port of objs(container['ports'])) if (str(port['protocol']) === '') port['protocol'] = 'TCP';
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe'])
    if (isObject(container[name])) probeDefaults(container[name]);
  const lifecycle = obj(container['lifecycle']);
  for (const hook of ['postStart', 'preStop']) httpGetDefaults(obj(lifecycle[hook])['httpGet']);
  for (const variable of objs(container['env'])) {
    fieldRefDefaults(obj(variable['valueFrom'])['fieldRef']);
    const resourceRef = obj(variable['valueFrom'])['resourceFieldRef'];
    if (isObject(resourceRef)) setDefault(resourceRef, 'divisor', '0');
  }
}

function probeDefaults(probe: JsonObject): void {
  httpGetDefaults(probe['httpGet']);
  if (num(probe['timeoutSeconds']) === 0) probe['timeoutSeconds'] = 1;
  if (num(probe['periodSeconds']) === 0) probe['periodSeconds'] = 10;
  if (num(probe['successThreshold']) === 0) probe['successThreshold'] = 1;
  if (num(probe['failureThreshold']) === 0) probe['failureThreshold'] = 3;
}

function httpGetDefaults(action: Json | undefined): void {
  if (!isObject(action)) return;
  if (str(action['path']) === '') action['path'] = '/';
  if (str(action['scheme']) === '') action['scheme'] = 'HTTP';
}

function fieldRefDefaults(ref: Json | undefined): void {
  if (isObject(ref) && str(ref['apiVersion']) === '') ref['apiVersion'] = 'v1';
}

const volumeSources = (volume: JsonObject): string[] => Object.keys(volume).filter((key) => key !== 'name');

function volumeDefaults(volume: JsonObject): void {
  // A volume without a source is an empty directory.
  if (volumeSources(volume).length === 0) volume['emptyDir'] = {};
  for (const source of ['secret', 'configMap', 'downwardAPI', 'projected'])
    if (isObject(volume[source])) setDefault(volume[source], 'defaultMode', defaultMode);
  for (const item of objs(obj(volume['downwardAPI'])['items'])) downwardItemDefaults(item);
  for (const source of objs(obj(volume['projected'])['sources'])) {
    for (const item of objs(obj(source['downwardAPI'])['items'])) downwardItemDefaults(item);
    if (isObject(source['serviceAccountToken']))
      setDefault(source['serviceAccountToken'], 'expirationSeconds', 3600);
  }
  if (isObject(volume['hostPath'])) setDefault(volume['hostPath'], 'type', '');
  const image = volume['image'];
  if (isObject(image) && str(image['pullPolicy']) === '')
    image['pullPolicy'] = pullPolicyOf(str(image['reference']));
  const ephemeral = obj(obj(volume['ephemeral'])['volumeClaimTemplate']);
  if (isObject(ephemeral['spec'])) setDefault(ephemeral['spec'], 'volumeMode', 'Filesystem');
}

function downwardItemDefaults(item: JsonObject): void {
  fieldRefDefaults(item['fieldRef']);
  if (isObject(item['resourceFieldRef'])) setDefault(item['resourceFieldRef'], 'divisor', '0');
}

/** The template of a workload: same defaults as a pod's spec. */
export function podTemplateDefaults(holder: JsonObject): void {
  const template = holder['template'];
  if (isObject(template)) podSpecDefaults(ensure(template, 'spec'));
}

/** `spec.template` of an object. */
export const specTemplateDefaults = (object: JsonObject): void => podTemplateDefaults(spec(object));
