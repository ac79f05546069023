// How the kubelet names pods, containers and failures in messages, labels and paths.
import type { Container, EphemeralContainer, Pod } from '../api/generated/types/core-v1.ts';
import { sha256Hex } from '../crypto/digests.ts';
import { GrpcError } from '../wire/grpc-client.ts';

export const labelPodName = 'io.kubernetes.pod.name';
export const labelPodNamespace = 'io.kubernetes.pod.namespace';
export const labelPodUid = 'io.kubernetes.pod.uid';
export const labelContainerName = 'io.kubernetes.container.name';
export const annotationHash = 'io.kubernetes.container.hash';
export const annotationRestartCount = 'io.kubernetes.container.restartCount';
export const annotationTerminationMessagePolicy = 'io.kubernetes.container.terminationMessagePolicy';
export const annotationTerminationGracePeriod = 'io.kubernetes.pod.terminationGracePeriod';
/**
 * Of a pod on a simulated node: how long its containers run before they end by themselves; without it init containers and
 * Jobs end at once, others when they are stopped. The kubelet also says it of a container.
 */
export const annotationSimulatedRunSeconds = 'porthole.dev/simulated-run-seconds';
/** The exit code they end with then. Default 0. */
export const annotationSimulatedExitCode = 'porthole.dev/simulated-exit-code';

export type AnyContainer = Container | EphemeralContainer;

/** `name_namespace(uid)`, upstream's format.Pod. */
export const podText = (pod: Pod): string =>
  `${pod.metadata.name}_${pod.metadata.namespace ?? ''}(${pod.metadata.uid ?? ''})`;

export const podUid = (pod: Pod): string => pod.metadata.uid ?? '';
export const podNamespace = (pod: Pod): string => pod.metadata.namespace ?? 'default';

/** As upstream, only name and image count: a change of anything else does not restart a container. */
export const containerHash = (container: AnyContainer): string =>
  sha256Hex(JSON.stringify({ name: container.name, image: container.image ?? '' })).slice(0, 8);

/** As Go prints a gRPC status: `rpc error: code = NotFound desc = …`. */
export const failureText = (error: unknown): string => {
  if (error instanceof GrpcError) return `rpc error: code = ${error.code} desc = ${error.message}`;
  return error instanceof Error ? error.message : String(error);
};

/** The API's picture of a static pod. This node has none, so whoever wrote it, it is not to be run. */
export const isMirrorPod = (pod: Pod): boolean =>
  pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined;

export const isSidecar = (container: Container): boolean => container.restartPolicy === 'Always';

const isOfJob = ({ metadata }: Pod): boolean =>
  (metadata.ownerReferences ?? []).some(
    (owner) => owner.controller === true && owner.kind === 'Job' && owner.apiVersion.startsWith('batch/'),
  );

/** Whether others wait for its end: the pod's next containers, or its Job. */
export function isRunToEnd(pod: Pod, { name }: AnyContainer): boolean {
  const init = (pod.spec.initContainers ?? []).find((one) => one.name === name);
  if (init) return !isSidecar(init);
  return isOfJob(pod) && pod.spec.containers.some((one) => one.name === name);
}

export const isHostNetwork = (pod: Pod): boolean => pod.spec.hostNetwork === true;

export function findContainer(pod: Pod, name: string): AnyContainer | undefined {
  return [
    ...(pod.spec.initContainers ?? []),
    ...pod.spec.containers,
    ...(pod.spec.ephemeralContainers ?? []),
  ].find((c) => c.name === name);
}

/** The field path of a container, as events name it: `spec.containers{web}`. */
export function containerFieldPath(pod: Pod, name: string): string {
  if ((pod.spec.initContainers ?? []).some((c) => c.name === name)) return `spec.initContainers{${name}}`;
  if ((pod.spec.ephemeralContainers ?? []).some((c) => c.name === name)) {
    return `spec.ephemeralContainers{${name}}`;
  }
  return `spec.containers{${name}}`;
}
