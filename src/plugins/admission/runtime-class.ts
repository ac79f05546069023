// RuntimeClass: what a class says of overhead, node selector and tolerations is merged into its pods.
import { pods, runtimeclasses } from '../../api/generated/resources.ts';
import type { PodSpec, Toleration } from '../../api/generated/types/core-v1.ts';
import type { RuntimeClass } from '../../api/generated/types/node-v1.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { jsonEqual } from '../../apimachinery/equality.ts';
import { forbidden } from '../../apimachinery/errors.ts';
import { quantitiesEqual } from '../../apimachinery/quantity.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { requested } from './request/typed-request.ts';

const refuse = (request: AdmissionRequest, why: string): never => {
  throw forbidden(request.declaration, request.name, why);
};

type Quantities = Readonly<Record<string, string | number | undefined>>;
const sameQuantities = (a: Quantities, b: Quantities): boolean =>
  Object.keys(a).length === Object.keys(b).length &&
  Object.entries(a).every(([name, value]) => {
    const other = Object.hasOwn(b, name) ? b[name] : undefined;
    return value !== undefined && other !== undefined && quantitiesEqual(value, other);
  });

function mergeScheduling(request: AdmissionRequest, spec: PodSpec, runtimeClass: RuntimeClass): void {
  const scheduling = runtimeClass.scheduling;
  if (scheduling === undefined) return;
  const wanted = Object.entries(scheduling.nodeSelector ?? {});
  for (const [key, value] of wanted) {
    const own = spec.nodeSelector !== undefined && Object.hasOwn(spec.nodeSelector, key);
    const present = own ? spec.nodeSelector?.[key] : undefined;
    if (present !== undefined && present !== value) {
      refuse(
        request,
        `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${present}`,
      );
    }
  }
  if (wanted.length > 0) spec.nodeSelector = { ...spec.nodeSelector, ...scheduling.nodeSelector };
  const same = (a: Toleration, b: Toleration): boolean =>
    jsonEqual({ ...a } as JsonObject, { ...b } as JsonObject);
  const added = (scheduling.tolerations ?? []).filter(
    (toleration) => !(spec.tolerations ?? []).some((present) => same(present, toleration)),
  );
  if (added.length > 0) spec.tolerations = [...(spec.tolerations ?? []), ...structuredClone(added)];
}

export function createRuntimeClass(live: LiveObjects): AdmissionPlugin {
  const classOf = (request: AdmissionRequest, spec: PodSpec): RuntimeClass | undefined => {
    const name = spec.runtimeClassName;
    if (name === undefined || name === '') return undefined;
    const found = live.get(runtimeclasses, name);
    if (found === undefined) refuse(request, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
    return found;
  };
  return {
    name: 'RuntimeClass',
    operations: ['CREATE'],
    admit(request) {
      const spec = requested(request, pods)?.spec;
      if (spec === undefined) return;
      const runtimeClass = classOf(request, spec);
      if (runtimeClass === undefined) return;
      const overhead = runtimeClass.overhead?.podFixed;
      if (overhead !== undefined) {
        if (spec.overhead !== undefined && !sameQuantities(overhead, spec.overhead)) {
          refuse(request, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
        }
        spec.overhead = { ...overhead };
      }
      mergeScheduling(request, spec, runtimeClass);
    },
    validate(request) {
      const spec = requested(request, pods)?.spec;
      if (spec === undefined || spec.overhead === undefined) return;
      if (Object.keys(spec.overhead).length === 0) return;
      if (classOf(request, spec)?.overhead === undefined) {
        refuse(request, 'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead');
      }
    },
  };
}
