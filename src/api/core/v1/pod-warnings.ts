// What a client is warned of although it is allowed, as upstream's pod warnings.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { isObject, nameOf, num, obj, objs, spec, str } from '../../../apimachinery/json-access.ts';
import { tryParseQuantity } from '../../../apimachinery/quantity.ts';
import { dnsLabel } from '../../../apimachinery/validation/names.ts';

function podSpecWarnings(podSpec: JsonObject, path: string): string[] {
  const out: string[] = [];
  objs(podSpec['volumes']).forEach((volume, i) => {
    if (isObject(volume['gitRepo']))
      out.push(`${path}.volumes[${i}].gitRepo: deprecated in v1.11, and disabled by default in v1.33+`);
  });
  for (const list of ['initContainers', 'containers'])
    objs(podSpec[list]).forEach((container, i) => {
      out.push(...containerWarnings(container, `${path}.${list}[${i}]`));
    });
  if (num(podSpec['terminationGracePeriodSeconds']) < 0)
    out.push(
      `${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
    );
  return out;
}

function containerWarnings(container: JsonObject, at: string): string[] {
  const out: string[] = [];
  const names = new Set<string>();
  objs(container['env']).forEach((variable, i) => {
    const name = str(variable['name']);
    if (names.has(name))
      out.push(
        `${at}.env[${i}]: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`,
      );
    names.add(name);
  });
  for (const list of ['limits', 'requests']) {
    const memory = obj(obj(container['resources'])[list])['memory'];
    const quantity = tryParseQuantity(memory);
    if (quantity && quantity.nano % 1_000_000_000n !== 0n)
      out.push(
        `${at}.resources.${list}[memory]: fractional byte value ${JSON.stringify(memory)} is invalid, must be an integer`,
      );
  }
  return out;
}

/** Of a new pod; an update does not repeat them. */
export function podWarnings(pod: JsonObject, old: JsonObject | undefined): string[] {
  if (old) return [];
  const unfit = dnsLabel(nameOf(pod));
  return [
    ...(unfit.length > 0
      ? [
          `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${unfit.join(' ')}]`,
        ]
      : []),
    ...podSpecWarnings(spec(pod), 'spec'),
  ];
}

/** Of a workload whose template is in `spec.template`. */
export const templateWarnings = (object: JsonObject): string[] =>
  podSpecWarnings(obj(obj(spec(object)['template'])['spec']), 'spec.template.spec');
