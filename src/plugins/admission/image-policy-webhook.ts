// ImagePolicyWebhook: a service of somebody else says whether a pod's images may run.
import type { ImagePolicySettings } from '../../api/config/image-policy-configuration.ts';
import { pods } from '../../api/generated/resources.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { bool, obj, status, str } from '../../apimachinery/json-access.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { Clock } from '../../base/clock.ts';
import { KeptAnswers } from '../../base/kept-answers.ts';
import type { RemoteReviewer } from '../webhook/remote-reviewer.ts';
import { refuse } from './request/refuse.ts';
import { requested } from './request/typed-request.ts';

const auditPrefix = 'imagepolicywebhook.image-policy.k8s.io/';
const failedOpen = 'alpha.image-policy.k8s.io/failed-open';
/** Whoever makes pods chooses what is asked, and the service how long it answers. */
const bounds = { most: 1024, room: 8 << 20, longest: 64 << 10 };

export interface ImagePolicyDependencies {
  readonly settings: ImagePolicySettings;
  readonly reviewer: RemoteReviewer;
  readonly clock: Clock;
}

/** What the service is told of the pod; new ephemeral containers are asked about alone. */
function reviewSpec(pod: Pod, { namespace, subresource }: AdmissionRequest): JsonObject {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec;
  const all = subresource === '' ? [...containers, ...initContainers] : ephemeralContainers;
  const annotations = Object.entries(pod.metadata?.annotations ?? {}).filter(([key]) =>
    key.includes('.image-policy.k8s.io/'),
  );
  return {
    containers: all.map(({ image = '' }) => ({ image })),
    ...(annotations.length > 0 ? { annotations: Object.fromEntries(annotations) as JsonObject } : {}),
    namespace,
  };
}

export function createImagePolicyWebhook({
  settings,
  reviewer,
  clock,
}: ImagePolicyDependencies): AdmissionPlugin {
  const known = new KeptAnswers<JsonObject>(bounds);
  const remember = (key: string, verdict: JsonObject): void => {
    const ttl = bool(verdict['allowed']) ? settings.allowTtlMs : settings.denyTtlMs;
    if (ttl <= 0) return;
    known.put(key, verdict, {
      length: JSON.stringify(verdict).length,
      untilMs: clock.monotonic() + ttl,
    });
  };
  const ask = async (spec: JsonObject): Promise<JsonObject> => {
    const key = JSON.stringify(spec);
    const found = known.get(key, clock.monotonic());
    if (found !== undefined) return found;
    const answer = await reviewer.review({
      kind: 'ImageReview',
      apiVersion: 'imagepolicy.k8s.io/v1alpha1',
      metadata: { creationTimestamp: null },
      spec,
      status: { allowed: false },
    });
    const verdict = status(answer);
    remember(key, verdict);
    return verdict;
  };
  /** As the configuration says: the pod comes in and says that nobody was asked, or it does not. */
  const failed = (request: AdmissionRequest, pod: Pod, error: Error): undefined => {
    if (!settings.defaultAllow) return refuse(request, error.message);
    request.annotate(`${auditPrefix}failed-open`, 'true');
    pod.metadata.annotations = { ...pod.metadata.annotations, [failedOpen]: 'true' };
    return undefined;
  };
  return {
    name: 'ImagePolicyWebhook',
    operations: ['CREATE', 'UPDATE'],
    async validate(request) {
      const pod = requested(request, pods) ?? requested(request, pods, 'ephemeralcontainers');
      if (pod?.spec === undefined) return;
      const verdict = await ask(reviewSpec(pod, request)).catch((error) => failed(request, pod, error));
      if (verdict === undefined) return;
      for (const [key, value] of Object.entries(obj(verdict['auditAnnotations'])))
        if (typeof value === 'string') request.annotate(`${auditPrefix}${key}`, value);
      if (bool(verdict['allowed'])) return;
      const reason = str(verdict['reason']);
      refuse(
        request,
        reason === ''
          ? 'one or more images rejected by webhook backend'
          : `image policy webhook backend denied one or more images: ${reason}`,
      );
    },
  };
}
