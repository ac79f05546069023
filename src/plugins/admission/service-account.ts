// ServiceAccount: each pod runs as an account that exists, and its token, CA and namespace are mounted.
import { pods, serviceaccounts } from '../../api/generated/resources.ts';
import type { Container, Pod, ServiceAccount, Volume } from '../../api/generated/types/core-v1.ts';
import { forbidden } from '../../apimachinery/errors.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { type Random, randomSuffix } from '../../base/random.ts';
import { previous, requested } from './request/typed-request.ts';

const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
const volumePrefix = 'kube-api-access-';
const mirrorAnnotation = 'kubernetes.io/config.mirror';
/** An hour and seven seconds, as upstream: recognizable, and treated as extendable there. */
const expirationSeconds = 3607;

/** As upstream's TokenVolumeSource. */
const tokenVolume = (name: string): Volume => ({
  name,
  projected: {
    sources: [
      { serviceAccountToken: { path: 'token', expirationSeconds } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      {
        downwardAPI: {
          items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
        },
      },
    ],
    defaultMode: 420,
  },
});

const isMirror = (pod: Pod): boolean => pod.metadata?.annotations?.[mirrorAnnotation] !== undefined;

function mountToken(pod: Pod, random: Random): void {
  const spec = pod.spec;
  if (spec === undefined) return;
  spec.volumes ??= [];
  // Validation comes later: names and lists that must be there may be missing.
  const present = spec.volumes.find((volume) => String(volume.name).startsWith(volumePrefix));
  const name = present?.name ?? `${volumePrefix}${randomSuffix(random)}`;
  let needed = false;
  const mount = (container: Container): void => {
    if (container.volumeMounts?.some((m) => m.mountPath === mountPath)) return;
    container.volumeMounts = [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath }];
    needed = true;
  };
  spec.initContainers?.forEach(mount);
  for (const container of spec.containers ?? []) mount(container);
  if (needed && present === undefined) spec.volumes.push(tokenVolume(name));
  if (spec.volumes.length === 0) delete spec.volumes;
}

export function createServiceAccountAdmission(deps: {
  readonly live: LiveObjects;
  readonly random: Random;
}): AdmissionPlugin {
  const accountOf = (request: AdmissionRequest, pod: Pod): ServiceAccount => {
    const name = pod.spec?.serviceAccountName ?? '';
    const account = deps.live.get(serviceaccounts, name, request.namespace);
    if (account === undefined) {
      throw forbidden(
        request.declaration,
        request.name,
        `error looking up service account ${request.namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`,
      );
    }
    return account;
  };

  const checkMirror = (request: AdmissionRequest, pod: Pod): void => {
    const refuse = (why: string): never => {
      throw forbidden(request.declaration, request.name, why);
    };
    if ((pod.spec?.serviceAccountName ?? '') !== '')
      refuse('a mirror pod may not reference service accounts');
    for (const volume of pod.spec?.volumes ?? []) {
      if (volume.secret !== undefined) refuse('a mirror pod may not reference secrets');
      if (volume.projected?.sources?.some((s) => s.serviceAccountToken !== undefined)) {
        refuse('a mirror pod may not use ServiceAccountToken volume projections');
      }
    }
  };

  return {
    name: 'ServiceAccount',
    operations: ['CREATE', 'UPDATE'],
    admit(request) {
      const pod = requested(request, pods);
      if (pod?.spec === undefined) return;
      if (request.operation === 'UPDATE') {
        // The pod of a PUT may leave out what admission had set.
        const old = previous(request, pods);
        if ((pod.spec.serviceAccountName ?? '') === '' && old?.spec?.serviceAccountName !== undefined) {
          pod.spec.serviceAccountName = old.spec.serviceAccountName;
        }
        return;
      }
      if (isMirror(pod)) return checkMirror(request, pod);
      if ((pod.spec.serviceAccountName ?? '') === '') pod.spec.serviceAccountName = 'default';
      const account = accountOf(request, pod);
      pod.spec.serviceAccount = pod.spec.serviceAccountName;
      const automount = pod.spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
      if (automount) mountToken(pod, deps.random);
      if ((pod.spec.imagePullSecrets?.length ?? 0) === 0 && (account.imagePullSecrets?.length ?? 0) > 0) {
        pod.spec.imagePullSecrets = structuredClone(account.imagePullSecrets);
      }
    },
    validate(request) {
      const pod = requested(request, pods);
      if (pod === undefined || request.operation !== 'CREATE' || isMirror(pod)) return;
      accountOf(request, pod);
    },
  };
}
