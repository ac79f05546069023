// For whom a node may get tokens of its pods: audiences that a pod's volumes ask for (ServiceAccountNodeAudienceRestriction).
import { csidrivers, persistentvolumeclaims, persistentvolumes } from '../../../api/generated/resources.ts';
import type { Pod, Volume } from '../../../api/generated/types/core-v1.ts';
import type { AdmissionRequest } from '../../../apiserver/admission/admission.ts';
import type { Authorizer } from '../../../apiserver/authorization/authorizer.ts';
import type { LiveObjects } from '../../../apiserver/live-objects.ts';
import { quote, refuse } from '../request/refuse.ts';

/** The CSI driver behind a volume, whose CSIDriver object may ask for tokens. */
function driverOf(live: LiveObjects, pod: Pod, volume: Volume): string | undefined {
  if (volume.csi !== undefined) return volume.csi.driver;
  const claimName =
    volume.persistentVolumeClaim?.claimName ??
    (volume.ephemeral === undefined ? undefined : `${pod.metadata.name}-${volume.name}`);
  if (claimName === undefined) return undefined;
  const claim = live.get(persistentvolumeclaims, claimName, pod.metadata.namespace ?? '');
  const volumeName = claim?.spec?.volumeName ?? '';
  return volumeName === '' ? undefined : live.get(persistentvolumes, volumeName)?.spec?.csi?.driver;
}

function isAskedFor(live: LiveObjects, pod: Pod, audience: string): boolean {
  return (pod.spec?.volumes ?? []).some((volume) => {
    const projected = volume.projected?.sources?.some(
      ({ serviceAccountToken }) =>
        serviceAccountToken !== undefined && (serviceAccountToken.audience ?? '') === audience,
    );
    if (projected === true) return true;
    const driver = driverOf(live, pod, volume);
    const requests = driver === undefined ? [] : (live.get(csidrivers, driver)?.spec.tokenRequests ?? []);
    return requests.some((request) => request.audience === audience);
  });
}

/** Throws 403 unless the pod asks for the audience, or the node has a right to it. '' is the API server itself. */
export async function checkTokenAudience(
  deps: { readonly live: LiveObjects; readonly authorizer: Authorizer },
  request: AdmissionRequest,
  pod: Pod,
  audiences: readonly string[],
): Promise<void> {
  if (audiences.length > 1) refuse(request, 'node may only request 0 or 1 audiences');
  const audience = audiences[0] ?? '';
  if (isAskedFor(deps.live, pod, audience)) return;
  const { decision } = await deps.authorizer.authorize({
    user: request.user,
    verb: 'request-serviceaccounts-token-audience',
    isResource: true,
    group: '',
    version: 'v1',
    resource: audience,
    subresource: '',
    namespace: request.namespace,
    name: request.name,
    path: '',
  });
  if (decision === 'allow') return;
  refuse(
    request,
    `audience ${quote(audience)} not found in pod spec volume, ${request.user.name} is not authorized to request tokens for this audience`,
  );
}
