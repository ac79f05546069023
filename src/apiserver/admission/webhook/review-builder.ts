// The AdmissionReview that a webhook is sent.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import type { AdmissionRequest } from '../admission.ts';
import { type Invocation, kindOf, namespaceOf, type Seen } from './matcher.ts';

export type ReviewVersion = 'v1' | 'v1beta1';

/** The first one that this server can write, as the webhook prefers them. */
export const reviewVersionOf = ({ webhook }: Invocation): ReviewVersion | undefined =>
  webhook.reviewVersions.find((version) => version === 'v1' || version === 'v1beta1') as
    | ReviewVersion
    | undefined;

export interface ReviewSubject {
  readonly uid: string;
  readonly version: ReviewVersion;
  /** In the version that the webhook sees. */
  readonly object: JsonObject | undefined;
  readonly oldObject: JsonObject | undefined;
}

const filled = (members: Readonly<Record<string, Json | undefined>>): JsonObject =>
  Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined && value !== ''),
  ) as JsonObject;

function userOf({ user }: AdmissionRequest): JsonObject {
  const { name, uid, groups, extra = {} } = user;
  return filled({
    username: name,
    uid,
    groups: groups.length > 0 ? [...groups] : undefined,
    extra: Object.keys(extra).length > 0 ? (extra as unknown as JsonObject) : undefined,
  });
}

/** The request without its objects. */
export function reviewedRequest(request: AdmissionRequest, { seen, kind }: Seen): JsonObject {
  const { declaration, subresource } = request;
  const asked = kindOf(declaration, subresource);
  const resourceOf = ({ group, version, resource }: typeof seen): JsonObject => ({
    group,
    version,
    resource,
  });
  return {
    kind: { group: kind.group, version: kind.version, kind: kind.kind },
    resource: resourceOf(seen),
    ...filled({ subResource: subresource }),
    requestKind: { group: asked.group, version: asked.version, kind: asked.kind },
    requestResource: resourceOf(declaration),
    ...filled({
      requestSubResource: subresource,
      name: request.name,
      namespace: namespaceOf(request),
    }),
    operation: request.operation,
    userInfo: userOf(request),
    dryRun: request.dryRun,
    options: request.options ?? null,
  };
}

export function reviewOf(request: AdmissionRequest, invocation: Invocation, subject: ReviewSubject): string {
  const { uid, version, object = null, oldObject = null } = subject;
  const review = {
    kind: 'AdmissionReview',
    apiVersion: `admission.k8s.io/${version}`,
    request: { uid, ...reviewedRequest(request, invocation), object, oldObject },
  };
  return JSON.stringify(review);
}
