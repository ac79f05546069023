// What an expression that selects devices may use, and what it may cost. Loads the language.
import { type FieldError, forbidden, invalid } from '../../apimachinery/field-error.ts';
import {
  boolType,
  type CelType,
  dynType,
  formatType,
  mapOf,
  stringType,
  structType,
} from '../../cel/cel-type.ts';
import { CheckedExpression, compileExpression } from '../../cel/compile.ts';
import type { Environment } from '../../cel/environment.ts';
import type { SizeHints } from '../../cel/estimate.ts';
import { bindings } from '../../cel/libraries/bindings.ts';
import { kubernetesEnvironment } from '../../cel/libraries/kubernetes.ts';
import { PlanError } from '../../cel/plan.ts';

const quantityType = structType('kubernetes.Quantity');
const deviceType = structType('kubernetes.DRADevice');
/** By domain, then by name. */
const byName = (value: CelType): CelType => mapOf(stringType, mapOf(stringType, value));
const fields = new Map<string, CelType>([
  ['driver', stringType],
  ['allowMultipleAllocations', boolType],
  // What an attribute is each device says for itself.
  ['attributes', byName(dynType)],
  ['capacity', byName(quantityType)],
]);

const environment: Environment = kubernetesEnvironment.extend({
  libraries: [bindings],
  variables: { device: deviceType },
  types: {
    findType: (name) => (name === deviceType.name ? deviceType : undefined),
    findField: (name, field) => (name === deviceType.name ? fields.get(field) : undefined),
  },
});

/** How large what can be reached may be: characters, or entries. */
interface Sized {
  readonly most: number;
  readonly keys?: Sized;
  readonly values?: Sized;
  /** Of a map: whatever is asked for by name is a value of it. */
  readonly open?: boolean;
  readonly fields?: Readonly<Record<string, Sized>>;
}

const maxDomain = 63;
const maxName = 32;
const maxEntries = 32;
const maxAttribute = 64;
const named = (value: Sized, open: boolean): Sized => ({
  most: maxEntries,
  keys: { most: maxDomain },
  values: { most: maxEntries, keys: { most: maxName }, values: value, open },
});
const device: Sized = {
  most: 0,
  fields: {
    driver: { most: maxDomain },
    allowMultipleAllocations: { most: 1 },
    attributes: named({ most: maxAttribute }, true),
    capacity: named({ most: 0 }, false),
  },
};

const sizes: SizeHints = ({ path }) => {
  if (path?.[0] !== 'device') return undefined;
  let at: Sized | undefined = device;
  for (const name of path.slice(1)) {
    if (name === '@items' || name === '@values') at = at.values;
    else if (name === '@keys') at = at.keys;
    else at = at.fields?.[name] ?? (at.open === true ? at.values : undefined);
    if (at === undefined) return undefined;
  }
  return { min: 0, max: at.most };
};

const maxCost = 1_000_000;

/** Upstream's validateCELSelector, of an expression that is not too long. */
export function deviceExpressionErrors(field: string, text: string): FieldError[] {
  const checked = compileExpression(text, environment);
  if (!(checked instanceof CheckedExpression))
    return [invalid(field, text, `compilation failed: ${checked}`)];
  const { type } = checked;
  // An attribute may well be true or false.
  if (type.kind !== 'bool' && type.kind !== 'dyn')
    return [invalid(field, text, `must evaluate to bool or the unknown type, not ${formatType(type)}`)];
  try {
    checked.program();
  } catch (error) {
    if (!(error instanceof PlanError)) throw error;
    const message = `Internal error: program instantiation failed: ${error.message}`;
    return [{ type: 'InternalError', field, message }];
  }
  return checked.estimate(sizes).max > maxCost ? [forbidden(field, 'too complex, exceeds cost limit')] : [];
}
