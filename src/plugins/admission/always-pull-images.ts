// AlwaysPullImages: whoever may not pull an image does not get it because a node has it already.
import { pods } from '../../api/generated/resources.ts';
import type { PodSpec } from '../../api/generated/types/core-v1.ts';
import { forbidden, StatusError } from '../../apimachinery/errors.ts';
import { fieldErrorText, notSupported } from '../../apimachinery/field-error.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import { allContainers } from './request/all-containers.ts';
import { previous, requested } from './request/typed-request.ts';

interface Pulled {
  readonly path: string;
  readonly image: string | undefined;
  readonly policy: string | undefined;
  always(): void;
}

/** All that a pod has of images: its containers and its volumes. */
function* pulledBy(spec: PodSpec): Generator<Pulled> {
  for (const [path, container] of allContainers(spec))
    yield {
      path: `${path}.imagePullPolicy`,
      image: container.image,
      policy: container.imagePullPolicy,
      always: () => {
        container.imagePullPolicy = 'Always';
      },
    };
  for (const [i, { image }] of (spec.volumes ?? []).entries())
    if (image !== undefined)
      yield {
        path: `spec.volumes[${i}].image.pullPolicy`,
        image: image.reference,
        policy: image.pullPolicy,
        always: () => {
          image.pullPolicy = 'Always';
        },
      };
}

/** The new pod's spec, unless an update brings no image that the pod did not have. */
function concerned(request: AdmissionRequest): PodSpec | undefined {
  const spec = requested(request, pods)?.spec;
  const old = request.operation === 'UPDATE' ? previous(request, pods)?.spec : undefined;
  if (spec === undefined || old === undefined) return spec;
  const known = new Set([...pulledBy(old)].map(({ image }) => image));
  return [...pulledBy(spec)].some(({ image }) => !known.has(image)) ? spec : undefined;
}

export function createAlwaysPullImages(): AdmissionPlugin {
  return {
    name: 'AlwaysPullImages',
    operations: ['CREATE', 'UPDATE'],
    admit(request) {
      const spec = concerned(request);
      if (spec !== undefined) for (const pulled of pulledBy(spec)) pulled.always();
    },
    validate(request) {
      const spec = concerned(request);
      if (spec === undefined) return;
      const refused = [...pulledBy(spec)]
        .filter(({ policy }) => policy !== 'Always')
        .map(({ path, policy = '' }) =>
          forbidden(
            request.declaration,
            request.name,
            fieldErrorText(notSupported(path, policy, ['Always'])),
          ),
        );
      const [first] = refused;
      if (first === undefined) return;
      if (refused.length === 1) throw first;
      throw new StatusError(500, '', `[${refused.map(({ message }) => message).join(', ')}]`);
    },
  };
}
