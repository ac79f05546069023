// Kubernetes' quantity library: `500m`, `1Gi`, compared and added as amounts.
import {
  addQuantities,
  compareQuantities,
  parseQuantity,
  type Quantity,
} from '../../apimachinery/quantity.ts';
import { boolType, type CelType, doubleType, intType, stringType, structType } from '../cel-type.ts';
import type { FunctionDeclaration, Library } from '../declarations.ts';
import { isInt64Value } from '../duration.ts';
import { fixed } from '../estimate.ts';
import { nominal, readingCosts } from '../library-costs.ts';
import { CelError, Opaque, type Value } from '../value.ts';
import { comparisonsOf } from './comparisons.ts';

const quantityType = structType('kubernetes.Quantity');

class QuantityValue extends Opaque {
  readonly type: CelType = quantityType;
  readonly quantity: Quantity;

  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }
  equalTo(other: Value): boolean {
    return other instanceof QuantityValue && other.quantity.nano === this.quantity.nano;
  }
}

/** Of an amount that is a value already. */
export function celQuantity(text: string): QuantityValue | CelError {
  try {
    // Upstream trims only what its tools read.
    if (text !== text.trim()) return new CelError(notOne);
    return new QuantityValue(parseQuantity(text));
  } catch (error) {
    return new CelError(error instanceof Error ? error.message : String(error));
  }
}
const notOne = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

const billion = 1_000_000_000n;
/** undefined where it is no whole number of 64 bits. */
function wholeNumber({ nano }: Quantity): bigint | undefined {
  const whole = nano / billion;
  return nano % billion === 0n && isInt64Value(whole) ? whole : undefined;
}
const ofInt = (value: bigint): Quantity => ({ nano: value * billion, format: 'DecimalExponent' });
const negated = ({ nano, format }: Quantity): Quantity => ({ nano: -nano, format });
const sumOf = (a: Quantity, b: Quantity): QuantityValue => new QuantityValue(addQuantities(a, b));

const reader = (
  name: string,
  id: string,
  result: CelType,
  call: (value: Quantity) => Value,
  member: boolean = true,
): FunctionDeclaration => ({
  name,
  overloads: [
    { id, member, params: [quantityType], result, call: ({ quantity }: QuantityValue) => call(quantity) },
  ],
  ...nominal,
});
const operation = (name: string, apply: (a: Quantity, b: Quantity) => Value): FunctionDeclaration => ({
  name,
  overloads: [
    {
      id: `quantity_${name}`,
      member: true,
      params: [quantityType, quantityType],
      result: quantityType,
      call: (a: QuantityValue, b: QuantityValue) => apply(a.quantity, b.quantity),
    },
    {
      id: `quantity_${name}_int`,
      member: true,
      params: [quantityType, intType],
      result: quantityType,
      call: (a: QuantityValue, b: bigint) => apply(a.quantity, ofInt(b)),
    },
  ],
  ...nominal,
});

export const quantityLibrary: Library = {
  name: 'kubernetes.quantity',
  equality: { [quantityType.name]: () => ({ cost: fixed(1) }) },
  functions: [
    {
      name: 'quantity',
      overloads: [
        { id: 'string_to_quantity', params: [stringType], result: quantityType, call: celQuantity },
      ],
      ...readingCosts(1),
    },
    {
      name: 'isQuantity',
      overloads: [
        {
          id: 'is_quantity_string',
          params: [stringType],
          result: boolType,
          call: (text: string) => celQuantity(text) instanceof QuantityValue,
        },
      ],
      ...readingCosts(1),
    },
    // Upstream declares it as a function, not as a method.
    reader('sign', 'quantity_sign', intType, ({ nano }) => (nano > 0n ? 1n : nano < 0n ? -1n : 0n), false),
    ...comparisonsOf(quantityType, 'quantity', (a: QuantityValue, b: QuantityValue) =>
      compareQuantities(a.quantity, b.quantity),
    ),
    reader('asApproximateFloat', 'quantity_get_float', doubleType, ({ nano }) => Number(nano) / 1e9),
    reader(
      'asInteger',
      'quantity_get_int',
      intType,
      (quantity) => wholeNumber(quantity) ?? new CelError('cannot convert value to integer'),
    ),
    reader('isInteger', 'quantity_is_integer', boolType, (quantity) => wholeNumber(quantity) !== undefined),
    operation('add', sumOf),
    operation('sub', (a, b) => sumOf(a, negated(b))),
  ],
};
